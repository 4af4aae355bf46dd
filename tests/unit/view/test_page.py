"""The page of `ttmem ps`: what it must say for each kind of figure."""

import re

from tests.support.simulated.figures import (
    GIB,
    MIB,
    NOON_NS,
    a_busy_snapshot,
    a_device,
    a_process,
    a_server_device,
    a_server_snapshot,
    a_snapshot,
    a_socket_process,
)
from tests.support.simulated.read_figures import CHIP, Canned, a_chip, a_reading, readings_of
from ttmem.collector.runtime_counters import RuntimeCounters
from ttmem.devices import Pool
from ttmem.snapshot import Finding, Foreign, Snapshot
from ttmem.snapshot.values import replace
from ttmem.view import plain
from ttmem.view.page import PageOptions
from ttmem.view.pages.ps import nothing_to_show, page
from ttmem.view.texts import FINDINGS, REASONS


def text_of(snapshot: Snapshot, **options: object) -> str:
    return plain(page(snapshot, PageOptions(**options)))  # type: ignore[arg-type]


def a_mesh(chip_count: int, *, extra_on: int | None = None) -> Snapshot:
    """One process that holds the same on every chip, and perhaps a little more on one."""
    held = {chip: MIB + (chip == extra_on) for chip in range(chip_count)}
    return a_snapshot(
        devices=[a_device(chip) for chip in range(chip_count)],
        device_pools=[(chip, 0, used, used, 1, used, NOON_NS, NOON_NS, False) for chip, used in held.items()],
        processes=[a_process(1)],
        process_pools=[(1, chip, 0, used, used, 1, used, NOON_NS, False) for chip, used in held.items()],
    )


def test_a_mark_that_is_not_on_the_page_is_not_explained() -> None:
    text = text_of(a_busy_snapshot(), is_kernels=True)

    assert "* planned" not in text
    assert "A peak marked" not in text
    assert "A peak marked" in text_of(a_busy_snapshot())


def test_chips_that_hold_the_same_share_a_row_on_a_terminal() -> None:
    text = text_of(a_mesh(32), width=80)

    assert "0-31 n300" in text
    assert "32 alike" in text
    assert len(text.splitlines()) < 15


def test_a_chip_of_which_nothing_is_known_does_not_share_a_row_with_one_that_holds_nothing() -> None:
    chips = [a_chip(a_reading(77, last_update_ns=None), unique_id=CHIP + at) for at in range(2)]
    joined = RuntimeCounters(Canned(), user_of=str).joined(a_snapshot(), readings_of(*chips))
    empty, unknown = joined.devices
    text = text_of(replace(joined, devices=(replace(empty, doubt=""), unknown)), width=80)

    assert re.search(r" 2 +nothing\n", text)
    assert re.search(r" 2! +\[N/A\]\n", text)


def test_counters_that_may_not_be_read_are_told_by_user() -> None:
    foreign = tuple(Foreign(f"/dev/shm/tt_device_{chip}_memory", 1002, "eve", "counters") for chip in range(3))
    text = text_of(a_snapshot(foreign=foreign, processes=[a_process(1)]))

    assert "foreign: eve (uid 1002) has the runtime's counters of 3 chips in /dev/shm that may not be read." in text


def test_a_chip_that_holds_something_else_has_rows_of_its_own() -> None:
    text = text_of(a_mesh(4, extra_on=2), width=80)

    assert " 0-1,3 n300" in text
    assert " 2 n300" in text


def test_in_a_pipe_every_device_has_its_own_rows() -> None:
    text = text_of(a_mesh(32))

    assert all(f"0x{0x0100_0145_1170_3060 + chip:016x}" in text for chip in range(32))


def test_unknown_is_never_shown_as_zero() -> None:
    [row] = [line for line in text_of(a_busy_snapshot()).splitlines() if "l1_small" in line]

    assert row.split()[1:] == [
        "l1_small",
        "no",
        "capacity",
        "64.0",
        "KiB",
        "[N/A]",
        "[N/A]",
        "128",
        "KiB",
        "[N/A]",
        "[N/A]",
    ]


