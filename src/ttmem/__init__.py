"""ttmem: see, live and exactly, which process holds which memory on every Tenstorrent device.

A program reports with `Client`, or with the functions below; one that was written for the older design's client keeps
its calls with `AllocationClient`, and a runtime is handed a `GraphTracker`. Nothing happens unless tracking is on
(TTMEM=1, or `enable()`). `ttmem ps` shows what all programs report.
"""

from typing import TYPE_CHECKING

from ttmem.errors import TtmemError

if TYPE_CHECKING:
    from ttmem.client import (
        AllocationClient,
        Client,
        GraphTracker,
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
        report_cache,
        report_cb_alloc,
        report_cb_free,
        report_clash,
        report_free,
        report_kernel_load,
        report_kernel_unload,
        report_launch,
        report_out_of_memory,
        report_program_end,
        report_ring,
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
    "is_enabled",
    "label",
    "open_device",
    "open_mesh",
    "phase",
    "report_binary_status",
    "report_buffer_alloc",
    "report_buffer_free",
    "report_cache",
    "report_cb_alloc",
    "report_cb_free",
    "report_clash",
    "report_free",
    "report_kernel_load",
    "report_kernel_unload",
    "report_launch",
    "report_out_of_memory",
    "report_program_end",
    "report_ring",
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
