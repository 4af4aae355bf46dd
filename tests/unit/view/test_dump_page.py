"""The page of `ttmem dump`: totals, then lists, each with what is needed and no more."""

import re
from typing import Any

import pytest

from tests.support.simulated.figures import (
    MIB,
    NOON_NS,
    a_device,
    a_dump,
    a_process,
    a_row,
    a_server_snapshot,
    a_snapshot,
    an_incident,
)
from ttmem.collector.rows.allocations import dump_of
from ttmem.devices import Kind
from ttmem.snapshot import Finding
from ttmem.snapshot.dump import Dump
from ttmem.view import plain
from ttmem.view.page import PageOptions
from ttmem.view.pages.dump import dump_page


def text_of(dump: Dump, **options: object) -> str:
    return plain(dump_page(dump, PageOptions(**options)))  # type: ignore[arg-type]


def a_mesh(chip_count: int) -> Dump:
    """One buffer that lies on every chip."""
    snapshot = a_snapshot(
        devices=[a_device(chip) for chip in range(chip_count)],
        device_pools=[(chip, 0, MIB, MIB, 1, MIB, NOON_NS, NOON_NS, False) for chip in range(chip_count)],
        processes=[a_process(1)],
    )
    return dump_of(snapshot, {1: [a_row(MIB, chips=tuple(range(chip_count)))]})


@pytest.mark.parametrize("width", [80, 100, 120])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    lines = dump_page(a_dump(), PageOptions(width=width))

    assert max(sum(span.width for span in line) for line in lines) <= width


def test_totals_come_first_by_device_and_type() -> None:
    text = text_of(a_dump())

    assert re.search(
        r"\n 0 n300 +dram +40 +9\.00 GiB\n +l1 +12 +81\.0 MiB\n +cb +6 +6\.00 MiB +2\.00 MiB +planned\n", text
    )
    assert re.search(r"\n +application kernels +2 +896 KiB +planned\n", text)


def test_a_list_tells_size_place_layout_age_and_owner() -> None:
    assert re.search(
        r" 1\.00 GiB +0x10 +0x2001 +buffer, interleaved +2\.00 KiB +1 min +4001 +ada +job-1\n", text_of(a_dump())
    )


def test_a_buffer_by_core_names_its_cores_and_where_they_have_it() -> None:
    snapshot = a_snapshot(
        devices=[a_device(0)],
        device_pools=[(0, 2, 7 << 15, 7 << 15, 1, 7 << 15, NOON_NS, NOON_NS, False)],
        processes=[a_process(1)],
    )
    parts = ((0x100000, 4, "0,0-3,0"), (0xF0000, 3, "4,0-6,0"))
    row = a_row(7 << 15, pool=2, address=0x100000, per_bank=1 << 15, count=7, parts=parts)

    text = text_of(dump_of(snapshot, {1: [row]}), width=None)

    assert re.search(r" 224 KiB +0x7 +0x100000 +7 x 32\.0 KiB: 0,0-3,0; 4,0-6,0 at 0xf0000 ", text)


def with_lines(**options: object) -> str:
    """Tensors of two lines, and a program's binaries."""
    stack = "/app/model.py:118 attention\n/app/run.py:7 main"
    made: dict[str, Any] = {
        "name": stack,
        "tensor": "1x1x32x14336 bfloat16 tile",
        "layout": 4,
        "operation": "ttnn.matmul",
    }
    rows = [a_row(3 * MIB, 1, **made), a_row(2 * MIB, 2, **made), a_row(MIB, 3, kind=Kind.PROGRAM_BINARY)]
    snapshot = a_snapshot(
        devices=[a_device(0)],
        device_pools=[(0, 0, 6 * MIB, 6 * MIB, 3, 6 * MIB, NOON_NS, NOON_NS, False)],
        processes=[
            a_process(1, incidents=[an_incident(devices=(0,), is_mesh=False)], incident_count=1),
            a_process(2, sites_off="CPython 3.14 is not known"),
        ],
    )
    by = options.pop("by", "")
    return text_of(dump_of(snapshot, {1: rows}, by=by), **options)  # type: ignore[arg-type]


def test_a_tensor_is_told_by_shape_type_and_layout_and_who_asked() -> None:
    wide, narrow = with_lines(width=160), with_lines(width=80)

    assert re.search(
        r" 3\.00 MiB +0x1 .*1x1x32x14336 bfloat16, width sharded .*ttnn\.matmul +model\.py:118 attention ", wide
    )
    assert re.search(r" 1\.00 MiB .* program binary ", wide)
    assert re.search(r" 3\.00 MiB +1x1x32x14336 bfloat16, … +model\.py:118 attention +1 min +4001\n", narrow)


