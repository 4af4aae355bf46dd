"""A process that is gone gives its memory back, at once and to the byte; one that lives is never buried."""

import os
import random
import signal
from pathlib import Path

import pytest

from tests.support.journals.watching import Watch, lock_holder
from tests.support.processes.children import Actor, Writer, state_of
from tests.support.processes.native_programs import NativePrograms
from tests.support.processes.writer_log import differences, unexpected_findings
from tests.support.timing.waiting import wait_until
from ttmem._native import testing

CHIP, OTHER_CHIP = 0x1A2B, 0x3C4D
HOLD = f"import ttmem; chip = ttmem.open_device({CHIP}); handle = ttmem.report_buffer_alloc(chip, 7, 4096)"


def kill_at_a_random_instant(programs: NativePrograms, journals: Path, number: int) -> None:
    """One round; its number decides whether the collector follows, looked once before, or comes too late."""
    rng = random.Random()
    threads, slots, ring = rng.choice([1, 2, 4]), rng.choice([4, 64, 512]), rng.choice(["256", "65536"])
    with (
        Watch(journals, follows=number % 3 == 0) as watch,
        Writer(programs, journals, threads, slots, TTMEM_RING=ring) as writer,
    ):
        chip, other = writer.ask(f"open {CHIP}"), writer.ask(f"open {OTHER_CHIP}")
        writer.ask(f"replace {rng.choice([1, 7])}")
        if number % 3 == 1:
            watch.process(writer.pid)
        writer.churn(chip, writer.ask(f"mesh 7 {chip} {other}"))
        writer.work(rng.randrange(300_000))
        writer.kill()
        writer.reap()
        row = watch.ended(writer.pid)

        assert differences(writer.log, watch.rows(), watch.allocations(row["key"]), row["key"]) == []
        assert (row["complete"], unexpected_findings(row)) == (True, set())
        assert (watch.device_used(CHIP), watch.device_used(OTHER_CHIP)) == (0, 0)


def test_what_a_killed_process_held_at_last_is_what_its_own_log_says(programs: NativePrograms, journals: Path) -> None:
    for number in range(9):
        kill_at_a_random_instant(programs, journals, number)


@pytest.mark.slow
def test_a_hundred_killed_processes_held_at_last_what_their_own_logs_say(
    programs: NativePrograms, journals: Path
) -> None:
    for number in range(100):
        kill_at_a_random_instant(programs, journals, number)


def test_a_phase_in_which_a_process_was_killed_stays_open(journals: Path, watch: Watch) -> None:
    with Actor(journals) as actor:
        actor.do(f"{HOLD}\nwith ttmem.phase('over'): pass\nttmem.phase('decode').__enter__()")
        watch.process(actor.pid)
        actor.kill()
        actor.reap()
        row = watch.ended(actor.pid)

    assert [(key, name, count) for key, name, _, count in watch.rows()["open_phases"]] == [(row["key"], "decode", 1)]


def test_a_dead_process_is_off_the_device_within_two_drains(journals: Path, watch: Watch) -> None:
    with Actor(journals) as actor:
        actor.do(HOLD)
        watch.process(actor.pid)
        held_before = watch.device_used(CHIP)
        actor.kill()
        actor.reap()
        watch.collector.ledger.drain()
        watch.collector.ledger.drain()
        [device] = testing.flat_rows(watch.collector.ledger)["device_pools"]

        assert (held_before, device[2]) == (4096, 0)


def test_a_zombie_has_given_everything_back(journals: Path, watch: Watch) -> None:
    with Actor(journals) as actor:
        actor.do(HOLD)
        watch.process(actor.pid)
        actor.kill()
        ended = watch.ended(actor.pid)

        assert state_of(actor.pid) == "Z"
        assert watch.process_used(ended["key"], CHIP) == 4096
        assert watch.device_used(CHIP) == 0


def test_a_process_that_died_before_anyone_looked_holds_nothing(journals: Path, watch: Watch) -> None:
    with Actor(journals) as actor:
        actor.do(HOLD)
        actor.kill()
        actor.reap()
        ended = watch.ended(actor.pid)

        assert watch.process_used(ended["key"], CHIP) == 4096
        assert watch.device_used(CHIP) == 0


def test_a_stopped_process_lives_and_keeps_its_figures(programs: NativePrograms, journals: Path, watch: Watch) -> None:
    with Writer(programs, journals) as writer:
        writer.churn(writer.ask(f"open {CHIP}"))
        writer.work(10_000)
        os.kill(writer.pid, signal.SIGSTOP)
        wait_until(lambda: state_of(writer.pid) == "T")
        rows = watch.come_to_rest()
        [row] = rows["processes"]

        assert (row["state"], row["findings"].keys() & {"lock_lost"}) == ("live", set())
        assert differences(writer.log, rows, watch.allocations(row["key"]), row["key"]) == []

        os.kill(writer.pid, signal.SIGCONT)
        writer.pause()
        rows = watch.come_to_rest()

        assert differences(writer.log, rows, watch.allocations(row["key"]), row["key"]) == []


def test_a_host_that_closes_all_its_descriptors_lives_on_and_its_death_is_noticed(
    programs: NativePrograms, journals: Path, watch: Watch
) -> None:
    with Writer(programs, journals) as writer:
        chip = writer.ask(f"open {CHIP}")
        writer.ask(f"alloc {chip} 1 4096")
        journal = writer.journal
        watch.process(writer.pid)
        writer.ask("close_descriptors")
        row = watch.process(writer.pid, lambda row: "lock_lost" in row["findings"])
        writer.ask(f"alloc {chip} 2 100")

        assert lock_holder(journal) is None
        assert watch.process_used(row["key"], CHIP) == 4196

        writer.kill()

        assert watch.process_used(watch.ended(writer.pid)["key"], CHIP) == 4196
        assert watch.device_used(CHIP) == 0


def test_a_late_viewer_sees_that_a_host_without_descriptors_is_alive(
    programs: NativePrograms, journals: Path, watch: Watch
) -> None:
    with Writer(programs, journals) as writer:
        writer.ask(f"alloc {writer.ask(f'open {CHIP}')} 1 4096")
        writer.ask("close_descriptors")

        assert watch.process(writer.pid)["findings"] == {"lock_lost": 1}
        assert watch.device_used(CHIP) == 4096


@pytest.mark.parametrize("order", ["path", "close_descriptors"])
def test_a_process_whose_first_thread_has_ended_lives_on(
    programs: NativePrograms, journals: Path, watch: Watch, order: str
) -> None:
    """Without its first thread it looks like a zombie in /proc; without descriptors it has lost its lock, too."""
    with Writer(programs, journals) as writer:
        chip = writer.ask(f"open {CHIP}")
        writer.ask("leave_leader")
        wait_until(lambda: state_of(writer.pid) == "Z")
        writer.ask(order)
        writer.ask(f"alloc {chip} 1 4096")

        assert watch.process(writer.pid)["state"] == "live"
        assert watch.device_used(CHIP) == 4096

        writer.kill()
        watch.ended(writer.pid)

        assert watch.device_used(CHIP) == 0
