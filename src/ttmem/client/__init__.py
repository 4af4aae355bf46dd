"""Reporting from Python: what a program says about the device memory it takes and gives back.

Nothing here raises for what is reported, blocks or logs per call. With tracking off every call returns at once.
"""

from typing import TYPE_CHECKING

from ttmem.client.phases import Phase
from ttmem.client.reporter import Client, close, disable, enable, is_enabled, label, open_device, open_mesh, phase
from ttmem.client.reports import (
    report_binary_status,
    report_buffer_alloc,
    report_buffer_free,
    report_cb_alloc,
    report_cb_free,
    report_free,
    report_kernel_load,
    report_kernel_unload,
    report_launch,
    report_out_of_memory,
    report_program_end,
)

if TYPE_CHECKING:
    from ttmem.client.allocation_client import AllocationClient

__all__ = [
    "AllocationClient",
    "Client",
    "Phase",
    "close",
    "disable",
    "enable",
    "is_enabled",
    "label",
    "open_device",
    "open_mesh",
    "phase",
    "report_binary_status",
    "report_buffer_alloc",
    "report_buffer_free",
    "report_cb_alloc",
    "report_cb_free",
    "report_free",
    "report_kernel_load",
    "report_kernel_unload",
    "report_launch",
    "report_out_of_memory",
    "report_program_end",
]


def __getattr__(name: str) -> object:
    """Loads `AllocationClient` when it is first used: only then does it ask the environment for its transport."""
    if name != "AllocationClient":
        raise AttributeError(f"module 'ttmem.client' has no attribute {name!r}")
    from ttmem.client import allocation_client

    value = allocation_client.AllocationClient
    globals()[name] = value
    return value