def test_inventories_say_that_they_are_planned() -> None:
    text = text_of(a_busy_snapshot())
    [row] = [line for line in text.splitlines() if " kernel " in line]

    assert "planned" in row
    assert "3 alive" in row
    assert "* planned:" in text


def test_kernels_are_split_by_type_and_estimates_are_marked() -> None:
    text = text_of(a_busy_snapshot())

    assert "896 KiB (2)   ~249 KiB (1)" in text
    assert "~ kernels of unknown exact size" in text
    assert "UNKNOWN" not in text


def test_answers_that_follow_a_plan_are_marked_as_an_estimate() -> None:
    lines = text_of(a_busy_snapshot(), is_kernels=True).splitlines()

    marked = [line.split()[:4] for line in lines if "~" in line and "%" in line]
    assert marked == [["trace", "~1,500", "~500", "~75%"]]
    assert any("~ hits and misses of traces" in line for line in lines)
    assert "~ hits and misses" not in text_of(a_busy_snapshot())


def test_kernels_without_a_type_get_a_column() -> None:
    snapshot = a_snapshot(devices=[a_device()], device_kinds=[(0, 9, MIB, 1, True)], processes=[a_process()])

    assert "UNKNOWN" in text_of(snapshot)


def test_doubts_are_told_in_words() -> None:
    text = text_of(a_busy_snapshot())

    assert "incomplete: outrun" in text
    assert "3 x free of something that was never allocated" in text
    assert "not a journal: it begins with zeros" in text


def test_a_complete_snapshot_says_so() -> None:
    assert " · complete · " in text_of(a_snapshot(processes=[a_process()]))


def test_ended_processes_are_counted_or_shown() -> None:
    assert "1 ended process not shown (--all)." in text_of(a_busy_snapshot())
    shown = text_of(a_busy_snapshot(), is_with_ended=True)
    assert "ended  0" in shown
    assert "not shown" not in shown


def test_foreign_journals_are_named() -> None:
    assert "foreign: 1002 (uid 1002) has journals in /dev/shm/ttmem-1002" in text_of(a_busy_snapshot())


def test_what_no_process_accounts_for_is_named() -> None:
    snapshot = a_snapshot(
        devices=[a_device()],
        device_pools=[(0, 0, GIB, GIB, 1, GIB, NOON_NS, NOON_NS, False)],
        processes=[a_process()],
    )

    assert "device 0 dram: 1.00 GiB belong to no process shown." in text_of(snapshot)


def test_a_label_cannot_command_the_terminal() -> None:
    snapshot = a_snapshot(processes=[a_process(1, label="\x1b[2Jgone", findings={"replaced": 1})])

    assert "\x1b" not in text_of(snapshot)


def test_a_pid_of_a_hidden_namespace_is_marked() -> None:
    text = text_of(a_snapshot(processes=[a_process(1, pid=7, visible=False)]))

    assert " 7? " in text
    assert "A pid with ? counts in a pid namespace" in text


