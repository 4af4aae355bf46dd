"""Buffers of the stock runtime that are allocated by core, as the hook reports them, judged by its own addresses."""

import pytest

from tests.support.hooked.core_buffers import KIB, freed, on_cores, places_of, said
from tests.support.hooked.process import StartedHooked
from tests.support.ttnn.stock import RELEASE
from ttmem.devices import Pool

MESHES = [
    ("0.80.0", "n150", (1, 1)),
    ("0.80.0", "n300", (1, 2)),
    (RELEASE, "n150", (1, 1)),
    (RELEASE, "n300", (1, 2)),
    (RELEASE, "t3000", (2, 4)),
]


@pytest.mark.parametrize(("release", "board", "mesh"), MESHES, ids=str)
def test_a_buffer_by_core_is_reported_where_the_runtime_has_it(
    release: str, board: str, mesh: tuple[int, int], hooked_of: StartedHooked
) -> None:
    hooked = hooked_of(board, release=release, is_hybrid=True)
    with hooked.opened(mesh):
        [_, skewed, lockstep, ranged] = hooked.runtime.steps(
            [
                on_cores(1, 8, last=0),  # the next one lies lower on this core
                on_cores(2, 32),
                on_cores(3, 16, "LOCKSTEP"),
                on_cores(4, 4, "RANGE_LOCKSTEP", first=1, last=2),
            ]
        )
        look = hooked.look()
        hooked.runtime.steps(freed(2))
        without = hooked.look()
        hooked.runtime.steps(freed(1, 3, 4))
        empty = hooked.look()

    chips = list(hooked.runtime.chips)[: mesh[0] * mesh[1]]
    banks = look.device(chips[0])["banks"][1]
    for chip, addresses in zip(chips, skewed["addresses"], strict=True):
        assert len(set(addresses)) == 2
        assert places_of(look, chip)[32 * KIB] == said(addresses)
        assert look.used(chip, Pool.L1) == (8 + 4 * 32 + banks * (16 + 4)) * KIB
        assert without.used(chip, Pool.L1) == (8 + banks * (16 + 4)) * KIB
        assert empty.used(chip, Pool.L1) == 0
    on_mesh = {told.per_bank_bytes: told.address for told in look.buffers if not told.parts}
    assert on_mesh == {16 * KIB: lockstep["address"], 4 * KIB: ranged["address"]}
    assert (look.findings, without.findings, empty.findings, empty.buffers) == ({}, {}, {}, [])
    assert look.process["complete"]


def test_a_refused_buffer_by_core_is_out_of_memory_on_its_chip(hooked_of: StartedHooked) -> None:
    hooked = hooked_of("n150", is_hybrid=True)
    with hooked.opened((1, 1)):
        hooked.runtime.steps([on_cores(1, 900)])
        before = hooked.look()
        [refused] = hooked.runtime.steps([on_cores(2, 700)])
        look = hooked.look()

    [chip] = hooked.runtime.chips
    assert refused["refused"].startswith("Out of Memory")
    assert look.refusals_since(before) == [(chip, Pool.L1, 4 * 700 * KIB, 0, 0)]
    assert (look.findings, look.process["complete"]) == ({}, True)


def test_a_buffer_by_core_without_the_mode_for_it_is_told_too(hooked_of: StartedHooked) -> None:
    hooked = hooked_of("n150", is_hybrid=False)
    with hooked.opened((1, 1)):
        before = hooked.look()
        [refused] = hooked.runtime.steps([on_cores(1, 8)])
        look = hooked.look()

    assert "requires AllocatorMode::HYBRID" in refused["refused"]
    [(chip, pool, requested_bytes, *_)] = look.refusals_since(before)
    assert (chip, pool, requested_bytes) == (hooked.runtime.chips[0], Pool.L1, 4 * 8 * KIB)
    assert (look.buffers, look.findings) == ([], {})


def test_a_release_that_does_not_tell_the_chip_of_a_buffer_by_core_is_known_to_miss_it(
    hooked_of: StartedHooked,
) -> None:
    """What it allocates otherwise is counted as ever."""
    hooked = hooked_of("n300", is_hybrid=True, release="0.78.0")
    with hooked.opened((1, 2)):
        hooked.runtime.steps([on_cores(1, 8)])
        look = hooked.look()
        [lockstep] = hooked.runtime.steps([on_cores(2, 16, "LOCKSTEP")])
        beside = hooked.look()
        hooked.runtime.steps(freed(1, 2))
        empty = hooked.look()

    banks, _, per_bank_bytes, *_ = lockstep["view"]
    missed = {"unknown_device": 2}  # one on each chip
    assert (look.buffers, look.findings, look.process["complete"]) == ([], missed, False)
    assert [(told.address, told.per_bank_bytes) for told in beside.buffers] == [(lockstep["address"], 16 * KIB)]
    assert {beside.used(chip, Pool.L1) for chip in hooked.runtime.chips} == {banks * per_bank_bytes}
    assert (empty.buffers, empty.findings, empty.process["complete"]) == ([], missed, False)


def test_a_release_without_range_lockstep_has_no_such_buffer(hooked_of: StartedHooked) -> None:
    hooked = hooked_of("n150", is_hybrid=True, release="0.78.0")
    with hooked.opened((1, 1)):
        [answer] = hooked.runtime.steps([on_cores(1, 4, "RANGE_LOCKSTEP")])
        look = hooked.look()

    assert answer["lacking"] == "experimental_set_range_lockstep_allocation"
    assert look.buffers == []
