"""What this process holds on its devices, asked from within: the functions that torch users know.

They read the process's own journal where it is mapped, so they cost about a microsecond and need no daemon. With
tracking off they answer 0 or nothing, and never raise for it.
"""

from ttmem.client.memory.figures import (
    max_memory_allocated,
    mem_get_info,
    memory_allocated,
    reset_peak_memory_stats,
)
from ttmem.client.memory.listing import LiveAllocation, memory_snapshot
from ttmem.client.memory.sites import forget_sites, record_sites
from ttmem.client.memory.summary import memory_summary

__all__ = [
    "LiveAllocation",
    "forget_sites",
    "max_memory_allocated",
    "mem_get_info",
    "memory_allocated",
    "memory_snapshot",
    "memory_summary",
    "record_sites",
    "reset_peak_memory_stats",
]
