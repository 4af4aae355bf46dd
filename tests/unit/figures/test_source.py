"""Who is asked: a daemon that answers and looks where we would, else our own collector, with one note and in time."""

import os
import select
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.processes.programs import a_program
from tests.support.server.false_daemons import (
    Behaviour,
    a_false_daemon,
    a_short_directory,
    a_strangers_daemon,
    an_answer,
    silence,
    some_answers,
    some_bytes,
)
from tests.support.simulated.figures import a_busy_snapshot, a_dump
from tests.support.timing.stopwatch import Stopwatch
from tests.support.timing.waiting import wait_until
from ttmem.collector.rows.sums import overview_of
from ttmem.devices import Pool
from ttmem.errors import SelectionError
from ttmem.figures import FigureSource
from ttmem.snapshot import Snapshot, replace
from ttmem.sources.directories import Places, Roots

NOBODY = 65_534
EMBEDDED = "embedded collector"
PROGRAM = ("chip = ttmem.open_device(5, index=3)", "ttmem.report_buffer_alloc(chip, 1, 4096)", "meet()")


@pytest.fixture
def main() -> Iterator[Path]:
    """Where our own journals lie."""
    with a_short_directory() as directory:
        (directory / "system").mkdir()
        yield directory


@contextmanager
def a_look(main: Path, **settings: Any) -> Iterator[FigureSource]:
    places = ("TTMEM_DIR", main), ("TTMEM_SYSTEM_DIR", main / "system"), ("TTMEM_STOCK_SHM_DIR", main / "stock")
    environ = {name: str(path) for name, path in places}
    with FigureSource(environ, uid=os.geteuid(), **settings) as looking:
        yield looking


def looked(main: Path, **settings: Any) -> Snapshot:
    with a_look(main, **settings) as looking:
        return looking.snapshot()


def a_sound_daemon(*places: Path, source: str = "daemon pid 7") -> Behaviour:
    """Knows the busy snapshot, and looked into these places."""
    said: dict[str, Any] = {"source": source, "places": tuple(str(place) for place in places)}
    return some_answers(
        {
            "/snapshot": replace(a_busy_snapshot(), **said),
            "/overview": replace(overview_of(a_busy_snapshot()), **said),
            "/dump": replace(a_dump(), **said),
        }
    )


def notes_of(snapshot: Snapshot) -> list[str]:
    return [f"{finding.path}: {finding.text}" for finding in snapshot.findings if finding.name == "daemon_ignored"]


def test_without_a_daemon_we_look_ourselves_and_have_no_doubts(main: Path) -> None:
    snapshot = looked(main)

    assert (snapshot.source, notes_of(snapshot)) == (EMBEDDED, [])


def test_a_daemon_beside_our_journals_is_asked(main: Path) -> None:
    with a_false_daemon(main, a_sound_daemon(main)):
        snapshot = looked(main)

    assert (snapshot.source, len(snapshot.processes), notes_of(snapshot)) == ("daemon pid 7", 3, [])


def test_the_daemon_of_the_system_is_asked_next(main: Path) -> None:
    with a_false_daemon(main / "system", a_sound_daemon(main)):
        assert looked(main).source == "daemon pid 7"


def test_our_own_daemon_comes_before_that_of_the_system(main: Path) -> None:
    with (
        a_false_daemon(main, a_sound_daemon(main, source="ours")),
        a_false_daemon(main / "system", a_sound_daemon(main, source="the system's")),
    ):
        assert looked(main).source == "ours"


def test_a_daemon_can_be_left_alone(main: Path) -> None:
    with a_false_daemon(main, a_sound_daemon(main)):
        assert looked(main, has_daemon=False).source == EMBEDDED


def test_a_daemon_that_looks_elsewhere_will_do_while_we_have_no_journals(main: Path) -> None:
    with a_false_daemon(main / "system", a_sound_daemon(main / "system")):
        assert looked(main).source == "daemon pid 7"


