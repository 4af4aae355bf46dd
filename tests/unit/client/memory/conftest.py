"""A journal of the test's own process, with two chips and a mesh of them that no other test names."""

from collections.abc import Iterator
from typing import NamedTuple

import pytest

import ttmem
from tests.support.tracked.own_journal import OwnJournal, an_own_journal
from ttmem import _native
from ttmem.devices import Pool

GIB = 1 << 30


class Stage(NamedTuple):
    """What is open, and who reads it from outside."""

    journal: OwnJournal
    left: int
    right: int
    mesh: int

    def used(self, unique_id: int, pool: Pool = Pool.DRAM) -> int:
        """What a collector says."""
        return self.journal.used(unique_id).get(pool, 0)


LEFT, RIGHT = 0xFACE_0000_0000_0001, 0xFACE_0000_0000_0002
LEFT_INDEX, RIGHT_INDEX = 901, 902


@pytest.fixture
def stage() -> Iterator[Stage]:
    with an_own_journal() as journal:
        sizes = {Pool.DRAM: 12 * GIB, Pool.L1: 64 << 20}
        left = ttmem.open_device(LEFT, index=LEFT_INDEX, arch="wormhole_b0", board="n300", capacities=sizes)
        right = ttmem.open_device(RIGHT, index=RIGHT_INDEX, arch="wormhole_b0", board="n300", capacities=sizes)
        mesh = ttmem.open_mesh([left, right], 1, 2, mesh_id=0xFACE)
        for target in (left, right, mesh):  # the journal outlives a test
            _native.own.reset_peaks(target)
        yield Stage(journal, left, right, mesh)
