"""ttmem: see, live and exactly, which process holds which memory on every Tenstorrent device.

A program reports with `Client`, or with the functions below; one that was written for the older design's client keeps
its calls with `AllocationClient`, and a runtime is handed a `GraphTracker`. Nothing happens unless tracking is on
(TTMEM=1, or `enable()`). `ttmem ps` shows what all programs report.
"""

import os

from ttmem.errors import TtmemError
from ttmem.switches import is_off

TYPE_CHECKING = False  # type checkers know the name, and `typing` alone costs more than all of `ttmem --help`
if TYPE_CHECKING:
    from ttmem.client import (
        AllocationClient,
        Client,
        GraphTracker,
        close,
        disable,
        enable,
        forget_sites,
        is_enabled,
        label,
        max_memory_allocated,
        mem_get_info,
        memory_allocated,
        memory_snapshot,
        memory_summary,
        open_device,
        open_mesh,
        phase,
        record_sites,
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
        reset_peak_memory_stats,
    )

__version__ = "0.1.0"

__all__ = [
    "AllocationClient",
    "Client",
    "GraphTracker",
    "TtmemError",
    "__version__",
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
    """Loads the client when it is first used: `ttmem --help` and viewers' tools never need it."""
    if name not in __all__:
        raise AttributeError(f"module 'ttmem' has no attribute {name!r}")
    from ttmem import client

    value = getattr(client, name)
    globals()[name] = value  # from now on found without a detour
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


if not is_off(os.environ.get("TTMEM_SITES", "")):  # importing us is all that a workload does for it
    from ttmem.client import record_sites

    record_sites()