@pytest.mark.skipif(os.geteuid() != 0, reason="NOT TESTED: only root can give files away")
def test_a_directory_of_our_name_that_another_user_made_does_not_hide_the_daemon(main: Path) -> None:
    """Whatever is in it: neither the daemon nor we would read it."""
    foreign = main / "shm" / "ttmem-0"
    foreign.mkdir(parents=True)
    (foreign / "1.journal").touch()
    os.chown(foreign, 65534, 65534)
    settings = {"TTMEM_DIR": str(main), "TTMEM_SYSTEM_DIR": str(main / "system")}
    with a_false_daemon(main / "system", a_sound_daemon(main / "system")), FigureSource(settings, uid=0) as looking:
        looking._places = Places(uid=0, roots=Roots(shm=str(main / "shm"), run=str(main), proc=str(main)))

        assert looking.snapshot().source == "daemon pid 7"


def test_a_daemon_that_misses_our_journals_is_skipped(main: Path) -> None:
    with a_program(main, *PROGRAM) as program, a_false_daemon(main / "system", a_sound_daemon(main / "system")):
        program.arrive()
        snapshot = looked(main)

    assert [process.pid for process in snapshot.processes] == [program.pid]
    assert notes_of(snapshot) == [
        f"{main}/system/daemon.sock: does not look into {main}, where journals are; the journals were read without it"
    ]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (some_bytes(b"what?"), "no HTTP"),
        (an_answer(b"{"), "no JSON"),
        (an_answer({"schema": 1}), "expected figures of schema 2, found schema 1"),
        (an_answer({"schema": 2}), "missing required field `time_ns`"),
        (an_answer({"error": "what?"}, status=404), "status 404"),
    ],
)
def test_a_daemon_that_makes_no_sense_is_skipped_with_one_note(main: Path, answer: Behaviour, words: str) -> None:
    with a_false_daemon(main, answer):
        snapshot = looked(main)

    [note] = notes_of(snapshot)
    assert snapshot.source == EMBEDDED
    assert note.startswith(f"{main}/daemon.sock: ")
    assert words in note


def test_a_daemon_that_hangs_costs_a_second_at_most(main: Path) -> None:
    with a_false_daemon(main, silence), a_false_daemon(main / "system", silence):
        watch = Stopwatch()
        snapshot = looked(main)
        took = watch.seconds

    assert (snapshot.source, len(notes_of(snapshot))) == (EMBEDDED, 2)
    assert took < 2.0


def test_a_daemon_that_died_is_skipped(main: Path) -> None:
    with a_false_daemon(main, silence) as daemon:
        daemon.kill()
        snapshot = looked(main)

    assert snapshot.source == EMBEDDED
    assert "the daemon that made it has ended" in notes_of(snapshot)[0]


@pytest.mark.skipif(os.geteuid() != 0, reason="NOT TESTED: only root can be two users")
def test_a_daemon_of_another_user_is_skipped(main: Path) -> None:
    with a_strangers_daemon(main, NOBODY):
        snapshot = looked(main)

    assert snapshot.source == EMBEDDED
    assert "neither root nor us" in notes_of(snapshot)[0]


def test_with_a_second_daemon_that_answers_the_first_is_no_doubt(main: Path) -> None:
    with a_false_daemon(main, some_bytes(b"")), a_false_daemon(main / "system", a_sound_daemon(main)):
        snapshot = looked(main)

    assert (snapshot.source, notes_of(snapshot)) == ("daemon pid 7", [])


def test_who_follows_moves_to_the_journals_when_the_daemon_dies_and_back(main: Path) -> None:
    with a_program(main, *PROGRAM) as program, a_look(main, is_following=True) as looking:
        program.arrive()
        with a_false_daemon(main, a_sound_daemon(main)) as daemon:
            assert looking.snapshot().source == "daemon pid 7"
            daemon.kill()
            alone = looking.snapshot()
            assert (alone.source, len(notes_of(alone))) == (EMBEDDED, 1)
            assert [process.pid for process in alone.processes] == [program.pid]
        with a_false_daemon(main, a_sound_daemon(main, source="daemon pid 8")):
            wait_until(lambda: looking.snapshot().source == "daemon pid 8")
            assert notes_of(looking.snapshot()) == []


def test_who_follows_does_not_wait_for_a_hanging_daemon_at_every_look(main: Path) -> None:
    with a_false_daemon(main, silence), a_look(main, is_following=True) as looking:
        looking.snapshot()
        watch = Stopwatch()
        notes = [notes_of(looking.snapshot()) for _ in range(20)]
        took = watch.seconds

    assert took < 0.5
    assert all(len(note) == 1 for note in notes)


