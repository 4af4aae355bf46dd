"""What circular buffers take on each core, however many programs share the same bytes.

All programs lay their circular buffers out from the same base, so the bytes of two programs overlap and their sizes
must not be added. Planned is the union over all programs that are alive; resident, on each core, is the program that
ran there last.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from ttmem.metal.programs.layout import ProgramLayout, Region

__all__ = ["CoreFootprint", "Taken", "planned", "resident", "taken"]

_CACHED_MOST = 256  # unions: the programs of a model take turns, so the same ones are asked for repeatedly


class Taken(NamedTuple):
    """Bytes on all cores of a chip, and on the core that has most."""

    chip_bytes: int
    worst_core_bytes: int


class CoreFootprint:
    """The layouts of the programs of one place; cheap to keep, worked out when asked."""

    def __init__(self) -> None:
        self.regions: Counter[Region] = Counter()
        self.launched: dict[int, tuple[int, ProgramLayout]] = {}  # by program: when it ran last; latest last
        self._layouts: dict[int, ProgramLayout] = {}

    def lay_out(self, program: int, layout: ProgramLayout) -> None:
        """A program got its layout, or a new one."""
        self.release(program, is_moving=True)
        self._layouts[program] = layout
        self.regions.update(layout.regions)
        if program in self.launched:  # it keeps its turn
            self.launched[program] = self.launched[program][0], layout

    def release(self, program: int, *, is_moving: bool = False) -> None:
        """Its circular buffers are gone."""
        layout = self._layouts.pop(program, None)
        if layout is not None:
            for region in layout.regions:
                self.regions[region] -= 1
                if not self.regions[region]:
                    del self.regions[region]
        if not is_moving:
            self.launched.pop(program, None)

    def launch(self, program: int, turn: int) -> None:
        """A program ran; one without circular buffers leaves those of others where they are."""
        layout = self._layouts.get(program)
        if layout is not None and layout.core_mask:
            self.launched.pop(program, None)
            self.launched[program] = turn, layout


def planned(footprints: Sequence[CoreFootprint]) -> Taken:
    """The union over all programs of all these places."""
    return taken({region for one in footprints for region in one.regions})


def resident(footprints: Sequence[CoreFootprint]) -> Taken:
    """On each core the latest program that has anything there."""
    wanted = 0
    for one in footprints:
        for _, _, mask in one.regions:
            wanted |= mask
    turns = [reversed(one.launched.values()) for one in footprints]
    latest: Iterable[tuple[int, ProgramLayout]] = turns[0] if len(turns) == 1 else _latest_first(footprints)
    regions: list[Region] = []
    for _, layout in latest:
        own = layout.core_mask & wanted
        if own:
            regions += [(start, end, mask & own) for start, end, mask in layout.regions if mask & own]
            wanted &= ~own
        if not wanted:
            break
    return taken(regions)


def taken(regions: Iterable[Region]) -> Taken:
    """The union of regions on each core, added up over cores."""
    return _taken(frozenset(regions))


@lru_cache(maxsize=_CACHED_MOST)  # benchmarks/promises/metal.py: the model's own pace
def _taken(regions: frozenset[Region]) -> Taken:
    lengths: dict[int, int] = {}  # by core mask: how many bytes are taken on exactly these cores
    events = sorted([(start, 0, mask) for start, _, mask in regions] + [(end, 1, mask) for _, end, mask in regions])
    active: Counter[int] = Counter()
    before = 0
    for address, is_end, mask in events:
        if address > before and active:
            union = 0
            for one in active:
                union |= one
            lengths[union] = lengths.get(union, 0) + address - before
        before = address
        active[mask] += -1 if is_end else 1
        if not active[mask]:
            del active[mask]
    chip_bytes = sum(mask.bit_count() * length for mask, length in lengths.items())
    return Taken(chip_bytes, _worst(lengths))


def _worst(lengths: dict[int, int]) -> int:
    everywhere = 0
    for mask in lengths:
        everywhere |= mask
    if all(mask == everywhere for mask in lengths):
        return sum(lengths.values())
    places = [place for place in range(everywhere.bit_length()) if everywhere >> place & 1]
    return max(sum(length for mask, length in lengths.items() if mask >> place & 1) for place in places)


def _latest_first(footprints: Sequence[CoreFootprint]) -> list[tuple[int, ProgramLayout]]:
    turns = [turn for one in footprints for turn in one.launched.values()]
    return sorted(turns, key=lambda turn: -turn[0])
