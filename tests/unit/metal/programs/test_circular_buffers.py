"""Where circular buffers lie and when they do not fit: the addresses and words of real runs."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.metal.operations import add_program, matmul_program
from ttmem.devices import BufferType, Kind
from ttmem.metal import (
    Buffer,
    CircularBufferClash,
    CoreRanges,
    MeshDevice,
    MeshWorkload,
    Program,
    enqueue,
    open_device,
    tensor,
)
from ttmem.metal.programs import CircularBufferMisfit, ProgramMisuse
from ttmem.metal.programs.layout import lay_out
from ttmem.metal.state.footprint import taken

DATA = Path(__file__).parents[3] / "data" / "circular_buffers"
BASE, ALIGNMENT, L1_BYTES = 105_824, 32, 1_499_136  # Wormhole
GRID = CoreRanges.grid(8, 8)


def laid_out(program: Program, lowest_l1_address: int | None = None) -> list[int]:
    """Its addresses."""
    program.allocate_circular_buffers(
        base=BASE, alignment=ALIGNMENT, l1_bytes=L1_BYTES, lowest_l1_address=lowest_l1_address
    )
    return [circular_buffer.address for circular_buffer in program.circular_buffers]


def l1_buffer(device: MeshDevice, pages_per_bank: int = 4) -> Buffer:
    return device.create_buffer(tensor((pages_per_bank * 64 * 32, 32), "bfloat16", buffer_type=BufferType.L1))


@pytest.mark.parametrize(("name", "grid"), [("add", (8, 8)), ("simulated_add", (8, 9))])
def test_add_lays_its_circular_buffers_where_the_runtime_did(name: str, grid: tuple[int, int]) -> None:
    recorded = json.loads((DATA / "add.json").read_text(encoding="utf-8"))[name]
    program = add_program(CoreRanges.grid(*grid))

    addresses = laid_out(program)

    assert addresses == [node["address"] for node in recorded]
    assert [one.size_bytes for one in program.circular_buffers] == [node["size"] for node in recorded]
    assert {node["core_range_set"] for node in recorded} == {
        "{" + one.runtime_text + "}" for one in program.circular_buffers[0].cores.ranges
    }


@pytest.mark.parametrize("side", ["256", "512", "1024"])
def test_add_takes_as_much_as_the_runtime_counted_whatever_the_tensors(side: str) -> None:
    recorded = json.loads((DATA / "add.json").read_text(encoding="utf-8"))["cb_bytes_after_add"][side]
    program = add_program(GRID)
    laid_out(program)

    assert program.layout is not None
    assert taken(program.layout.regions).chip_bytes == recorded


def test_matmul_lays_dataflow_buffers_from_the_same_base() -> None:
    program = matmul_program(GRID)

    assert laid_out(program) == [105_824, 109_920, 114_016]
    assert {one.kind for one in program.circular_buffers} == {Kind.DATAFLOW_BUFFER}


def test_softmax_lays_eight_dataflow_buffers_one_behind_the_other() -> None:
    """Recorded were the first and the last address; sizes between them are made up to match."""
    program = Program()
    for size_bytes in (32_768, 4096, 4096, 4096, 16_384, 32_768, 2048, 2048):
        program.add_dataflow_buffer(CoreRanges.grid(8, 2), size_bytes, page_bytes=2048)

    addresses = laid_out(program)

    assert (addresses[0], addresses[-1]) == (105_824, 202_080)


def test_blackhole_has_another_base_and_alignment() -> None:
    program = Program()
    for size_bytes in (1000, 4096):
        program.add_circular_buffer(CoreRanges.grid(11, 10), size_bytes)

    with open_device("p150") as device:
        enqueue(device, MeshWorkload(program))

    assert [one.address for one in program.circular_buffers] == [111_744, 111_744 + 1024]


def test_a_scratchpad_stands_among_circular_buffers() -> None:
    program = Program()
    program.add_circular_buffer(GRID, 4096)
    program.add_scratchpad(GRID, 1000)
    program.add_circular_buffer(GRID, 4096)

    assert laid_out(program) == [BASE, BASE + 4096, BASE + 4096 + 1024]


def test_buffers_on_other_cores_begin_at_the_base_again() -> None:
    program = Program()
    program.add_circular_buffer(CoreRanges.at((0, 0)), 4096)
    program.add_circular_buffer(CoreRanges.at((1, 0)), 8192)

    assert laid_out(program) == [BASE, BASE]


def test_a_buffer_on_part_of_the_cores_is_marked_in_every_range_it_overlaps() -> None:
    program = Program()
    program.add_circular_buffer(GRID, 4096)
    program.add_circular_buffer(CoreRanges.at((0, 0)), 4096)
    program.add_circular_buffer(GRID, 4096)

    assert laid_out(program) == [BASE, BASE + 4096, BASE + 8192]


def test_a_range_taken_beyond_an_address_is_not_marked_again() -> None:
    """Two small ranges of one large one: the second, longer buffer does not push the large range's end."""
    left, right = CoreRanges.grid(4, 8), CoreRanges.parse("4,0-7,7")
    program = Program()
    program.add_circular_buffer(right, 1024)
    program.add_circular_buffer(left, 8192)
    program.add_circular_buffer(left | right, 64)

    assert laid_out(program) == [BASE, BASE, BASE + 1024]


