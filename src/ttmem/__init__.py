"""ttmem: see, live and exactly, which process holds which memory on every Tenstorrent device.

A program reports with `Client`, or with the functions below; nothing happens unless tracking is on (TTMEM=1, or
`enable()`). `ttmem ps` shows what all programs report.
"""

from ttmem.client import (
    Client,
    close,
    disable,
    enable,
    is_enabled,
    label,
    open_device,
    open_mesh,
    phase,
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
from ttmem.errors import TtmemError

__version__ = "0.1.0"

__all__ = [
    "Client",
    "TtmemError",
    "__version__",
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
