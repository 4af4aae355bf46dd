"""The kernels of a chip: every figure in its column, in the order that was chosen, never wider than the screen."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.simulated.chip_views import a_kernel_row, a_kernel_table, kernel_tables
from tests.support.simulated.figures import MIB
from ttmem.monitor.parts.drawing import DrawArea, MonitorFrame
from ttmem.monitor.screens import kernels
from ttmem.monitor.screens.kernels import COLUMNS, SORTS, KernelsState
from ttmem.snapshot.kernel_table import KernelTable
from ttmem.view.table import plain

SIZES = (DrawArea(80, 22), DrawArea(120, 38), DrawArea(200, 58))
areas = st.builds(DrawArea, st.integers(1, 220), st.integers(0, 60), is_ascii=st.booleans())


def drawn(table: KernelTable, area: DrawArea, state: KernelsState | None = None) -> str:
    return plain(list(kernels.draw(MonitorFrame(kernels=table), area, state or KernelsState()).lines))


@settings(max_examples=25, deadline=None)
@given(table=kernel_tables(), area=areas, sort=st.sampled_from(SORTS), is_inverted=st.booleans())
def test_a_table_is_never_larger_than_the_screen(
    table: KernelTable, area: DrawArea, sort: str, is_inverted: bool
) -> None:
    drawing = kernels.draw(MonitorFrame(kernels=table), area, KernelsState(sort=sort, is_inverted=is_inverted))

    assert len(drawing.lines) <= area.height
    assert all(sum(span.width for span in line) <= area.width for line in drawing.lines)
    if area.is_ascii:
        assert plain(list(drawing.lines)).isascii()


@pytest.mark.parametrize("area", SIZES)
def test_every_size_shows_all_of_a_kernel(area: DrawArea) -> None:
    row = a_kernel_row(3, name="writer", exact_bytes=5 * MIB, binary_times_cores_bytes=6 * MIB, launch_count=1_234)
    [line] = [line for line in drawn(a_kernel_table(rows=(row,)), area).splitlines() if "writer" in line]

    for words in ("10", "app", "owner", "2.00K", "64", "5.00M", "6.00M", "1,234", "1,233"):
        assert words in line.split() or words in line
    assert "sent" in line or "committed" in line
    text = drawn(a_kernel_table(rows=(row,), reason="table_full", more_count=1_234_567), area)
    assert "..." not in text
    assert "…" not in text


def test_what_is_not_known_is_not_0() -> None:
    row = a_kernel_row(0, program=None, exact_bytes=None, status=None, launch_count=None)

    [line] = [line for line in drawn(a_kernel_table(rows=(row,)), SIZES[2]).splitlines() if "reader_0" in line]

    assert line.count("[N/A]") == 5  # program, exact bytes, status, launches, hits


def test_ring_and_caches_stand_below() -> None:
    text = drawn(a_kernel_table(), SIZES[0])

    assert "KERNEL RING" in text
    assert "24.0 KiB" in text


@settings(max_examples=20, deadline=None)
@given(table=kernel_tables(), sort=st.sampled_from(SORTS))
def test_inverting_turns_the_order_round(table: KernelTable, sort: str) -> None:
    column = next(column for column in COLUMNS if column.name == sort)
    keys = [column.key(row) for row in kernels.in_order(table.rows, KernelsState(sort=sort))]
    turned = [column.key(row) for row in kernels.in_order(table.rows, KernelsState(sort=sort, is_inverted=True))]

    assert keys == sorted(keys, reverse=column.is_descending)
    assert turned == keys[::-1]


def test_keys_sort_and_scroll() -> None:
    frame = MonitorFrame(kernels=a_kernel_table(200))
    state = kernels.acted("sort:pid", KernelsState(), frame, SIZES[0])
    assert state.sort == "pid"
    assert kernels.acted("sort_next", state, frame, SIZES[0]).sort == SORTS[0]
    assert kernels.acted("sort_invert", state, frame, SIZES[0]).is_inverted
    assert kernels.acted("sort:memory", state, frame, SIZES[0]).sort == "exact"
    end = kernels.acted("end", KernelsState(), frame, SIZES[0])
    assert "reader_0" in drawn(a_kernel_table(200), SIZES[0], end)
    assert "reader_199" in drawn(a_kernel_table(200), SIZES[0])
    assert kernels.acted("home", end, frame, SIZES[0]).first == 0
    still = KernelsState()
    assert kernels.acted("tag", still, frame, SIZES[0]) is still


def test_a_list_that_is_cut_says_so() -> None:
    assert "the 5 largest listed" in drawn(a_kernel_table(more_count=7), SIZES[1])
    assert "12 kernels" in drawn(a_kernel_table(more_count=7), SIZES[1])
