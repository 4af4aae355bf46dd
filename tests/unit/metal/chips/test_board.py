"""Boards: harvesting makes the worker grid, dispatch makes the compute grid, and capacities follow."""

import pytest

from ttmem.devices import Pool
from ttmem.metal.chips import BOARDS, Axis, Chip, DispatchCores, UnknownHardware, architecture, board
from ttmem.tracking import TrackedChip

TENSIX, ETHERNET, SLOW = DispatchCores.TENSIX, DispatchCores.ETHERNET, DispatchCores.SLOW
REAL_BOARDS = [name for name in BOARDS if name != "wormhole-sim"]


@pytest.mark.parametrize(
    ("name", "chip_count", "shape", "worker_grid", "compute_grid"),
    [
        ("n150", 1, (1, 1), (8, 9), (8, 8)),
        ("n300", 2, (1, 2), (8, 8), (8, 7)),
        ("t3000", 8, (2, 4), (8, 8), (8, 7)),
        ("galaxy", 32, (8, 4), (8, 10), (8, 9)),
        ("p100", 1, (1, 1), (12, 10), (11, 10)),
        ("p150", 1, (1, 1), (12, 10), (11, 10)),
        ("p300", 2, (1, 2), (12, 10), (11, 10)),
        ("bh-galaxy", 32, (8, 4), (13, 10), (12, 10)),
        ("wormhole-sim", 1, (1, 1), (8, 10), (8, 9)),
    ],
)
def test_harvesting_decides_the_grid_and_dispatch_takes_a_strip_of_it(
    name: str, chip_count: int, shape: tuple[int, int], worker_grid: tuple[int, int], compute_grid: tuple[int, int]
) -> None:
    kind = board(name)
    chips = kind.chips(TENSIX)

    assert (kind.chip_count, kind.shape, len(chips)) == (chip_count, shape, chip_count)
    assert {chip.worker_grid for chip in chips} == {worker_grid}
    assert {chip.grid for chip in chips} == {chip.compute_grid for chip in chips} == {compute_grid}
    assert {chip.l1_bank_count for chip in chips} == {compute_grid[0] * compute_grid[1]}


@pytest.mark.parametrize(
    ("name", "dispatch", "grid"),
    [
        ("n150", ETHERNET, (8, 8)),
        ("n300", ETHERNET, (8, 8)),
        ("galaxy", ETHERNET, (8, 10)),
        ("p150", ETHERNET, (12, 10)),
        ("bh-galaxy", ETHERNET, (13, 10)),
        ("n150", SLOW, (8, 9)),
        ("n300", SLOW, (8, 8)),
        ("galaxy", SLOW, (8, 10)),
        ("p150", SLOW, (12, 10)),
        ("p100", SLOW, (12, 10)),
    ],
)
def test_other_dispatch_cores_leave_other_grids(name: str, dispatch: DispatchCores, grid: tuple[int, int]) -> None:
    assert board(name).chip(dispatch=dispatch).grid == grid


@pytest.mark.parametrize(
    ("name", "axis", "grid"),
    [
        ("n150", Axis.COLUMN, (7, 9)),
        ("n300", Axis.COLUMN, (7, 8)),
        ("galaxy", Axis.COLUMN, (7, 10)),
        ("p150", Axis.ROW, (12, 9)),
        ("bh-galaxy", Axis.ROW, (13, 9)),
    ],
)
def test_the_strip_may_lie_the_other_way(name: str, axis: Axis, grid: tuple[int, int]) -> None:
    assert board(name).chip(dispatch=TENSIX, axis=axis).grid == grid


@pytest.mark.parametrize(
    ("name", "dispatch", "bank_count"),
    [
        ("n150", TENSIX, 64),
        ("n300", ETHERNET, 64),
        ("t3000", ETHERNET, 64),
        ("galaxy", TENSIX, 72),
        ("p150", TENSIX, 110),
        ("p300", TENSIX, 110),
    ],
)
def test_a_board_opened_without_a_word_dispatches_as_ttnn_does(
    name: str, dispatch: DispatchCores, bank_count: int
) -> None:
    chip = board(name).chip()

    assert (chip.dispatch, chip.l1_bank_count) == (dispatch, bank_count)


@pytest.mark.parametrize(
    ("name", "dispatch", "capacity_bytes"),
    [
        ("n150", None, 89_171_968),
        ("n300", None, 89_171_968),
        ("n300", TENSIX, 78_025_472),
        ("galaxy", None, 100_318_464),
        ("p150", None, 160_723_200),
        ("p300", None, 160_723_200),
    ],
)
def test_the_wheel_has_that_much_l1(name: str, dispatch: DispatchCores | None, capacity_bytes: int) -> None:
    assert board(name).chip(dispatch=dispatch).capacity_bytes(Pool.L1) == capacity_bytes


