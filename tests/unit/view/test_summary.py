"""The few lines that `ttmem run` leaves behind: peaks, what is left, what was refused."""

import re
from pathlib import Path
from typing import Any

from tests.support.figures import MIB, NOON_NS, a_busy_snapshot, a_device, a_process, a_snapshot
from ttmem.view import plain
from ttmem.view.summary import _REFUSALS_KEPT, summary

LEDGER = Path(__file__).parents[3] / "native" / "src" / "ledger" / "book.cpp"


def told(**tables: Any) -> str:
    devices = [a_device(0, index=0), a_device(1, index=1)]
    return plain(summary(a_snapshot(devices=devices, processes=[a_process(1)], **tables).processes))


def refused(count: int, *, chips: int = 1) -> list[tuple[int, ...]]:
    rows = ((chip, time) for time in range(count) for chip in range(chips))
    return [(1, chip, 2, 4 * MIB, 3 * MIB, 1 * MIB, NOON_NS + time) for chip, time in rows]


def test_a_process_that_held_nothing_leaves_no_line() -> None:
    assert told() == ""


def test_a_refusal_on_a_mesh_was_one() -> None:
    assert "ran out of memory once; last device 0-1 l1: asked 4.00 MiB" in told(out_of_memory=refused(1, chips=2))
    assert "ran out of memory 3 times;" in told(out_of_memory=refused(3, chips=2))


def test_a_list_of_refusals_that_may_have_been_longer_says_so() -> None:
    assert "times or more;" in told(out_of_memory=refused(_REFUSALS_KEPT))
    assert "or more" not in told(out_of_memory=refused(_REFUSALS_KEPT - 1))


def test_the_ledger_keeps_as_many_refusals_as_are_believed_to_be_all() -> None:
    kept = re.search(r"kRefusalsKept = (\d+);", LEDGER.read_text(encoding="utf-8"))

    assert kept is not None
    assert int(kept[1]) == _REFUSALS_KEPT


def test_every_process_has_its_peaks_its_phases_and_what_it_left() -> None:
    page = plain(summary(a_busy_snapshot().processes))

    assert re.search(r"0-1 +dram +6\.00 GiB .* 6\.00 GiB never freed", page)
    assert re.search(r"phase decode +0 +l1 +84\.0 MiB .* 17 runs", page)
    assert re.search(r"0 +kernel fabric +1 +~249 KiB", page)
    assert "had circular buffers refused once" in page
