"""The few lines that `ttmem run` leaves behind: peaks, what is left, what was refused."""

import re
from typing import Any

import pytest

from tests.support.simulated.figures import MIB, NOON_NS, a_busy_snapshot, a_device, a_process, a_snapshot
from ttmem.devices import Kind
from ttmem.snapshot.values import replace
from ttmem.view import plain
from ttmem.view.pages.summary import summary
from ttmem.view.texts import label_text


def told(refusals: int = 0, **tables: Any) -> str:
    devices = [a_device(0, index=0), a_device(1, index=1)]
    process = a_process(1, refusals=refusals)
    return plain(summary(a_snapshot(devices=devices, processes=[process], **tables).processes))


def refused(count: int, *, chips: int = 1) -> list[tuple[int, ...]]:
    rows = ((chip, time) for time in range(count) for chip in range(chips))
    return [(1, chip, 2, 4 * MIB, 3 * MIB, 1 * MIB, NOON_NS + time) for chip, time in rows]


def test_a_refusal_on_a_mesh_was_one() -> None:
    assert "ran out of memory once; last device 0-1 l1: asked 4.00 MiB" in told(1, out_of_memory=refused(1, chips=2))
    assert "ran out of memory 3 times; last device 0-1 " in told(3, out_of_memory=refused(3, chips=2))


def test_all_refusals_count_though_only_the_newest_are_listed() -> None:
    assert "ran out of memory 1,234 times;" in told(1234, out_of_memory=refused(8, chips=2))


def test_a_refusal_of_which_no_record_is_left_is_counted_all_the_same() -> None:
    assert "ran out of memory 3 times; what was asked for is not known any more" in told(3)


def test_every_process_has_its_peaks_its_phases_and_what_it_left() -> None:
    page = plain(summary([replace(process, state="ended") for process in a_busy_snapshot().processes]))

    assert "still runs" not in page
    assert re.search(r"0-1 +dram +6\.00 GiB .* 6\.00 GiB never freed", page)
    assert re.search(r"phase decode +0 +l1 +84\.0 MiB .* 17 runs", page)
    assert re.search(r"0 +kernel fabric +1 +~249 KiB", page)
    assert "had circular buffers refused once" in page


def test_who_outlives_the_program_holds_now_what_it_may_free_yet() -> None:
    [first, second, *_] = a_busy_snapshot().processes
    page = plain(summary([first, replace(second, state="ended")]))

    assert re.search(r"0-1 +dram +6\.00 GiB .* 6\.00 GiB held now", page)
    assert page.count("still runs; its figures are those of now") == 1
    assert f" pid {first.pid} (" in page


def test_a_program_without_binaries_in_dram_left_nothing() -> None:
    def left(used_bytes: int) -> str:
        return told(process_kinds=[(1, 0, Kind.PROGRAM_BINARY, used_bytes, 3, 0)])

    assert "STILL ALIVE" not in left(0)
    assert re.search(r" 0 +program binary +3 +2\.00 KiB", left(2048))


def test_a_peak_has_its_share_of_the_chip() -> None:
    snapshot = a_busy_snapshot()
    page = plain(summary(snapshot.processes, [usage.device for usage in snapshot.devices]))

    assert re.search(r"0-1 +dram +6\.00 GiB +50% of 12\.0 GiB ", page)
    assert re.search(r"OF A CHIP", page)


def test_phases_stand_in_the_order_of_their_peaks() -> None:
    first = next(process for process in a_busy_snapshot().processes if process.phases)
    one = first.phases[0]
    later, earlier = replace(one, name="a later one", time_ns=2), replace(one, name="b first", time_ns=1)
    page = plain(summary([replace(first, phases=(later, earlier))]))

    assert page.index("phase b first") < page.index("phase a later one")


@pytest.mark.parametrize(
    ("label", "shown"),
    [
        ("/opt/venv/bin/python /srv/models/llama.py --batch 32", "python llama.py --batch 32"),
        ("python /srv/models/llama.py", "python llama.py"),
        ("/usr/bin/env -i /bin/true", "env -i /bin/true"),
        ("my job", "my job"),
        ("a/b run", "a/b run"),
        ("", ""),
    ],
)
def test_a_command_is_shown_without_the_directories_of_its_program(label: str, shown: str) -> None:
    assert label_text(label) == shown