@pytest.mark.parametrize(
    ("name", "l1_bytes", "dram_bytes"),
    [
        ("n150", 89_182_208, 12_849_278_208),
        ("n300", 78_034_432, 12_849_278_208),
        ("galaxy", 100_329_984, 12_849_278_208),
        ("p100", 160_737_280, 29_906_389_632),
        ("p150", 160_737_280, 34_178_731_008),
        ("bh-galaxy", 175_349_760, 34_178_731_008),
    ],
)
def test_the_source_build_has_that_much_l1_and_dram(name: str, l1_bytes: int, dram_bytes: int) -> None:
    chip = board(name).chip(dispatch=TENSIX, silicon=board(name).architecture("source"))

    assert (chip.capacity_bytes(Pool.L1), chip.capacity_bytes(Pool.DRAM)) == (l1_bytes, dram_bytes)


@pytest.mark.parametrize(
    ("name", "bank_count", "bank_bytes"),
    [("n150", 12, 1_072_693_184), ("p100", 7, 4_277_141_376), ("p150", 8, 4_277_141_376)],
)
def test_the_wheel_has_that_many_dram_banks(name: str, bank_count: int, bank_bytes: int) -> None:
    chip = board(name).chip()

    assert (chip.dram_bank_count, chip.dram_bank_bytes) == (bank_count, bank_bytes)


@pytest.mark.parametrize(
    ("name", "trace_region_bytes", "trace_bank_bytes"),
    [("n150", 0, 0), ("n150", 1, 8_192), ("n150", 12_345, 8_192), ("n150", 100_001, 16_384), ("n150", 1 << 20, 90_112),
     ("n150", 50_000_000, 4_169_728), ("p150", 1 << 20, 131_072), ("p150", 100_001, 16_384)],
)  # fmt: skip
def test_every_dram_bank_gives_its_share_of_the_trace_region(
    name: str, trace_region_bytes: int, trace_bank_bytes: int
) -> None:
    plain, chip = board(name).chip(), board(name).chip(trace_region_bytes=trace_region_bytes)

    assert chip.trace_bank_bytes == trace_bank_bytes
    assert chip.capacity_bytes(Pool.TRACE) == trace_bank_bytes * chip.dram_bank_count
    assert chip.dram_bank_bytes + trace_bank_bytes == plain.dram_bank_bytes


@pytest.mark.parametrize(
    ("name", "l1_small_bytes", "bank_bytes"),
    [
        ("n150", 0, 0),
        ("n150", 1, 32),
        ("n150", 1_000, 1_024),
        ("n150", 32_769, 32_800),
        ("p150", 1, 64),
        ("p150", 32_769, 32_832),
    ],
)
def test_l1_small_is_the_top_slice_of_every_core(name: str, l1_small_bytes: int, bank_bytes: int) -> None:
    plain, chip = board(name).chip(), board(name).chip(l1_small_bytes=l1_small_bytes)

    assert chip.l1_small_bank_bytes == bank_bytes
    assert chip.capacity_bytes(Pool.L1_SMALL) == bank_bytes * chip.l1_bank_count
    assert chip.l1_bank_bytes + bank_bytes == plain.l1_bank_bytes


@pytest.mark.parametrize("pool", [Pool.CB, Pool.KERNEL, Pool.ETH, Pool.DISPATCH, Pool.HOST, Pool.UNKNOWN])
def test_what_has_no_banks_has_no_capacity(pool: Pool) -> None:
    assert board("p150").chip().capacity_bytes(pool) == 0


@pytest.mark.parametrize(
    ("name", "router_counts"),
    [
        ("n150", {0}),
        ("n300", {2}),
        ("t3000", {4, 6}),
        ("galaxy", {8, 12, 16}),
        ("p100", {0}),
        ("p150", {0}),
        ("p300", {2}),
        ("bh-galaxy", {8}),
    ],
)
def test_a_chip_is_wired_to_its_neighbours(name: str, router_counts: set[int]) -> None:
    assert {chip.router_count for chip in board(name).chips()} == router_counts


def test_corners_of_a_galaxy_have_the_fewest_links_and_its_middle_the_most() -> None:
    links = [chip.router_count for chip in board("galaxy").chips()]

    assert [links[0], links[1], links[4], links[5], links[31]] == [8, 12, 12, 16, 8]


