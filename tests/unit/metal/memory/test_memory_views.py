"""What the runtime's own reports said of four tensors on mock chips: memory views, buffers, block tables, summaries."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from ttmem.devices import BufferType
from ttmem.metal.chips import board
from ttmem.metal.memory import Allocator, BufferSpec, Layout, Placement, tensor

VIEWS = Path(__file__).parents[3] / "data" / "memory_views"
KINDS = [BufferType.DRAM, BufferType.L1, BufferType.L1_SMALL, BufferType.TRACE]
ON_8_CORES = (4, 2)
# As the recorded program made them: a and b interleaved, s and l with one shard on each of 8 cores.
TENSORS = {
    "a": tensor((1, 1, 1024, 1024), "bfloat16"),
    "b": tensor((1, 1, 256, 256), "bfloat16", buffer_type=BufferType.L1),
    "s": tensor(
        (1, 1, 256, 128),
        "bfloat16",
        buffer_type=BufferType.L1,
        layout=Layout.HEIGHT_SHARDED,
        shard=(32, 128),
        grid=ON_8_CORES,
    ),
    "l": tensor(
        (1, 1, 256, 32),
        "bfloat16",
        buffer_type=BufferType.L1_SMALL,
        layout=Layout.HEIGHT_SHARDED,
        shard=(32, 32),
        grid=ON_8_CORES,
    ),
}


def recorded(name: str) -> dict[str, Any]:
    report: dict[str, Any] = json.loads((VIEWS / f"{name}.json").read_text(encoding="utf-8"))
    return report


def filled(name: str) -> tuple[Allocator, dict[str, Placement]]:
    allocator = Allocator(board(name).chip(l1_small_bytes=16_384, trace_region_bytes=1 << 20))
    return allocator, {word: allocator.allocate(spec) for word, spec in TENSORS.items()}


@pytest.mark.parametrize("name", ["n150", "n300", "p150"])
def test_the_memory_view_has_the_recorded_figures(name: str) -> None:
    allocator, _ = filled(name)

    for kind in KINDS:
        view = recorded(name)["memory_view"][kind.name]
        del view["block_table"]
        assert list(allocator.statistics(kind)) == list(view.values()), kind


@pytest.mark.parametrize("name", ["n150", "n300", "p150"])
def test_the_block_table_has_the_recorded_blocks(name: str) -> None:
    allocator, _ = filled(name)

    for kind in KINDS:
        table = recorded(name)["memory_view"][kind.name]["block_table"]
        expected = sorted((int(block["address"]), int(block["size"]), block["allocated"] == "yes") for block in table)
        assert list(allocator.blocks(kind)) == expected, kind


@pytest.mark.parametrize("name", ["n150", "n300", "p150"])
def test_buffers_lie_where_they_were_reported(name: str) -> None:
    _, placements = filled(name)
    report = recorded(name)
    buffers = {(buffer["address"], buffer["max_size_per_bank"]) for buffer in report["get_buffers"]}

    assert {word: placement.address for word, placement in placements.items()} == {
        word: int(address, 16) for word, address in report["tensors"].items()
    }
    assert {(placement.address, placement.per_bank_bytes) for placement in placements.values()} == buffers


@pytest.mark.parametrize("name", ["n150", "n300", "p150"])
def test_the_runtime_counted_the_bytes_that_were_asked_for(name: str) -> None:
    """Its shared memory holds sums of sizes, not of what the banks give up."""
    held: dict[str, BufferSpec] = {}
    steps: list[tuple[str, bool]] = [("a", True), ("b", True), ("s", True), ("l", True), ("b", False)]

    for state, (word, is_alive) in zip(recorded(name)["states"][1:], steps, strict=False):
        if is_alive:
            held[word] = TENSORS[word]
        else:
            del held[word]
        expected = state["expected_per_device"]
        for kind in KINDS[:3]:
            total = sum(spec.size_bytes for spec in held.values() if spec.buffer_type is kind)
            assert total == expected[kind.name.lower()], (state["state"], kind)


@pytest.mark.parametrize("name", ["n150", "p150"])
def test_a_dump_after_a_tensor_was_freed_has_the_recorded_figures(name: str) -> None:
    allocator, placements = filled(name)
    allocator.free(placements["b"])
    rows = list(csv.reader((VIEWS / f"{name}-summary.csv").read_text(encoding="utf-8").splitlines()))[1:]

    assert [list(allocator.statistics(kind)[1:]) for kind in KINDS[:3]] == [
        [int(cell) for cell in row[1:]] for row in rows
    ]


@pytest.mark.parametrize("name", ["n150", "p150"])
def test_a_detailed_dump_has_the_recorded_blocks_and_totals(name: str) -> None:
    allocator, placements = filled(name)
    allocator.free(placements["b"])
    lines = (VIEWS / f"{name}-detailed.csv").read_text(encoding="utf-8").splitlines()
    sizes = [int(line.split(",")[2]) for line in lines if line.startswith(",Total")]
    rows = [line.split() for line in lines if line.endswith(("  yes", "  no"))]

    found_sizes, found_rows = [], []
    for kind in KINDS[:3]:
        figures = allocator.statistics(kind)
        found_sizes += [
            figures.bank_count * each for each in (figures.bank_bytes, figures.allocated_bytes, figures.free_bytes)
        ]
        found_rows += [(block.offset_bytes, block.size_bytes, block.is_allocated) for block in allocator.blocks(kind)]
    assert found_sizes == sizes
    assert sorted(found_rows) == sorted((int(row[1]), int(row[2]), row[5] == "yes") for row in rows)