def test_a_socket_that_was_cleared_away_is_no_doubt_any_more(main: Path) -> None:
    with a_look(main, is_following=True) as looking:
        with a_false_daemon(main, some_bytes(b"")) as daemon:
            assert len(notes_of(looking.snapshot())) == 1
            daemon.path.unlink()

        assert notes_of(looking.snapshot()) == []


def test_what_is_alive_comes_from_the_daemon_or_from_the_journals(main: Path) -> None:
    with a_program(main, *PROGRAM) as program, a_look(main) as looking:
        program.arrive()
        [alone] = looking.dump(kernels=False, device="3", most=5).devices[0].groups
        with a_false_daemon(main, a_sound_daemon(main)):
            asked = looking.dump(kernels=False, device=None, most=5)

    assert [(one.size_bytes, one.owner.pid) for one in alone.allocations] == [(4096, program.pid)]
    assert (asked.source, asked.count) == ("daemon pid 7", 93)


def test_a_device_that_a_daemon_does_not_know_is_a_wrong_choice(main: Path) -> None:
    overview = replace(overview_of(a_busy_snapshot()), places=(str(main),))
    answers = some_answers({"/overview": overview})
    with a_false_daemon(main, answers), a_look(main) as looking, pytest.raises(SelectionError, match="no"):
        looking.dump(kernels=False, device="9", most=5)


def test_a_device_that_a_daemon_elsewhere_does_not_know_may_be_ours(main: Path) -> None:
    with (
        a_program(main, *PROGRAM) as program,
        a_false_daemon(main, a_sound_daemon(Path("/elsewhere"))),
        a_look(main) as looking,
    ):
        program.arrive()
        dump = looking.dump(kernels=False, device="3", most=5)

    assert (dump.source, dump.count) == (EMBEDDED, 1)
    assert "does not look into" in dump.notes[0]


def test_a_long_list_may_take_its_time(main: Path) -> None:
    sound = a_sound_daemon(main)

    def slowly(line: socket.socket, request: bytes) -> None:
        if b"/dump" in request:
            select.select([line], [], [], 1.2)  # longer than a daemon has to show that it lives
        sound(line, request)

    with a_false_daemon(main, slowly), a_look(main) as looking:
        assert looking.dump(kernels=False, device=None, most=0).source == "daemon pid 7"


def test_an_overview_and_a_process_are_found_without_a_daemon(main: Path) -> None:
    with a_program(main, *PROGRAM) as program, a_look(main) as looking:
        program.arrive()
        overview = looking.overview()
        detail = looking.process(program.pid)

    [row] = overview.processes
    assert (row.pid, row.parent_pid, row.state) == (program.pid, os.getpid(), "live")
    assert [holding.allocation.size_bytes for holding in detail.largest] == [4096]
    assert detail.process.used_bytes(Pool.DRAM) == row.used_bytes(Pool.DRAM) == 4096


def test_an_overview_is_asked_of_the_daemon_alone(main: Path) -> None:
    with a_false_daemon(main, a_sound_daemon(main)), a_look(main) as looking:
        assert looking.overview().source == "daemon pid 7"


def test_a_daemon_elsewhere_has_no_overview_for_us(main: Path) -> None:
    with (
        a_program(main, *PROGRAM) as program,
        a_false_daemon(main, a_sound_daemon(Path("/elsewhere"))),
        a_look(main) as looking,
    ):
        program.arrive()
        overview = looking.overview()

    assert overview.source == EMBEDDED
    assert [finding.name for finding in overview.findings] == ["daemon_ignored"]


def test_a_process_that_is_not_there_is_a_wrong_choice(main: Path) -> None:
    with a_look(main) as looking, pytest.raises(SelectionError, match="no process 1 here"):
        looking.process(1)


def test_peaks_of_our_own_collector_can_be_reset(main: Path) -> None:
    lines = (*PROGRAM[:2], "ttmem.report_buffer_free(chip, 1)", "meet()")
    with a_program(main, *lines) as program, a_look(main, is_following=True) as looking:
        program.arrive()
        before = looking.overview().devices[0].pools
        looking.reset_peaks()
        after = looking.overview().devices[0].pools

    assert [pool.peak_bytes for pool in before] == [4096]
    assert [pool.peak_bytes for pool in after] in ([], [0])
