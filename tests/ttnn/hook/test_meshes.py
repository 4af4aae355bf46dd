"""Meshes of the stock runtime: one record for what lies on all chips, exact figures for each of them."""

from collections import Counter
from itertools import islice
from typing import Any

import pytest

from tests.support.hooked.crowds import turns
from tests.support.hooked.looks import Look, places
from tests.support.hooked.process import Hooked, StartedHooked
from tests.support.ttnn.runtime import has_compiler
from ttmem.devices import Pool
from ttmem.tracking import CoreType

needs_compiler = pytest.mark.skipif(not has_compiler(), reason="OPERATIONS NOT COMPARED: no riscv64-unknown-elf-gcc")
MESHES = [("n300", (1, 2)), ("t3000", (2, 4)), ("galaxy", (8, 4)), ("p300", (1, 2))]
BANKS, ALLOCATED = 0, 2
DISPATCH = {"n300": "WORKER", "t3000": "WORKER"}  # else the runtime's own matmul believes in cores that are not there
ADD = {"do": "run", "name": "add", "inputs": [1, 2], "id": 3, "memory": "L1", "times": 2}
MATMUL = {"do": "run", "name": "matmul", "inputs": [1, 2], "id": 4, "memory": "DRAM", "times": 2}


def tensors() -> list[dict[str, Any]]:
    shape = {"op": "alloc", "shape": [1, 1, 512, 512], "dtype": "bfloat16", "is_tiled": True, "layout": "INTERLEAVED"}
    return [shape | {"id": 1, "type": "DRAM"}, shape | {"id": 2, "type": "L1"}]


@pytest.mark.parametrize(("board", "mesh"), MESHES, ids=[board for board, _ in MESHES])
def test_a_buffer_on_a_mesh_is_one_record_and_counts_on_every_chip(
    board: str, mesh: tuple[int, int], hooked_of: StartedHooked
) -> None:
    hooked = hooked_of(board)
    with hooked.opened(mesh, l1_small=32_768) as device:
        requests = turns(7, grid=device.grid, dram_bank_count=device.views["DRAM"][BANKS], steps=200)
        for request in islice(requests, 2):
            said = hooked.ask(request)
            look = hooked.look()
            assert places(look.buffers) == Counter((address, name) for address, name, _ in said["buffers"])
            assert {len(told.chips) for told in look.buffers} == {device.chips}
            assert {frozenset(told.chips) for told in look.buffers} == {frozenset(hooked.runtime.chips)}
            for name, view in said["views"].items():
                for chip in hooked.runtime.chips:
                    assert look.used(chip, Pool[name]) == view[ALLOCATED] * view[BANKS], (name, chip)
        assert look.findings == {}
    assert hooked.look().alive == []


@pytest.mark.parametrize(("board", "mesh"), MESHES, ids=[board for board, _ in MESHES])
def test_chips_are_named_by_unique_id_in_the_order_of_the_mesh(
    board: str, mesh: tuple[int, int], hooked_of: StartedHooked
) -> None:
    hooked = hooked_of(board)
    with hooked.opened(mesh) as device:
        look = hooked.look()
        order = hooked.ask({"do": "order"})["chips"]

    [(_, rows, columns, chips)] = look.meshes
    assert (rows, columns) == mesh
    assert list(chips) == [hooked.runtime.chips[number] for number in order]
    for chip in chips:
        known = look.device(chip)
        assert tuple(known["grid"]) == device.grid
        assert tuple(known["banks"]) == (device.views["DRAM"][BANKS], device.views["L1"][BANKS])
        for name, (bank_count, bank_bytes, *_) in device.views.items():
            assert known["capacities"][Pool[name]] == bank_count * bank_bytes, name


