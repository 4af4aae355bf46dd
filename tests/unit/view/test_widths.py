"""Pages on narrow terminals: no line is wider than the width, whatever numbers and names are on it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.simulated.figures import (
    KIB,
    MIB,
    NOON_NS,
    a_busy_snapshot,
    a_device,
    a_process,
    a_server_snapshot,
    a_snapshot,
)
from tests.support.simulated.read_figures import a_read_snapshot
from ttmem.snapshot import Snapshot
from ttmem.view import Role, Span, plain
from ttmem.view.page import PageOptions
from ttmem.view.pages.ps import page
from ttmem.view.table import fitted

OPERATION = "ttnn.experimental.rotary_embedding_llama_fused_qk"


@pytest.mark.parametrize("width", [80, 100, 112, 120, 200])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    snapshots = (a_busy_snapshot(), a_server_snapshot(), a_read_snapshot())
    lines = [line for made in snapshots for line in page(made, PageOptions(width=width))]

    assert max(sum(span.width for span in line) for line in lines) <= width


def a_galaxy() -> Snapshot:
    """32 chips in three groups of scattered numbers, and everything as wide as it gets: pids, counts, labels."""
    chips = range(32)
    held = {chip: 999 * MIB + chip % 3 for chip in chips}
    keys = {1: "galaxy-70b", 2: "a server with a rather long name"}
    return a_snapshot(
        devices=[a_device(chip, board="bh-galaxy") for chip in chips],
        device_pools=[
            (chip, pool, used, used, 1000, used, NOON_NS, NOON_NS, True)
            for chip, used in held.items()
            for pool in range(10)
        ],
        device_kinds=[(chip, kind, 999 * MIB, 1234, True) for chip in chips for kind in (2, 5, 6, 7, 9)],
        processes=[
            a_process(key, pid=4_194_303 + key, label=label, visible=key == 1, uid=12345678 + key)
            for key, label in keys.items()
        ],
        process_pools=[
            (key, chip, pool, used, used, 1000, used, NOON_NS, False)
            for key in keys
            for chip, used in held.items()
            for pool in range(10)
        ],
        process_kinds=[
            (key, chip, kind, 999 * MIB, 1234, True) for key in keys for chip in chips for kind in (5, 6, 7, 9)
        ],
        device_cores=[(chip, core, 917_504, 1234, True) for chip in chips for core in range(4)],
        footprints=[(1, chip, 999 * MIB + chip % 3, 999 * MIB, 96 * KIB, 999 * KIB, True, False) for chip in chips],
        rings=[(1, chip, core, 48_000, 18_000, 5, 1_234_567, 70_656) for chip in chips for core in (1, 2, 3)],
        stalls=[(1, chip, reason, 1_234_567) for chip in chips for reason in range(1, 5)],
        caches=[
            (1, chip, cache, 1_234_567, 234_567, 0, 0, 1, 34_567, 4 * MIB, 0) for chip in chips for cache in range(1, 5)
        ],
        launches=[(key, chip, 12_345_678 + chip % 3) for key in keys for chip in chips],
        programs=[(1, chip, 123_456, 2, 12_345_678 + chip % 3, 999 * MIB, OPERATION) for chip in chips],
    )


@pytest.mark.parametrize("width", [80, 99, 100, 101, 112, 120])
@pytest.mark.parametrize("is_with_ended", [False, True])
@pytest.mark.parametrize("is_kernels", [False, True])
def test_no_line_about_many_chips_is_wider_than_the_terminal(width: int, is_with_ended: bool, is_kernels: bool) -> None:
    options = PageOptions(width, is_with_ended=is_with_ended, is_kernels=is_kernels, banner="demo: simulated chips")
    lines = page(a_galaxy(), options)

    too_wide = [line for line in lines if sum(span.width for span in line) > width]
    assert plain(too_wide) == ""
    assert "4194304 " in plain(lines)


@given(pid=st.integers(1, 4_194_304), launch_count=st.integers(0, 10**9), width=st.integers(80, 130), data=st.data())
def test_whatever_pid_and_chips_a_row_fits_the_terminal(
    pid: int, launch_count: int, width: int, data: st.DataObject
) -> None:
    chips = data.draw(st.sets(st.integers(0, 31), min_size=1))
    pools = data.draw(st.sets(st.integers(0, 9), min_size=1))
    snapshot = a_snapshot(
        devices=[a_device(chip) for chip in chips],
        device_pools=[(chip, pool, MIB, MIB, 1, MIB, NOON_NS, NOON_NS, False) for chip in chips for pool in pools],
        processes=[a_process(1, pid=pid)],
        process_pools=[(1, chip, pool, MIB, MIB, 1, MIB, NOON_NS, False) for chip in chips for pool in pools],
        launches=[(1, chip, launch_count) for chip in chips],
    )

    lines = page(snapshot, PageOptions(width))

    assert max(sum(span.width for span in line) for line in lines) <= width
    assert f" {pid} " in plain(lines)


@pytest.mark.parametrize("width", range(1, 6))
@pytest.mark.parametrize("is_kernels", [False, True])
def test_a_terminal_of_hardly_a_column_is_no_reason_to_fail(width: int, is_kernels: bool) -> None:
    for made in (a_busy_snapshot(), a_server_snapshot()):
        assert page(made, PageOptions(width=width, is_kernels=is_kernels))


@pytest.mark.parametrize(
    ("width", "text"), [(9, "abc defgh"), (8, "abc d..."), (6, "abc..."), (4, "a..."), (3, "..."), (2, ".."), (0, "")]
)
def test_a_cut_line_keeps_its_roles_and_shows_the_cut(width: int, text: str) -> None:
    line = fitted((Span("abc ", Role.DIM), Span("defgh", Role.HIGH)), width)

    assert "".join(span.text for span in line) == text
    assert line[-1].role is (Role.HIGH if width > 6 else Role.DIM)


def test_wide_characters_are_cut_by_the_columns_they_take() -> None:
    assert fitted((Span("芯片芯片芯片"),), 8) == (Span("芯片..."),)
