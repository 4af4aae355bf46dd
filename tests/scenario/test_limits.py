"""Full tables, full disks, closed devices: hosts never notice, counters stay right, lists say what they lack."""

from pathlib import Path

import pytest

from tests.support.journals.watching import Watch
from tests.support.processes.children import Actor, Writer
from tests.support.processes.native_programs import NativePrograms
from tests.support.processes.permitted import needs_mounts
from ttmem.view.page import PageOptions
from ttmem.view.pages.ps import page

CHIP = 0x1A2B
BY_HANDLE = 2
TABLE = 64
IMPORTS = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
from pathlib import Path
from tests.support.processes.permitted import needs_mounts
from tests.support.journals.watching import Watch
"""


def on_a_disk_of(megabytes: int) -> tuple[str, ...]:
    """What follows is where the small file system goes, and the program."""
    mount = f'mount -t tmpfs -o size={megabytes}m small "$0" && exec "$@"'
    return "unshare", "--mount", "sh", "-c", mount


ON_A_SMALL_DISK = on_a_disk_of(2)


def fill(writer: Writer, count: int, options: int = 0) -> list[int]:
    """Allocates ids 1 to count, of 1001, 1002, ... bytes; their handles."""
    chip = writer.ask(f"open {CHIP}")
    return [writer.ask(f"alloc {chip} {number} {1000 + number} {options}") for number in range(1, count + 1)]


def total(numbers: range) -> int:
    return sum(1000 + number for number in numbers)


@pytest.mark.parametrize("options", [0, BY_HANDLE])
def test_a_full_table_is_said_so_and_the_total_stays_exact(
    programs: NativePrograms, journals: Path, watch: Watch, options: int
) -> None:
    with Writer(programs, journals, TTMEM_TABLE=str(TABLE)) as writer:
        fill(writer, 200, options)
        row = watch.process(writer.pid)

        assert (row["complete"], row["reason"], row["origin"]) == (False, "table_full", "counter")
        assert (row["untabled"], row["live_count"]) == (200 - TABLE, TABLE)
        assert watch.process_used(row["key"], CHIP) == total(range(1, 201))


def test_a_size_below_zero_is_the_usual_one(programs: NativePrograms, journals: Path) -> None:
    """And not the largest, as which a library would read it."""
    sizes = []
    for ring, table in (("", ""), ("-5", "-1")):
        with Writer(programs, journals, TTMEM_RING=ring, TTMEM_TABLE=table) as writer:
            writer.ask(f"open {CHIP}")
            [journal] = journals.glob(f"{writer.pid}-*.journal")
            sizes.append(journal.stat().st_size)

    assert sizes[0] == sizes[1]


def test_sized_frees_by_id_keep_the_total_exact_when_the_table_is_full(
    programs: NativePrograms, journals: Path, watch: Watch
) -> None:
    with Writer(programs, journals, TTMEM_TABLE=str(TABLE)) as writer:
        fill(writer, 200)
        chip = writer.ask(f"open {CHIP}")
        for number in range(50, 151):
            writer.ask(f"free_id {chip} {number} {1000 + number}")
        row = watch.process(writer.pid)

        assert row["findings"] == {}
        assert watch.process_used(row["key"], CHIP) == total(range(1, 50)) + total(range(151, 201))
        assert watch.device_used(CHIP) == watch.process_used(row["key"], CHIP)


def test_frees_by_handle_keep_the_total_exact_when_the_table_is_full(
    programs: NativePrograms, journals: Path, watch: Watch
) -> None:
    with Writer(programs, journals, TTMEM_TABLE=str(TABLE)) as writer:
        handles = fill(writer, 200, BY_HANDLE)
        for handle in handles[49:150]:
            writer.ask(f"free {handle}")
        row = watch.process(writer.pid)

        assert row["findings"] == {}
        assert watch.process_used(row["key"], CHIP) == total(range(1, 50)) + total(range(151, 201))


def test_a_free_without_a_size_is_a_finding_when_the_table_is_full(
    programs: NativePrograms, journals: Path, watch: Watch
) -> None:
    with Writer(programs, journals, TTMEM_TABLE=str(TABLE)) as writer:
        fill(writer, 200)
        writer.ask(f"free_id {writer.ask(f'open {CHIP}')} 200 0")
        row = watch.process(writer.pid)

        assert row["findings"] == {"unsized_free": 1}
        assert watch.process_used(row["key"], CHIP) == total(range(1, 201))


def test_a_process_with_a_full_table_gives_everything_back_when_it_dies(
    programs: NativePrograms, journals: Path, watch: Watch
) -> None:
    with Writer(programs, journals, TTMEM_TABLE=str(TABLE)) as writer:
        fill(writer, 200)
        watch.process(writer.pid)
        writer.kill()
        row = watch.ended(writer.pid)

        assert (row["complete"], row["reason"]) == (False, "table_full")
        assert watch.process_used(row["key"], CHIP) == total(range(1, 201))
        assert watch.device_used(CHIP) == 0


def test_closing_a_device_ends_all_that_was_alive_on_it_and_later_frees_are_no_finding(
    programs: NativePrograms, journals: Path, watch: Watch
) -> None:
    with Writer(programs, journals) as writer:
        handles = fill(writer, 100)
        chip, other = writer.ask(f"open {CHIP}"), writer.ask("open 2")
        writer.ask(f"alloc {other} 1 77")
        watch.process(writer.pid)
        writer.ask(f"close {chip}")
        for number, handle in enumerate(handles, 1):
            writer.ask(f"free {handle}" if number % 2 else f"free_id {chip} {number} {1000 + number}")
        rows = watch.come_to_rest()
        [row] = rows["processes"]

        assert (row["findings"], row["live_count"]) == ({}, 1)
        assert (watch.device_used(CHIP), watch.device_used(2)) == (0, 77)
        assert [device["open_count"] for device in rows["devices"]] == [0, 1]


@pytest.mark.parametrize("comes_late", [True, False])
def test_a_device_opened_again_after_it_was_closed_starts_at_zero(
    programs: NativePrograms, journals: Path, watch: Watch, comes_late: bool
) -> None:
    with Writer(programs, journals, TTMEM_RING="16" if comes_late else "65536") as writer:
        fill(writer, 100)
        writer.ask(f"close {writer.ask(f'open {CHIP}')}")
        chip = writer.ask(f"open {CHIP}")
        writer.ask(f"alloc {chip} 1 55")
        row = watch.process(writer.pid)

        assert (row["complete"], row["live_count"]) == (True, 1)
        assert watch.device_used(CHIP) == 55


def complaints_of(actor: Actor) -> list[str]:
    """What it says on standard error after some reports, once it has ended by itself."""
    actor.do(f"import ttmem; chip = ttmem.open_device({CHIP}); handle = ttmem.report_buffer_alloc(chip, 7, 4096)")
    actor.do("ttmem.report_free(handle); ttmem.label('x'); ttmem.report_launch(chip, 1)")
    assert actor.ask("6 * 7") == 42
    return actor.end().splitlines()


def test_without_a_writable_directory_the_program_runs_on_with_one_warning(journals: Path) -> None:
    (journals / "a file").touch()
    with Actor(journals / "a file" / "inside") as actor:
        [warning] = complaints_of(actor)

        assert warning.startswith("ttmem: ")
        assert str(journals / "a file" / "inside") in warning
        assert "untracked" in warning


@needs_mounts
def test_a_full_disk_refuses_tracking_with_one_warning_and_leaves_the_program_alone(journals: Path) -> None:
    with Actor(journals, prefix=(*ON_A_SMALL_DISK, str(journals))) as actor:
        [warning] = complaints_of(actor)

        assert "no room for a journal" in warning
        assert list(journals.iterdir()) == []


def test_a_limit_on_file_sizes_refuses_tracking_and_ends_no_process(programs: NativePrograms, journals: Path) -> None:
    """A program that does not ignore the signal for it, as Python does, would be killed by a file too large."""
    limited = ("sh", "-c", 'ulimit -f 2048 && exec "$@"', "sh")  # blocks of 512 bytes: less than a journal
    with Writer(programs, journals, prefix=limited) as writer:
        assert writer.ask(f"open {CHIP}") == 0  # no target: it runs on untracked
        assert list(journals.glob("*.journal")) == []


@needs_mounts
def test_a_disk_with_room_for_one_journal_refuses_the_second_and_the_first_goes_on(
    journals: Path, tmp_path: Path
) -> None:
    small = {"TTMEM_TABLE": "64", "TTMEM_RING": "16"}
    with Actor(journals, prefix=(*ON_A_SMALL_DISK, str(journals)), **small) as actor:
        actor.do(f"import ttmem; chip = ttmem.open_device({CHIP}); ttmem.report_buffer_alloc(chip, 1, 4096)")
        child = actor.fork(tmp_path / "child")
        child.do("for number in range(100): ttmem.report_buffer_alloc(chip, number, 100)")
        actor.do("ttmem.report_buffer_alloc(chip, 2, 4)")
        actor.do(IMPORTS + "watch = Watch(Path(os.environ['TTMEM_DIR']))")
        rows = actor.ask("watch.come_to_rest()['processes']")

        assert [(row["pid"], row["live_count"]) for row in rows] == [(actor.pid, 2)]
        assert actor.ask(f"watch.device_used({CHIP})") == 4100
        assert len(actor.end().splitlines()) == 1


def test_a_picture_without_all_devices_of_a_process_is_not_complete(
    programs: NativePrograms, journals: Path, watch: Watch
) -> None:
    with Writer(programs, journals) as writer:
        chips = [writer.ask(f"open {CHIP + at}") for at in range(300)]
        for number, chip in enumerate(chips):
            writer.ask(f"alloc {chip} {number} 4096 0")
        row = watch.process(writer.pid)
        snapshot, overview = watch.collector.snapshot(), watch.collector.overview()

        assert (row["complete"], row["reason"]) == (False, "targets_lost")
        assert (snapshot.reason, overview.reason) == ("targets_lost", "targets_lost")
        assert "incomplete: targets_lost" in "".join(
            span.text for line in page(snapshot, PageOptions(width=100)) for span in line
        )
        assert row["findings"]["targets_lost"] == 300 - 255


@needs_mounts
@pytest.mark.parametrize(
    ("megabytes", "settings", "slots"),
    [
        (32, {"TTMEM_RING_WISH": "262144"}, 1 << 18),
        (12, {"TTMEM_RING_WISH": "262144"}, 1 << 17),
        (4, {"TTMEM_RING_WISH": "262144"}, 1 << 15),
        (2, {"TTMEM_RING_WISH": "262144"}, 0),
        (12, {"TTMEM_RING_WISH": "262144", "TTMEM_RING": "262144"}, 0),
        (4, {"TTMEM_RING_WISH": "262144", "TTMEM_RING": "16"}, 16),
    ],
)
def test_a_ring_that_is_wished_for_is_as_large_as_there_is_room(
    journals: Path, megabytes: int, settings: dict[str, str], slots: int
) -> None:
    with Actor(journals, prefix=(*on_a_disk_of(megabytes), str(journals)), TTMEM_TABLE="64", **settings) as actor:
        actor.do(f"import os, ttmem; from pathlib import Path; chip = ttmem.open_device({CHIP})")
        actor.do("from ttmem.events import STRUCTS; field = STRUCTS['Identity'].fields['ring_slots']")
        actor.do("[*found] = Path(os.environ['TTMEM_DIR']).glob('*.journal')")
        read = "[int.from_bytes(one.read_bytes()[field.offset_bytes:][:field.size_bytes], 'little') for one in found]"
        assert actor.ask(read) == ([slots] if slots else [])
        said = actor.end().splitlines()

    is_smaller = 16 < slots < 1 << 18
    assert len(said) == (slots == 0 or is_smaller)
    if is_smaller:
        assert f"no room for a journal with 262144 events; this one has {slots}" in said[0]
    elif slots == 0:
        assert "untracked" in said[0]
