"""The hot calls. Each is the native function itself: positional arguments, no Python frame in between.

Builtins do not bind `self`, so the same functions also serve as methods of `Client`. (A `staticmethod` around them
would cost a descriptor call every time.)
"""

from typing import TYPE_CHECKING

from ttmem import _native

report_binary_status = _native.client.report_binary_status
report_buffer_alloc = _native.client.report_buffer_alloc
report_buffer_free = _native.client.report_buffer_free
report_cache = _native.client.report_cache
report_cb_alloc = _native.client.report_cb_alloc
report_cb_free = _native.client.report_cb_free
report_clash = _native.client.report_clash
report_core_buffer_alloc = _native.client.report_core_buffer_alloc
report_free = _native.client.report_free
report_incident = _native.client.report_incident
report_kernel_load = _native.client.report_kernel_load
report_kernel_unload = _native.client.report_kernel_unload
report_launch = _native.client.report_launch
report_out_of_memory = _native.client.report_out_of_memory
report_program_end = _native.client.report_program_end
report_ring = _native.client.report_ring
report_trace_begin = _native.client.report_trace_begin
report_trace_end = _native.client.report_trace_end
report_trace_program = _native.client.report_trace_program
report_trace_release = _native.client.report_trace_release
report_trace_replay = _native.client.report_trace_replay

REPORTS = {name: value for name, value in globals().items() if name.startswith("report_")}

if TYPE_CHECKING:
    Reports = _native.client
else:
    Reports = type("Reports", (), REPORTS)
