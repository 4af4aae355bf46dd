"""What lies where, and what is free: our map of a chip against the stock runtime's own view of its memory.

Checkpoints of random programs: four threads that allocate and free in every memory, and operations, whose binaries lie
in DRAM, too.
"""

from itertools import islice
from typing import Any

import pytest

from tests.support.hooked.crowds import turns
from tests.support.hooked.process import Hooked, StartedHooked
from tests.support.ttnn.runtime import has_compiler
from ttmem.devices import Pool
from ttmem.snapshot.chip_map import ChipMap, Region

L1_SMALL, TRACE = 32_768, 1 << 20
TURNS, STEPS = 6, 300
BANKS, BANK_BYTES, ALLOCATED, LARGEST = 0, 1, 2, 4  # of a view

Views = dict[str, list[int]]


def agree(hooked: Hooked, views: Views) -> None:
    """Largest free blocks in snapshots, and all of the map, as `ttnn.get_memory_view` has them."""
    hooked.look()
    chips = {f"{chip:#x}" for chip in hooked.runtime.chips}
    usages = [usage for usage in hooked.watch.collector.snapshot().devices if f"{usage.device.unique_id:#x}" in chips]
    assert usages
    for usage in usages:
        told = {one.pool.name: one.largest_free_bank_bytes for one in usage.pools if one.pool.name in views}
        assert "DRAM" in told
        assert told == {name: views[name][LARGEST] for name in told}
        assert all(
            one.largest_free_bytes == views[one.pool.name][LARGEST] * views[one.pool.name][BANKS]
            for one in usage.pools
            if one.pool.name in views
        )
        same = {name: view for name, view in views.items() if view[BANKS]}
        regions = regions_of(hooked.watch.collector.chip(f"{usage.device.unique_id:#x}"))
        found = {name: regions[Pool[name]] for name in same if Pool[name] in regions}
        assert {name: figures_of(region) for name, region in found.items()} == {
            name: (view[BANK_BYTES], view[ALLOCATED], view[LARGEST]) for name, view in same.items() if name in found
        }
        assert all(view[BANK_BYTES] == 0 for name, view in same.items() if name not in found)


def regions_of(chip: ChipMap) -> dict[Pool, Region]:
    assert chip.dram is not None
    assert chip.l1 is not None
    assert chip.dram.is_complete
    assert chip.l1.is_complete
    return {region.pool: region for space in (chip.dram, chip.l1) for region in space.regions}


def figures_of(region: Region) -> tuple[int, int, int | None]:
    return region.end - region.begin, region.used_bytes, region.largest_free_bytes


@pytest.mark.parametrize(("board", "seed"), [("n150", 11), ("p150", 12)])
def test_what_is_free_is_what_the_runtime_says_at_every_checkpoint(
    board: str, seed: int, hooked_of: StartedHooked
) -> None:
    hooked = hooked_of(board)
    with hooked.opened(l1_small=L1_SMALL, trace=TRACE) as device:
        requests = turns(seed, grid=device.grid, dram_bank_count=device.views["DRAM"][BANKS], steps=STEPS)
        for request in islice(requests, TURNS):
            agree(hooked, hooked.ask(request)["views"])


@pytest.mark.skipif(not has_compiler(), reason="OPERATIONS NOT COMPARED: no riscv64-unknown-elf-gcc")
def test_binaries_of_programs_lie_where_the_runtime_put_them(hooked_of: StartedHooked) -> None:
    hooked = hooked_of("n150")
    tensor: dict[str, Any] = {"op": "alloc", "shape": [1, 1, 512, 512], "dtype": "bfloat16", "is_tiled": True}
    tensor |= {"layout": "INTERLEAVED"}
    with hooked.opened(l1_small=L1_SMALL) as device:
        assert device.views["DRAM"][ALLOCATED] == 0
        hooked.runtime.steps([tensor | {"id": 1, "type": "DRAM"}, tensor | {"id": 2, "type": "L1"}])
        for number, (name, inputs) in enumerate({"add": [1, 2], "exp": [1], "matmul": [1, 2]}.items(), start=3):
            hooked.ask({"do": "run", "name": name, "times": 2, "inputs": inputs, "id": number, "memory": "DRAM"})
            agree(hooked, hooked.ask({"do": "judge"})["views"])
        hooked.ask({"do": "clear"})
        agree(hooked, hooked.ask({"do": "judge"})["views"])