@pytest.mark.parametrize(("name", "count"), [("n150", 16), ("p100", 0), ("p150", 12), ("bh-galaxy", 12)])
def test_harvested_ethernet_cores_are_not_counted(name: str, count: int) -> None:
    assert board(name).chip().ethernet_core_count == count


def test_a_galaxy_has_more_ethernet_memory_for_programs() -> None:
    plain, galaxy = board("n150").chip().architecture, board("galaxy").chip().architecture

    assert plain.ethernet_unreserved_end - plain.ethernet_unreserved_base == 154_624
    assert galaxy.ethernet_unreserved_end - galaxy.ethernet_unreserved_base == 183_296


def test_every_chip_of_every_board_has_an_id_of_its_own() -> None:
    ids = [chip.unique_id for name in BOARDS for chip in board(name).chips()]

    assert len(set(ids)) == len(ids)
    assert 0 not in ids


def test_the_same_chip_has_the_same_id_however_it_is_opened() -> None:
    assert board("n300").chip(1, dispatch=SLOW, l1_small_bytes=64).unique_id == board("n300").chips()[1].unique_id


def test_chips_are_numbered_and_an_index_beyond_the_board_is_another_board() -> None:
    kind = board("n300")

    assert [chip.index for chip in kind.chips()] == [0, 1]
    assert kind.chip(3).index == 3
    assert kind.chip(3).unique_id not in {chip.unique_id for chip in kind.chips()}
    assert kind.chip(3).router_count == kind.chip(1).router_count


@pytest.mark.parametrize("index", [-1, 1 << 12])
def test_a_chip_with_an_impossible_number_is_refused(index: int) -> None:
    with pytest.raises(UnknownHardware, match=f"n150: no chip {index}; they are numbered from 0 to 4095"):
        board("n150").chip(index)


def test_a_chip_can_be_tracked() -> None:
    chip: TrackedChip = board("p150").chip()

    assert (chip.arch, chip.board, chip.grid, chip.kernel_ring_bytes) == ("blackhole", "p150", (11, 10), 70_656)
    assert (chip.dram_bank_count, chip.l1_bank_count) == (8, 110)


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("T3000", "t3000"),
        ("T3K", "t3000"),
        ("WH Galaxy", "galaxy"),
        ("BH Galaxy", "bh-galaxy"),
        ("bh_galaxy", "bh-galaxy"),
        ("N150", "n150"),
    ],
)
def test_a_board_is_found_however_it_is_spelled(spelling: str, name: str) -> None:
    assert board(spelling).name == name


def test_a_board_that_does_not_exist_is_refused_with_those_that_do() -> None:
    with pytest.raises(UnknownHardware, match="no board 'e75'; there are n150, n300"):
        board("e75")


def test_a_board_without_ethernet_cores_cannot_dispatch_with_them() -> None:
    with pytest.raises(UnknownHardware, match="p100 has no ethernet cores"):
        board("p100").chip(dispatch=ETHERNET)


@pytest.mark.parametrize("l1_small_bytes", [-1_000, 1_393_313])
def test_an_l1_small_that_is_no_part_of_l1_is_refused(l1_small_bytes: int) -> None:
    with pytest.raises(UnknownHardware, match="L1_SMALL"):
        board("n150").chip(l1_small_bytes=l1_small_bytes)


@pytest.mark.parametrize("trace_region_bytes", [-1, 12 << 30])
def test_a_trace_region_that_is_no_part_of_dram_is_refused(trace_region_bytes: int) -> None:
    with pytest.raises(UnknownHardware, match="trace region"):
        board("n150").chip(trace_region_bytes=trace_region_bytes)


def test_all_of_l1_may_be_l1_small() -> None:
    chip = board("n150").chip(l1_small_bytes=1_393_312)

    assert (chip.l1_bank_bytes, chip.l1_small_bank_bytes) == (0, 1_393_312)


def test_a_chip_may_have_another_share_of_l1_for_its_ring() -> None:
    silicon = architecture("wormhole_b0").with_worker_l1(1_400_000)

    chip: Chip = board("n150").chip(silicon=silicon)

    assert (chip.kernel_ring_bytes, chip.l1_bank_bytes) == (63_968, 1_400_000)


@pytest.mark.parametrize("name", REAL_BOARDS)
def test_the_ring_costs_what_it_costs_on_every_compute_core(name: str) -> None:
    chip = board(name).chip(dispatch=TENSIX)

    mebibytes = chip.kernel_ring_bytes * chip.l1_bank_count / (1 << 20)

    expected = {64: 4.31, 56: 3.77, 72: 4.85, 110: 7.41, 120: 8.09}
    assert round(mebibytes, 2) == expected[chip.l1_bank_count]
