"""The hot calls. Each is the native function itself: positional arguments, no Python frame in between.

Builtins do not bind `self`, so the same functions also serve as methods of `Client`. (A `staticmethod` around them
would cost a descriptor call every time.)
"""

from typing import TYPE_CHECKING

from ttmem import _native

__all__ = ["REPORTS", "Reports"]

REPORTS = (
    "report_buffer_alloc",
    "report_buffer_free",
    "report_cb_alloc",
    "report_cb_free",
    "report_kernel_load",
    "report_kernel_unload",
    "report_free",
    "report_binary_status",
    "report_program_end",
    "report_launch",
    "report_out_of_memory",
)

if TYPE_CHECKING:
    Reports = _native.client
else:
    Reports = type("Reports", (), {name: getattr(_native.client, name) for name in REPORTS})
