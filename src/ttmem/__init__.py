"""ttmem: see, live and exactly, which process holds which memory on every Tenstorrent device.

A program reports with `Client`, or with the functions below; one that was written for the older design's client keeps
its calls with `AllocationClient`, and a runtime is given a `GraphTracker`. Nothing happens unless tracking is on
(TTMEM=1, or `enable()`). `ttmem ps` shows what all programs report.

`PUBLIC_NAMES` is the only list of what `import ttmem` offers. A name is loaded when it is first used, so `ttmem --help`
never loads the client; type checkers read `__init__.pyi`, which `python -m tools.public_names` writes from the table.
PYTEST_DONT_REWRITE: assertions here are not those of tests.
"""

import os
from importlib import import_module

__version__ = "0.1.0"

PUBLIC_NAMES = {
    "ttmem.client.allocation_client": ("AllocationClient",),
    "ttmem.client.memory.figures": (
        "max_memory_allocated",
        "mem_get_info",
        "memory_allocated",
        "reset_peak_memory_stats",
    ),
    "ttmem.client.memory.listing": ("forget_sites", "memory_snapshot", "record_sites"),
    "ttmem.client.memory.summary": ("memory_summary",),
    "ttmem.client.recorded_stretch": ("record",),
    "ttmem.client.reporter": (
        "Client",
        "close",
        "disable",
        "enable",
        "is_enabled",
        "label",
        "open_device",
        "open_mesh",
        "phase",
    ),
    "ttmem.client.reports": (
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
    ),
    "ttmem.client.tracked.tracker": ("GraphTracker",),
    "ttmem.errors": ("TtmemError",),
}

_MODULE_OF = {name: module for module, names in PUBLIC_NAMES.items() for name in names}

__all__ = sorted([*_MODULE_OF, "__version__"])


def __getattr__(name: str) -> object:
    """Loads a public name when it is first used."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'ttmem' has no attribute {name!r}")
    value: object = getattr(import_module(_MODULE_OF[name]), name)
    globals()[name] = value  # from now on found without this function
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


_sites = os.environ.get("TTMEM_SITES", "")
if _sites and not import_module("ttmem.switches").is_off(_sites):  # a workload only has to import us to have them
    import_module("ttmem.client.memory.listing").record_sites()
