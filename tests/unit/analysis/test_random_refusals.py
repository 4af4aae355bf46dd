"""Refusals of random stories, in lockstep on all cores or on some, by core, on sub-devices: what must go is what the
model needs, and holes, sizes and notes are as if everything were known, for it is."""

from random import Random

import pytest

from tests.support.metal.refused_memory import KIB, RefusingChip
from ttmem.analysis import explain
from ttmem.metal import Allocation, CoreRanges
from ttmem.metal.memory import BufferSpec, OutOfDeviceMemory

SUB_DEVICES = ("0,0-3,3", "4,0-6,2")
SIZES = [4, 33, 1000, 4 * KIB, 30 * KIB, 90 * KIB, 200 * KIB, 400 * KIB]
STORY_COUNT = 60


class Story:
    """A chip on which buffers come and go at random."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.is_hybrid, self.has_sub_devices = seed % 4 == 1, seed % 4 == 2
        self.chip = RefusingChip(["n150", "p150"][seed // 4 % 2], is_hybrid=self.is_hybrid)
        if self.has_sub_devices:
            cores = [CoreRanges.parse(one) for one in SUB_DEVICES]
            self.chip.allocator.load_sub_devices(cores, self.random.choice([100_000, 256 * KIB]))
        names: list[str] = []
        for number in range(self.random.randrange(3, 12)):
            try:
                self.chip.hold(f"b{number}", self.spec(), f"model.py:{number} f")
                names.append(f"b{number}")
            except OutOfDeviceMemory:
                continue
            if self.random.random() < 0.3:
                self.chip.free(names.pop(self.random.randrange(len(names))))

    def spec(self) -> BufferSpec:
        choice, size, (columns, rows) = self.random.random(), self.random.choice(SIZES), self.chip.chip.grid
        if choice < 0.4 and self.has_sub_devices:
            number = self.random.randrange(len(SUB_DEVICES))
            return self.chip.on_cores(SUB_DEVICES[number], min(size, 90 * KIB), Allocation.LOCKSTEP, sub_device=number)
        if choice < 0.4 and self.is_hybrid:
            first = self.random.randrange(columns - 1)
            return self.chip.on_cores(f"{first},0-{first + self.random.randrange(2)},1", size)
        if choice < 0.7:
            last = self.random.randrange(1, columns), self.random.randrange(1, rows)
            return self.chip.on_cores("0,0-{},{}".format(*last), size, Allocation.LOCKSTEP)
        return self.chip.l1(size)

    def large(self) -> BufferSpec:
        size, (columns, rows) = self.random.choice([600, 1200]) * KIB, self.chip.chip.grid
        if self.random.random() < 0.5:
            return self.chip.l1(size)
        return self.chip.on_cores(f"0,0-{columns - 1},{rows - 2}", size, Allocation.LOCKSTEP)

    def refused(self) -> BufferSpec:
        """What there is no room for, in any case more than a core has."""
        for _ in range(20):
            asked = self.spec() if self.random.random() < 0.3 else self.large()
            if not self.chip.fits_without((), asked):
                return asked
        return self.chip.l1(1600 * KIB)


@pytest.mark.parametrize("seed", range(STORY_COUNT))
def test_what_must_go_is_what_the_model_needs(seed: int) -> None:
    story = Story(seed)
    asked = story.refused()
    found = explain(story.chip.refused(asked, "model.py:118 forward"))
    by_trying = story.chip.fewest_by_trying(asked)

    freed = {entry.id for entry in found.freeing.entries} if found.freeing is not None else None
    assert (freed in by_trying) if by_trying else (freed is None)
    sizes = {name: held.placement.reserved_bytes for name, held in story.chip.held.items()}
    totals = [sum(sizes[name] for name in some) for some in by_trying]
    assert not totals or sum(sizes[name] for name in freed or ()) == min(totals)
    assert found.notes == ()
    blocks = {held.line: held.placement.block_bytes for held in story.chip.held.values()}
    assert {holder.name: holder.size_bytes for holder in found.holders}.items() <= blocks.items()
    if not story.is_hybrid:
        [line], incident = found.lines, found.incident
        free, largest = incident.free_per_bank_bytes, incident.largest_free_per_bank_bytes
        assert (line.free_bytes, line.largest_free_bytes) == (free, largest)