def test_ranges_that_touch_are_not_merged_before_they_are_laid_out() -> None:
    """Merged, the last buffer's two ranges would be one column, and its address 544 bytes lower."""
    program = Program()
    for cores, size_bytes in [("1,0-1,0", 416), ("0,1-1,2", 960), ("1,2-1,2;1,0-1,1", 960)]:
        program.add_circular_buffer(CoreRanges.parse(cores), size_bytes)

    assert laid_out(program) == [BASE, BASE, BASE + 960]


def test_every_core_of_a_buffer_has_the_same_address() -> None:
    low, high = CoreRanges.at((0, 0)), CoreRanges.at((7, 7))
    program = Program()
    program.add_circular_buffer(low, 4096)
    program.add_circular_buffer(low | high, 2048)

    assert laid_out(program) == [BASE, BASE + 4096]


@given(st.lists(st.tuples(st.integers(1, 8), st.integers(1, 8), st.integers(1, 20_000)), max_size=10))
def test_nested_buffers_never_share_a_byte_of_a_core(parts: list[tuple[int, int, int]]) -> None:
    program = Program()
    columns = rows = 8
    for width, height, size_bytes in parts:
        columns, rows = min(columns, width), min(rows, height)
        program.add_circular_buffer(CoreRanges.grid(columns, rows), size_bytes)

    layout = lay_out(program.id, program.circular_buffers, base=BASE, alignment=ALIGNMENT)

    assert taken(layout.regions).chip_bytes == sum(one.core_bytes for one in program.circular_buffers)
    assert all(address % ALIGNMENT == 0 for _, address in layout.addresses)


# Refusals


def test_a_clash_is_refused_in_the_runtimes_words() -> None:
    program = add_program(GRID)

    with pytest.raises(CircularBufferClash) as refusal:
        laid_out(program, lowest_l1_address=114_688)

    assert str(refusal.value) == (
        f"Statically allocated circular buffers in program {program.id} clash with L1 buffers on core range "
        "[0-0 - 7-7]. L1 buffer allocated at 114688 and static circular buffer region ends at 118112"
    )
    assert (refusal.value.region_end, refusal.value.lowest_l1_address) == (118_112, 114_688)
    assert refusal.value.overlap_bytes == 3424


def test_a_clash_of_a_newer_program_speaks_of_dataflow_buffers() -> None:
    program = matmul_program(GRID)

    with pytest.raises(CircularBufferClash, match=r"allocated dataflow buffers .* static dataflow buffer region ends"):
        laid_out(program, lowest_l1_address=114_688)


def test_a_buffer_right_behind_the_region_is_no_clash() -> None:
    assert laid_out(add_program(GRID), lowest_l1_address=118_112)


