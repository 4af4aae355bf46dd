"""The public names with their types: `python -m tools.public_names` made it of a table in `__init__.py`."""

from ttmem.client.allocation_client import AllocationClient as AllocationClient
from ttmem.client.memory.figures import max_memory_allocated as max_memory_allocated
from ttmem.client.memory.figures import mem_get_info as mem_get_info
from ttmem.client.memory.figures import memory_allocated as memory_allocated
from ttmem.client.memory.figures import reset_peak_memory_stats as reset_peak_memory_stats
from ttmem.client.memory.listing import forget_sites as forget_sites
from ttmem.client.memory.listing import memory_snapshot as memory_snapshot
from ttmem.client.memory.listing import record_sites as record_sites
from ttmem.client.memory.summary import memory_summary as memory_summary
from ttmem.client.recorded_stretch import record as record
from ttmem.client.reporter import Client as Client
from ttmem.client.reporter import close as close
from ttmem.client.reporter import disable as disable
from ttmem.client.reporter import enable as enable
from ttmem.client.reporter import is_enabled as is_enabled
from ttmem.client.reporter import label as label
from ttmem.client.reporter import open_device as open_device
from ttmem.client.reporter import open_mesh as open_mesh
from ttmem.client.reporter import phase as phase
from ttmem.client.reports import report_binary_status as report_binary_status
from ttmem.client.reports import report_buffer_alloc as report_buffer_alloc
from ttmem.client.reports import report_buffer_free as report_buffer_free
from ttmem.client.reports import report_cache as report_cache
from ttmem.client.reports import report_cb_alloc as report_cb_alloc
from ttmem.client.reports import report_cb_free as report_cb_free
from ttmem.client.reports import report_clash as report_clash
from ttmem.client.reports import report_core_buffer_alloc as report_core_buffer_alloc
from ttmem.client.reports import report_free as report_free
from ttmem.client.reports import report_incident as report_incident
from ttmem.client.reports import report_kernel_load as report_kernel_load
from ttmem.client.reports import report_kernel_unload as report_kernel_unload
from ttmem.client.reports import report_launch as report_launch
from ttmem.client.reports import report_out_of_memory as report_out_of_memory
from ttmem.client.reports import report_program_end as report_program_end
from ttmem.client.reports import report_ring as report_ring
from ttmem.client.reports import report_trace_begin as report_trace_begin
from ttmem.client.reports import report_trace_end as report_trace_end
from ttmem.client.reports import report_trace_program as report_trace_program
from ttmem.client.reports import report_trace_release as report_trace_release
from ttmem.client.reports import report_trace_replay as report_trace_replay
from ttmem.client.tracked.tracker import GraphTracker as GraphTracker
from ttmem.errors import TtmemError as TtmemError

__version__: str
PUBLIC_NAMES: dict[str, tuple[str, ...]]
__all__: list[str]