def test_pools_without_room_for_a_column_are_not_left_out() -> None:
    sizes = {pool: (pool + 1) * MIB for pool in range(10) if pool != Pool.CB}
    pools = [(1, 0, pool, size, 0, 1, MIB, NOON_NS, False) for pool, size in sizes.items()]
    snapshot = a_snapshot(devices=[a_device()], processes=[a_process()], process_pools=pools)

    text = text_of(snapshot, width=80)

    numbers = [size // MIB for size in sizes.values()]
    assert all(f"{number}.0" in text or f"{number}.00" in text for number in numbers)


def test_circular_buffers_whose_union_is_not_known_are_left_out() -> None:
    pools = [(1, 0, pool, 3 * MIB, 0, 1, MIB, NOON_NS, False) for pool in (Pool.DRAM, Pool.CB)]
    text = text_of(a_snapshot(devices=[a_device()], processes=[a_process()], process_pools=pools), width=80)

    assert text.count("3.00 MiB") == 1


def test_with_nothing_to_show_the_page_says_what_to_do() -> None:
    text = plain(nothing_to_show(a_snapshot(foreign=(Foreign("/dev/shm/ttmem-7", 7, "eve"),))))

    assert "Nothing reports device memory now" in text
    assert "(looked in " in text
    assert "ttmem run -- python model.py" in text
    assert "TT_ALLOC_TRACKING_ENABLED=1 ./app  reports by socket to ttmem serve, if that runs" in text
    assert "foreign: eve (uid 7)" in text


def test_an_ignored_directory_is_named() -> None:
    finding = Finding("directory_ignored", 1, path="/dev/shm/ttmem-7", text="belongs to uid 8")

    assert "! /dev/shm/ttmem-7: belongs to uid 8" in text_of(a_snapshot(findings=(finding,), processes=[a_process()]))


def test_there_are_words_for_every_finding_and_reason() -> None:
    assert all(FINDINGS.values())
    assert {"outrun", "table_full", "damaged", "settling", "restored"} <= set(REASONS)
    assert {"free_size", "unknown_type", "devices_lost", "two_sources", "daemon_ignored"} <= set(FINDINGS)


def test_kernels_of_a_process_are_told_by_type() -> None:
    words = "kernels: 1 application 7.81 MiB · 1 fabric 896 KiB · 2 dispatch 92.0 KiB"

    assert f"{words} · 1 unknown 12.0 KiB" in text_of(a_server_snapshot())
    assert f"{words}\n      1 unknown 12.0 KiB" in text_of(a_server_snapshot(), width=80)


def test_kernels_of_the_application_alone_need_no_line() -> None:
    snapshot = a_snapshot(devices=[a_device()], processes=[a_process()], process_kinds=[(1, 0, 5, MIB, 3, False)])

    assert "kernels:" not in text_of(snapshot)


def test_devices_with_other_kernels_have_rows_of_their_own() -> None:
    snapshot = a_snapshot(
        devices=[a_device(0), a_device(1)],
        processes=[a_process()],
        process_pools=[(1, chip, 5, MIB, MIB, 1, MIB, NOON_NS, False) for chip in (0, 1)],
        process_kinds=[(1, 0, 5, MIB, 1, False), (1, 1, 6, MIB, 1, False)],
    )

    assert text_of(snapshot, width=80).count("kernels: 1 fabric 1.00 MiB") == 1


def test_a_claimed_pid_is_shown_where_it_differs() -> None:
    assert "says pid 17" in text_of(a_server_snapshot())
    assert "says pid" not in text_of(a_busy_snapshot())


def test_the_way_of_reporting_is_shown_where_a_process_uses_the_socket() -> None:
    assert " VIA " in text_of(a_server_snapshot())
    assert " VIA " not in text_of(a_busy_snapshot())
    assert " socket " in text_of(a_snapshot(processes=[a_socket_process()]))


def test_what_the_other_source_says_stands_apart_and_is_not_added() -> None:
    text = text_of(a_server_snapshot())

    assert "not added: its socket says of 0: dram 2.00 GiB · cb* 64.0 KiB · kernels: 1 fabric 896 KiB" in text
    assert "4001 job-1: reports by journal and by socket" in text


def test_a_restored_process_says_so() -> None:
    text = text_of(a_server_snapshot())

    assert "incomplete: restored" in text
    assert "known from a daemon's checkpoint" in text


def test_a_chip_and_a_seed_of_one_number_keep_their_names() -> None:
    pools = [(1, number, 0, MIB, MIB, 1, MIB, NOON_NS, False) for number in range(3)]
    snapshot = a_snapshot(
        devices=[a_device(0, index=0), a_server_device(1, index=0), a_server_device(2, index=1)],
        device_pools=[(*pool[1:], NOON_NS, False) for pool in (row[:8] for row in pools)],
        processes=[a_process()],
        process_pools=pools,
    )

    assert " 0,server:0-1 " in text_of(snapshot, width=80)
    assert "\n server:0-1 " in text_of(snapshot, width=80)
