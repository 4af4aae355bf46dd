"""Plain sums over steps: formats, pages, banks; checked by figures from real runs and against the allocator."""

from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ttmem.devices import BufferType, Pool
from ttmem.metal.chips import DispatchCores, board
from ttmem.metal.memory import Allocator, Layout, tensor
from ttmem.metal.workloads.building.arithmetic import ExpectedUse, reserved_bytes, tile_bytes
from ttmem.metal.workloads.building.steps import (
    BLOCK_SHARDED,
    HEIGHT_SHARDED,
    INTERLEAVED,
    WIDTH_SHARDED,
    Free,
    Make,
    Operation,
    PlannedBuffer,
    Run,
    Tensor,
    TensorPlace,
)
from ttmem.metal.workloads.building.tables import code_bytes, payload_bytes

L1 = BufferType.L1
ADD = Operation(
    "add",
    ("reader_interleaved_no_bcast", "writer_interleaved_no_bcast", "eltwise_binary_no_bcast"),
    64,
    (PlannedBuffer(2048, 2), PlannedBuffer(2048, 2)),
)


def test_a_tile_of_a_block_format_carries_one_exponent_for_sixteen_elements() -> None:
    sizes = {dtype: tile_bytes(dtype) for dtype in ("bfloat4_b", "bfloat8_b", "bfloat16", "float32", "uint32")}

    assert sizes == {"bfloat4_b": 576, "bfloat8_b": 1088, "bfloat16": 2048, "float32": 4096, "uint32": 4096}


@pytest.mark.parametrize(
    ("shape", "dtype", "per_bank_bytes"),
    [
        ((1, 1, 4096, 14336), "bfloat16", 9_787_392),
        ((1, 1, 32768, 16384), "bfloat16", 89_479_168),
        ((1, 1, 2048, 14336), "bfloat16", 4_894_720),
        ((1, 1, 32, 4_311_040), "bfloat8_b", 12_214_976),
    ],
)
def test_sizes_of_real_runs_come_out(shape: tuple[int, ...], dtype: str, per_bank_bytes: int) -> None:
    assert reserved_bytes(Tensor("x", shape, dtype), board("n150").chip()) == 12 * per_bank_bytes


def test_a_shard_costs_every_core_as_much_as_the_cores_that_have_one() -> None:
    place = TensorPlace(L1, HEIGHT_SHARDED, (32, 64))

    assert reserved_bytes(Tensor("x", (8, 32, 64), "bfloat16", place), board("n150").chip()) == 2 * 2048 * 64


@st.composite
def tensors(draw: st.DrawFn) -> Tensor:
    is_tiled = draw(st.booleans())
    dtype = draw(st.sampled_from(["bfloat16", "float32", *(["bfloat8_b", "bfloat4_b"] if is_tiled else ["uint16"])]))
    step = 32 if is_tiled else 1
    rows, columns = (step * draw(st.integers(1, 8)) for _ in range(2))
    down, across = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    layout = draw(st.sampled_from([INTERLEAVED, HEIGHT_SHARDED, WIDTH_SHARDED, BLOCK_SHARDED]))
    if layout == INTERLEAVED:
        shape = draw(st.tuples(*[st.integers(1, 90)] * 3))
        buffer_type = draw(st.sampled_from([BufferType.DRAM, L1]))
        return Tensor("x", shape, dtype, TensorPlace(buffer_type, layout, None, is_tiled))
    down, across = (down if layout != WIDTH_SHARDED else 1), (across if layout != HEIGHT_SHARDED else 1)
    return Tensor("x", (rows * down, columns * across), dtype, TensorPlace(L1, layout, (rows, columns), is_tiled))


@given(tensors(), st.sampled_from(["n150", "n300", "p100", "p150", "galaxy"]))
def test_the_allocator_reserves_what_plain_sums_say(wanted: Tensor, name: str) -> None:
    chip, place = board(name).chip(), wanted.place
    spec = tensor(
        wanted.shape,
        wanted.dtype,
        buffer_type=place.buffer_type,
        layout=Layout[place.layout],
        is_tiled=place.is_tiled,
        shard=place.shard,
        grid=chip.grid if place.shard else None,
    )

    allocator = Allocator(chip)
    allocator.allocate(spec)

    statistics = allocator.statistics(place.buffer_type)
    assert prod((statistics.allocated_bytes, statistics.bank_count)) == reserved_bytes(wanted, chip)


def test_an_operation_is_loaded_by_its_first_run_only() -> None:
    expected = ExpectedUse(board("n150").chip()).add_all([Run(ADD), Run(ADD), Run(ADD)])

    assert expected.used == {
        Pool.DRAM: 12 * 2048,  # 6 pages: 2 of the reader, 1 each of the writer and the three compute threads
        Pool.KERNEL: (2352 + 1504 + 1184 + 784 + 1568) * 64,
        Pool.CB: 2 * 2 * 2048 * 64,
    }


def test_circular_buffers_of_two_programs_share_their_addresses() -> None:
    wide = Operation("wide", (), 8, (PlannedBuffer(2048, 3),))
    narrow = Operation("narrow", (), 2, (PlannedBuffer(2048, 4), PlannedBuffer(2048, 1)))

    expected = ExpectedUse(board("n150").chip()).add_all([Run(wide), Run(narrow)])

    assert expected.used[Pool.CB] == (2 * 5 + 6 * 3) * 2048


def test_slow_dispatch_keeps_no_binaries_in_dram() -> None:
    expected = ExpectedUse(board("n150").chip(dispatch=DispatchCores.SLOW)).add_all([Run(ADD)])

    assert expected.used[Pool.DRAM] == 0


def test_a_peak_stays_when_its_tensor_goes() -> None:
    x = Tensor("x", (1, 1, 32, 32), "bfloat16")

    expected = ExpectedUse(board("n150").chip()).add_all([Make(x), Free("x"), Make(x)])

    assert (expected.used[Pool.DRAM], expected.peak[Pool.DRAM]) == (12 * 2048, 12 * 2048)


def test_a_sender_among_receivers_is_code_of_one_core() -> None:
    matmul = Operation("matmul", (), 8, lead="in0_sender", follow="in0_receiver")

    assert code_bytes(matmul, alignment=16) == 2992 + 7 * 1440
    assert payload_bytes(matmul, page_bytes=2048) == (2 + 1) * 2048


def test_an_operation_of_one_core_has_no_follower() -> None:
    alone = Operation("matmul", (), 1, lead="in0_sender", follow="in0_receiver")

    assert code_bytes(alone, alignment=16) == 2992
    assert payload_bytes(alone, page_bytes=2048) == 2 * 2048
