"""Buffers of the stock runtime that are allocated by core, as the hook reports them, judged by its own addresses."""

from collections import defaultdict
from typing import Any

import pytest

from tests.support.hooked.looks import Look
from tests.support.hooked.process import StartedHooked
from ttmem.devices import Pool

KIB = 1024
CORES = [(x, 0) for x in range(4)]
TENSOR = {"op": "alloc", "type": "L1", "dtype": "uint8", "is_tiled": False, "layout": "HEIGHT_SHARDED"}


def a_tensor(identity: int, kib: int, allocation: str = "PER_CORE", *, first: int = 0, last: int = 3) -> dict[str, Any]:
    """One row of cores, so many KiB on each."""
    rows = last - first + 1
    place = {"ranges": [[first, 0, last, 0]], "shard": [1, kib * KIB], "shape": [rows, kib * KIB]}
    return {**TENSOR, **place, "id": identity, "allocation": allocation}


def places_of(look: Look, chip: int) -> dict[int, list[tuple[int, int]]]:
    """Of each size on a core: (address, cores) of its parts on a chip."""
    found: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for told in look.buffers:
        if told.parts and chip in told.chips:
            found[told.per_bank_bytes] += [(address, cores) for address, cores, _ in told.parts]
    return {size: sorted(parts) for size, parts in found.items()}


def said(addresses: list[int]) -> list[tuple[int, int]]:
    return sorted((address, addresses.count(address)) for address in set(addresses))


@pytest.mark.parametrize(("board", "mesh"), [("n150", (1, 1)), ("n300", (1, 2)), ("t3000", (2, 4))], ids=str)
def test_a_buffer_by_core_is_reported_where_the_runtime_has_it(
    board: str, mesh: tuple[int, int], hooked_of: StartedHooked
) -> None:
    hooked = hooked_of(board, is_hybrid=True)
    with hooked.opened(mesh):
        [_, skewed, lockstep, ranged] = hooked.runtime.steps(
            [
                a_tensor(1, 8, last=0),  # the next one lies lower on this core
                a_tensor(2, 32),
                a_tensor(3, 16, "LOCKSTEP"),
                a_tensor(4, 4, "RANGE_LOCKSTEP", first=1, last=2),
            ]
        )
        look = hooked.look()
        hooked.runtime.steps([{"op": "free", "id": 2, "type": "L1"}])
        freed = hooked.look()
        hooked.runtime.steps([{"op": "free", "id": identity, "type": "L1"} for identity in (1, 3, 4)])
        empty = hooked.look()

    chips = list(hooked.runtime.chips)[: mesh[0] * mesh[1]]
    banks = look.device(chips[0])["banks"][1]
    for chip, addresses in zip(chips, skewed["addresses"], strict=True):
        assert len(set(addresses)) == 2
        assert places_of(look, chip)[32 * KIB] == said(addresses)
        assert look.used(chip, Pool.L1) == (8 + 4 * 32 + banks * (16 + 4)) * KIB
        assert freed.used(chip, Pool.L1) == (8 + banks * (16 + 4)) * KIB
        assert empty.used(chip, Pool.L1) == 0
    on_mesh = {told.per_bank_bytes: told.address for told in look.buffers if not told.parts}
    assert on_mesh == {16 * KIB: lockstep["address"], 4 * KIB: ranged["address"]}
    assert (look.findings, freed.findings, empty.findings, empty.buffers) == ({}, {}, {}, [])
    assert look.process["complete"]


def test_a_refused_buffer_by_core_is_out_of_memory_on_its_chip(hooked_of: StartedHooked) -> None:
    hooked = hooked_of("n150", is_hybrid=True)
    with hooked.opened((1, 1)):
        hooked.runtime.steps([a_tensor(1, 900)])
        before = hooked.look()
        [refused] = hooked.runtime.steps([a_tensor(2, 700)])
        look = hooked.look()

    [chip] = hooked.runtime.chips
    assert refused["refused"].startswith("Out of Memory")
    assert look.refusals_since(before) == [(chip, Pool.L1, 4 * 700 * KIB, 0, 0)]
    assert (look.findings, look.process["complete"]) == ({}, True)


def test_a_buffer_by_core_without_the_mode_for_it_is_told_too(hooked_of: StartedHooked) -> None:
    hooked = hooked_of("n150", is_hybrid=False)
    with hooked.opened((1, 1)):
        before = hooked.look()
        [refused] = hooked.runtime.steps([a_tensor(1, 8)])
        look = hooked.look()

    assert "requires AllocatorMode::HYBRID" in refused["refused"]
    [(chip, pool, requested_bytes, *_)] = look.refusals_since(before)
    assert (chip, pool, requested_bytes) == (hooked.runtime.chips[0], Pool.L1, 4 * 8 * KIB)
    assert (look.buffers, look.findings) == ([], {})


def test_a_release_that_does_not_tell_the_chip_of_a_buffer_by_core_is_known_to_miss_it(
    hooked_of: StartedHooked,
) -> None:
    hooked = hooked_of("n150", is_hybrid=True, release="0.78.0")
    with hooked.opened((1, 1)):
        hooked.runtime.steps([a_tensor(1, 8)])
        look = hooked.look()
        hooked.runtime.steps([{"op": "free", "id": 1, "type": "L1"}])
        freed = hooked.look()

    assert (look.buffers, look.findings, look.process["complete"]) == ([], {"unknown_device": 1}, False)
    assert (freed.buffers, freed.findings) == ([], {"unknown_device": 1})
