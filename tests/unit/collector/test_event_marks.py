"""What happened when: births, deaths, refusals, and phases that neither get lost nor fill the hour."""

from typing import Any

from ttmem.collector.history import EventMarks
from ttmem.devices import Pool
from ttmem.snapshot import TimeNs
from ttmem.snapshot.history import Mark

MS = 1_000_000
SECOND_NS = 1000 * MS


def alive(key: int = 1, *, started_ns: int = 5) -> tuple[Any, ...]:
    return key, 40 + key, "llama", True, started_ns, 0


def ended(key: int = 1, *, ended_ns: int = 99) -> tuple[Any, ...]:
    return key, 40 + key, "llama", False, 5, ended_ns


def phase(what: str, time_ns: int, name: str = "decode", key: int = 1) -> tuple[Any, ...]:
    return key, f"phase_{what}", None, 9, name, time_ns


def brief(marks: tuple[Mark, ...]) -> list[tuple[int, str, str]]:
    return [(mark.time_ns, mark.what, mark.text) for mark in marks]


def test_a_process_begins_and_ends_once() -> None:
    happenings = EventMarks()
    for rows in ([alive()], [alive()], [ended()], [ended()]):
        happenings.take(rows, ())

    assert brief(happenings.since(0)) == [(5, "process_began", "llama"), (99, "process_ended", "llama")]


def test_what_was_refused_is_shown_with_pool_and_size() -> None:
    happenings = EventMarks()
    happenings.take([alive()], [(1, "out_of_memory", 3, 2, 4096, 50), (1, "clash", 3, 4, 7, 60)])

    assert happenings.since(10) == (
        Mark(TimeNs(50), "out_of_memory", "llama", 41, 3, Pool.L1, 4096),
        Mark(TimeNs(60), "clash", "llama", 41, 3, Pool.CB, None),
    )


def test_only_what_happened_since_is_shown_oldest_first() -> None:
    happenings = EventMarks()
    happenings.take([alive()], [(1, "clash", 2, 4, 7, 90), (1, "clash", 1, 4, 7, 70), (1, "clash", 0, 4, 7, 10)])

    assert [mark.time_ns for mark in happenings.since(60)] == [70, 90]


def test_a_phase_has_a_beginning_and_an_end() -> None:
    happenings = EventMarks()
    happenings.take([alive(started_ns=0)], [phase("began", 10), phase("ended", 20)])

    assert brief(happenings.since(0)) == [(10, "phase_began", "decode"), (20, "phase_ended", "decode")]


def test_a_phase_in_a_loop_is_one_phase_that_goes_on() -> None:
    happenings = EventMarks()
    for turn in range(1000):
        rows = [phase("began", turn * 100 * MS), phase("ended", turn * 100 * MS + 60 * MS)]
        happenings.take([alive(started_ns=0)], rows)

    assert brief(happenings.since(0)) == [
        (0, "phase_began", "decode"),
        (999 * 100 * MS + 60 * MS, "phase_ended", "decode"),
    ]


def test_a_phase_that_pauses_for_long_is_reported_twice() -> None:
    happenings = EventMarks()
    rows = [phase("began", 0), phase("ended", 1), phase("began", 3 * SECOND_NS), phase("ended", 4 * SECOND_NS)]
    happenings.take([alive(started_ns=0)], rows)

    assert [mark.time_ns for mark in happenings.since(0)] == [0, 1, 3 * SECOND_NS, 4 * SECOND_NS]


def test_a_phase_that_still_runs_is_shown_however_long_ago_it_began() -> None:
    happenings = EventMarks()
    happenings.take([alive(started_ns=0)], [phase("began", 10)])

    assert brief(happenings.since(5 * SECOND_NS)) == [(10, "phase_began", "decode")]


def test_phases_within_themselves_end_with_the_outermost() -> None:
    happenings = EventMarks()
    rows = [phase("began", 1), phase("began", 2), phase("ended", 3), phase("ended", 4)]
    happenings.take([alive(started_ns=0)], rows)

    assert [mark.time_ns for mark in happenings.since(0)] == [1, 4]


def test_a_phase_ends_with_its_process() -> None:
    happenings = EventMarks()
    happenings.take([alive()], [phase("began", 10)])
    happenings.take([ended(ended_ns=30)], ())
    happenings.take([], ())

    assert brief(happenings.since(6)) == [
        (10, "phase_began", "decode"),
        (30, "process_ended", "llama"),
        (30, "phase_ended", "decode"),
    ]
    assert happenings.since(31) == ()


def test_repeated_tries_are_reported_once_a_second() -> None:
    happenings = EventMarks()
    happenings.take([alive()], [(1, "out_of_memory", 3, 2, 4096 + at, 50 + at) for at in range(100)])

    assert happenings.since(10) == (Mark(TimeNs(50), "out_of_memory", "llama", 41, 3, Pool.L1, 4195, 100),)


def test_no_more_than_the_newest_thousand_are_shown() -> None:
    happenings = EventMarks()
    for turn in range(30):
        happenings.take([alive()], [(1, "clash", at, 4, 7, turn * 1000 + at) for at in range(256)])

    told = happenings.since(0)
    assert (len(told), told[-1].time_ns) == (1024, 29_255)
