"""How much this process holds: torch's questions about memory, for each pool of a chip.

Figures are those of one chip, as they are in torch. Asked about a mesh, the chip that holds most answers; they are
equal unless something was allocated on a few of them only.
"""

from typing import Any

from ttmem import _native
from ttmem.client.memory.chips import OwnChip, chips_meant, pool_meant
from ttmem.devices import Pool

__all__ = ["circular_buffers", "max_memory_allocated", "mem_get_info", "memory_allocated", "reset_peak_memory_stats"]

_figures = _native.own.pool


def memory_allocated(device: Any = None, pool: Pool | str = "dram") -> int:
    """Bytes that this process holds of a pool: what all banks gave up for it, alignment included. Of pool `cb`: what
    cores give up for circular buffers of all loaded programs, which share addresses."""
    return _highest(device, pool, 0)


def max_memory_allocated(device: Any = None, pool: Pool | str = "dram") -> int:
    """The highest `memory_allocated` since the program began, or since `reset_peak_memory_stats`.

    Exact where one target stands for the chip: itself, or one mesh. Where several do, the true peak of their sum may
    have been higher than this. Of pool `cb` the highest is not watched: this is what there is now.
    """
    return _highest(device, pool, 1)


def reset_peak_memory_stats(device: Any = None) -> None:
    """`max_memory_allocated` starts over at what is held now. Peaks of phases, and those that `ttmem ps` shows, stay.

    A mesh has one figure for all its chips: resetting one of them resets the mesh.
    """
    for target in {target for chip in chips_meant(device) for target in chip.targets}:
        _native.own.reset_peaks(target)


def mem_get_info(device: Any = None, pool: Pool | str = "dram") -> tuple[int, int]:
    """Bytes of a pool that are free, and that there are; (0, 0) where the runtime did not say how many there are."""
    where = pool_meant(pool)
    return min([_room(chip, where) for chip in chips_meant(device)], default=(0, 0))


def circular_buffers(chip: OwnChip) -> tuple[int | None, int | None]:
    """What cores of a chip give up for circular buffers: planned (of all loaded programs) and resident (of those that
    ran last). None: not known."""
    return _native.own.circular_buffers(chip.targets)


def _highest(device: Any, pool: Pool | str, which: int) -> int:
    meant = pool_meant(pool)
    if meant is Pool.CB:
        return max([circular_buffers(chip)[0] or 0 for chip in chips_meant(device)], default=0)
    where = meant.number
    highest = 0
    for chip in chips_meant(device):  # a loop: programs ask this at every step
        figure = _figures(chip.targets, where)[which]
        if figure > highest:
            highest = figure
    return highest


def _room(chip: OwnChip, pool: Pool) -> tuple[int, int]:
    total = chip.capacity_bytes(pool)
    return max(0, total - _figures(chip.targets, pool.number)[0]), total