def test_a_program_that_is_laid_out_clashes_as_soon_as_a_buffer_comes_too_low() -> None:
    program = add_program(GRID)
    laid_out(program, lowest_l1_address=200_000)

    with pytest.raises(CircularBufferClash):
        laid_out(program, lowest_l1_address=118_080)
    assert laid_out(program, lowest_l1_address=200_000) == [105_824, 109_920, 114_016]


def test_a_refused_layout_leaves_no_addresses() -> None:
    program = add_program(GRID)

    with pytest.raises(CircularBufferClash):
        laid_out(program, lowest_l1_address=114_688)

    assert program.layout is None
    assert {one.address for one in program.circular_buffers} == {0}


def test_circular_buffers_cannot_grow_beyond_l1() -> None:
    program = Program()
    program.add_circular_buffer(CoreRanges.grid(8, 2), 1_500_000)

    with pytest.raises(CircularBufferMisfit) as refusal:
        laid_out(program)

    assert str(refusal.value) == (
        "Statically allocated circular buffers on core range [0-0 - 7-1] grow to 1605824 B "
        "which is beyond max L1 size of 1499136 B"
    )


@pytest.mark.parametrize(("size_bytes", "page_bytes"), [(4097, 2048), (0, 2048), (65_536 * 16, 16)])
def test_a_circular_buffer_is_whole_pages_and_not_too_many(size_bytes: int, page_bytes: int) -> None:
    program = Program()

    with pytest.raises(ProgramMisuse):
        program.add_circular_buffer(GRID, size_bytes, page_bytes=page_bytes)
    assert program.circular_buffers == []


# Views


def test_a_global_circular_buffer_lies_in_its_buffer_and_takes_nothing() -> None:
    with open_device("n150") as device:
        buffer = l1_buffer(device)
        program = Program()
        view = program.add_circular_buffer(GRID, 2048, buffer=buffer, offset_bytes=4096)
        local = program.add_circular_buffer(GRID, 2048)

        laid_out(program, device.allocator.lowest_l1_address)

        assert view.address == buffer.address + 4096
        assert (view.core_bytes, view.is_global) == (0, True)
        assert local.address == BASE
        assert program.layout is not None
        assert len(program.layout.regions) == 1


def test_a_view_larger_than_its_buffer_is_refused_with_both_sizes() -> None:
    with open_device("n150") as device:
        buffer = l1_buffer(device, pages_per_bank=2)
        program = Program()

        with pytest.raises(CircularBufferMisfit, match=r"size to 6144 B.* bank size of 4096 B"):
            program.add_circular_buffer(GRID, 6144, buffer=buffer)
        with pytest.raises(CircularBufferMisfit):
            program.add_circular_buffer(GRID, 4096, buffer=buffer, offset_bytes=2048)
        assert program.circular_buffers == []


def test_a_view_moves_with_the_buffer_it_is_set_to_look_at() -> None:
    with open_device("n150") as device:
        first, second, small = l1_buffer(device), l1_buffer(device), l1_buffer(device, pages_per_bank=1)
        program = Program()
        view = program.add_circular_buffer(GRID, 8192, buffer=first)

        program.rebind(view, second)
        assert (view.address, program.moved_views) == (second.address, {0})

        with pytest.raises(CircularBufferMisfit):
            program.rebind(view, small)
        assert (view.address, view.buffer) == (second.address, second)


def test_a_local_circular_buffer_cannot_become_a_view() -> None:
    with open_device("n150") as device:
        program = Program()
        local = program.add_circular_buffer(GRID, 2048)

        with pytest.raises(ProgramMisuse, match="no view"):
            program.rebind(local, l1_buffer(device))


# Changes


def test_another_size_moves_all_that_come_behind() -> None:
    program = add_program(GRID)
    laid_out(program)

    program.resize(program.circular_buffers[0], 8192)

    assert laid_out(program) == [105_824, 114_016, 118_112]


def test_a_size_that_cannot_be_changes_nothing() -> None:
    program = add_program(GRID)
    laid_out(program)

    with pytest.raises(ProgramMisuse):
        program.resize(program.circular_buffers[0], 5000)

    assert program.layout is not None
    assert program.circular_buffers[0].size_bytes == 4096