def test_sums_name_the_line_and_its_caller_and_fold_the_rest() -> None:
    text = with_lines(width=80, by="site")

    assert re.search(r"SIZE +ALIVE +MADE BY\n +5\.00 MiB +2 +model\.py:118 attention < run\.py:7 main\n", text)
    assert re.search(r" 1\.00 MiB +1 +program binary\n", text)
    assert re.search(r"OPERATION\n +5\.00 MiB +2 +ttnn\.matmul\n", with_lines(by="operation"))
    assert re.search(r"PHASE\n +6\.00 MiB +3 +no phase is open\n", with_lines(by="phase"))


def test_incidents_stand_above_the_totals_and_missing_lines_are_explained() -> None:
    text = with_lines(width=120)

    assert text.index("INCIDENTS 1") < text.index("DEVICE ")
    assert re.search(r"OUT OF MEMORY  chip 0  pid 4001-1  asked 512 KiB/core of L1  model\.py:118 forward", text)
    assert "pid 4002 job-2: no lines: CPython 3.14 is not known, see ttmem doctor" in text


def test_a_cut_list_says_how_many_are_missing() -> None:
    assert "   ... 33 more, 3.00 GiB (--all)\n" in text_of(a_dump())


def test_holders_are_shown_where_there_are_several() -> None:
    text = text_of(a_dump())

    assert text.count("HOLDERS ") == 1
    assert re.search(r" 3\.00 MiB +0x3 +3 +1 min", text)


@pytest.mark.parametrize(("threads", "is_shown"), [((4001, 4002), True), ((4001, 4001), False), ((4001, 0), False)])
def test_threads_are_shown_where_a_process_has_several(threads: tuple[int, int], is_shown: bool) -> None:
    snapshot = a_snapshot(
        devices=[a_device(0)],
        device_pools=[(0, 0, 2 * MIB, 2 * MIB, 2, MIB, NOON_NS, NOON_NS, False)],
        processes=[a_process(1)],
    )
    rows = [a_row(MIB, identity, thread=thread) for identity, thread in enumerate(threads)]
    text = text_of(dump_of(snapshot, {1: rows}))

    assert ("THREAD" in text, "4002" in text) == (is_shown, is_shown)
    assert "THREAD" not in text_of(dump_of(snapshot, {1: rows}), width=80)


def test_views_and_estimates_are_marked() -> None:
    text = text_of(a_dump())

    assert re.search(r"\n +view +0x2f00 ", text)
    assert re.search(r"\n +~249 KiB +0x3 ", text)
    assert re.search(r"\n +fabric kernels +1 +~249 KiB +planned\n", text)


def test_chips_on_which_the_same_is_alive_share_a_list_on_a_terminal() -> None:
    assert text_of(a_mesh(4), width=80).count(" 0-3 n300") == 2
    assert text_of(a_mesh(4)).count(" 3 n300") == 2


def test_a_list_that_is_not_whole_says_so() -> None:
    text = text_of(a_dump())

    assert "lists are not whole" in text
    assert "! pid 4002 a server with a rather long name: reports faster" in text


def test_nothing_alive_is_said() -> None:
    assert "nothing is alive · complete" in text_of(dump_of(a_snapshot(processes=[a_process()]), {}))
    assert "nothing is alive among kernels" in text_of(dump_of(a_snapshot(processes=[a_process()]), {}, kernels=True))


def test_what_was_passed_over_is_told() -> None:
    finding = Finding("daemon_ignored", 1, path="/x/daemon.sock", text="hangs")

    assert "! /x/daemon.sock: hangs" in text_of(dump_of(a_snapshot(findings=(finding,), processes=[a_process()]), {}))


def test_seeds_go_by_their_names() -> None:
    assert "\n server:1-2 " in text_of(dump_of(a_server_snapshot(), {}), width=80)


def test_a_label_cannot_command_the_terminal() -> None:
    snapshot = a_snapshot(
        devices=[a_device()],
        device_pools=[(0, 0, 1, 1, 1, 1, NOON_NS, NOON_NS, False)],
        processes=[a_process(1, label="\x1b[2Jgone")],
    )

    assert "\x1b" not in text_of(dump_of(snapshot, {1: [a_row(1)]}))
