"""ttmem: see, live and exactly, which process holds which memory on every Tenstorrent device.

A program reports with `Client`, or with the functions below; nothing happens unless tracking is on (TTMEM=1, or
`enable()`). `ttmem ps` shows what all programs report.
"""

from ttmem import _native
from ttmem.client import Client, close, disable, enable, is_enabled, label, open_device, open_mesh, phase
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

# The native functions themselves: a call costs no Python frame.
report_binary_status = _native.client.report_binary_status
report_buffer_alloc = _native.client.report_buffer_alloc
report_buffer_free = _native.client.report_buffer_free
report_cb_alloc = _native.client.report_cb_alloc
report_cb_free = _native.client.report_cb_free
report_free = _native.client.report_free
report_kernel_load = _native.client.report_kernel_load
report_kernel_unload = _native.client.report_kernel_unload
report_launch = _native.client.report_launch
report_out_of_memory = _native.client.report_out_of_memory
report_program_end = _native.client.report_program_end
