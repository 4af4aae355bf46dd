"""Reporting from Python: what a program says about the device memory it takes and gives back.

Nothing here raises for what is reported, blocks or logs per call. With tracking off every call returns at once.
"""

from typing import TYPE_CHECKING

from ttmem.client.memory import (
    forget_sites,
    max_memory_allocated,
    mem_get_info,
    memory_allocated,
    memory_snapshot,
    memory_summary,
    record_sites,
    reset_peak_memory_stats,
)
from ttmem.client.phases import Phase
from ttmem.client.reporter import Client, close, disable, enable, is_enabled, label, open_device, open_mesh, phase
from ttmem.client.reports import (
    report_binary_status,
    report_buffer_alloc,
    report_buffer_free,
    report_cache,
    report_cb_alloc,
    report_cb_free,
    report_clash,
    report_core_buffer_alloc,
    report_free,
    report_incident,
    report_kernel_load,
    report_kernel_unload,
    report_launch,
    report_out_of_memory,
    report_program_end,
    report_ring,
    report_trace_begin,
    report_trace_end,
    report_trace_program,
    report_trace_release,
    report_trace_replay,
)

if TYPE_CHECKING:
    from ttmem.client.allocation_client import AllocationClient
    from ttmem.client.tracker import GraphTracker

__all__ = [
    "AllocationClient",
    "Client",
    "GraphTracker",
    "Phase",
    "close",
    "disable",
    "enable",
    "forget_sites",
    "is_enabled",
    "label",
    "max_memory_allocated",
    "mem_get_info",
    "memory_allocated",
    "memory_snapshot",
    "memory_summary",
    "open_device",
    "open_mesh",
    "phase",
    "record_sites",
    "report_binary_status",
    "report_buffer_alloc",
    "report_buffer_free",
    "report_cache",
    "report_cb_alloc",
    "report_cb_free",
    "report_clash",
    "report_core_buffer_alloc",
    "report_free",
    "report_incident",
    "report_kernel_load",
    "report_kernel_unload",
    "report_launch",
    "report_out_of_memory",
    "report_program_end",
    "report_ring",
    "report_trace_begin",
    "report_trace_end",
    "report_trace_program",
    "report_trace_release",
    "report_trace_replay",
    "reset_peak_memory_stats",
]


def __getattr__(name: str) -> object:
    """Loads what only some programs need when it is first used; `AllocationClient` then asks the environment."""
    value: object
    if name == "AllocationClient":
        from ttmem.client import allocation_client

        value = allocation_client.AllocationClient
    elif name == "GraphTracker":
        from ttmem.client import tracker

        value = tracker.GraphTracker
    else:
        raise AttributeError(f"module 'ttmem.client' has no attribute {name!r}")
    globals()[name] = value
    return value