@needs_compiler
@pytest.mark.parametrize(("board", "mesh"), MESHES, ids=[board for board, _ in MESHES])
def test_an_operation_on_a_mesh_is_told_once_for_all_chips(
    board: str, mesh: tuple[int, int], hooked_of: StartedHooked
) -> None:
    hooked = hooked_of(board)
    with hooked.opened(mesh, dispatch=DISPATCH.get(board)):
        hooked.runtime.steps(tensors())
        for operation in (ADD, MATMUL):
            imagined = hooked.ask(operation | {"do": "imagine"})["buffers"]
            before = hooked.look()
            hooked.ask(operation)
            look_at_one(hooked, imagined, before, hooked.look())
        hooked.ask({"do": "clear"})
        cleared = hooked.look()

    assert (cleared.circular, cleared.kernels, cleared.findings) == ([], [], {})


def look_at_one(hooked: Hooked, imagined: list[dict[str, Any]], before: Look, after: Look) -> None:
    """What one operation left, which was launched twice, on every chip."""
    circular, kernels = ([one for one in told if one not in before.alive] for told in (after.circular, after.kernels))
    core_counts = [core_count(buffer["cores"]) for buffer in imagined]
    sizes = [(buffer["kind"], buffer["size"], cores) for buffer, cores in zip(imagined, core_counts, strict=True)]
    assert [(one.kind.word, one.per_bank_bytes, one.core_count) for one in circular] == sizes
    assert len(kernels) == len({one.id for one in kernels}) > 0
    assert {one.per_bank_bytes > 0 for one in kernels} == {True}
    chips = frozenset(hooked.runtime.chips)
    assert {frozenset(one.chips) for one in (*circular, *kernels)} == {chips}
    for chip in chips:
        assert after.launches(chip) - before.launches(chip) == ADD["times"]
        charged = sum(size * cores for _, size, cores in sizes)
        assert after.used(chip, Pool.CB) - before.used(chip, Pool.CB) == charged
        assert ring_launches(after, chip) - ring_launches(before, chip) == ADD["times"]


def ring_launches(look: Look, chip: int) -> int:
    return look.ring(chip, CoreType.TENSIX)["launches"]


def core_count(rectangles: list[list[int]]) -> int:
    return sum((right - left + 1) * (bottom - top + 1) for left, top, right, bottom in rectangles)


@needs_compiler
def test_every_part_of_a_mesh_has_a_ring_of_its_own(hooked_of: StartedHooked) -> None:
    """A queue sets up eight rings; 32 parts of one chip have 256 of them, and launch on one each."""
    hooked = hooked_of("galaxy")
    with hooked.opened((8, 4)):
        parts = hooked.ask({"do": "submeshes", "shape": [1, 1]})["chips"]
        for number in range(len(parts)):
            hooked.ask({"do": "alloc_on", "device": 100 + number, "id": number, "side": 64})
        before = hooked.look()  # others may have launched in this process
        for number in range(len(parts)):
            hooked.ask({"do": "add_on", "device": 100 + number, "id": number, "times": 2})
        look = hooked.look()
        hooked.ask({"do": "drop"})

    assert len(parts) == 32
    assert [ring_launches(look, chip) - ring_launches(before, chip) for chip in hooked.runtime.chips] == [2] * 32
    assert look.findings == {}


def test_what_lies_on_a_part_of_a_mesh_counts_on_its_chips_alone(hooked_of: StartedHooked) -> None:
    hooked = hooked_of("t3000")
    with hooked.opened((2, 4)):
        parts = hooked.ask({"do": "submeshes", "shape": [1, 4]})["chips"]
        said = [hooked.ask({"do": "alloc_on", "device": 100 + n, "id": n, "side": 32 << n}) for n in range(len(parts))]
        look = hooked.look()
        hooked.ask({"do": "drop"})
        dropped = hooked.look()

    assert len(parts) == 2
    told = sorted(look.buffers, key=lambda one: one.requested_bytes)
    assert [one.chips for one in told] == [tuple(hooked.runtime.chips[number] for number in part) for part in parts]
    assert [one.address for one in told] == [one["address"] for one in said]
    assert (dropped.buffers, dropped.findings) == ([], {})
