"""Processes with the hook in them: they fork, start over, end in any order, are killed, load and unload the runtime."""

import signal
from pathlib import Path

import pytest

from tests.support.journals.watching import Watch
from tests.support.stand_in.build import CURRENT, FUTURE, OLDEST, StandIn
from tests.support.stand_in.host import CHIP, Host, calls, unequal
from tests.support.stand_in.stories import an_add
from ttmem.devices import Pool

OPEN = ("open 1 1 0", "buffer 2 1 DRAM 4096 2048")


def test_what_a_forked_child_does_never_reaches_the_journal_of_its_parent(host: Host) -> None:
    host.tell(*OPEN)
    before = host.look()
    said = host.tell("fork buffer 4 1 DRAM 4096 2048;free 2;churn 1 1000 500;close 1;tallies")
    after = host.look()

    assert said.split("|")[:4] == ["0 1050688", "freed", "churned", "closed"]
    assert unequal(said) == []
    assert (after.alive, after.findings) == (before.alive, {})
    assert host.tell("buffer 6 1 DRAM 4096 2048") == "1050688"
    assert [told.id for told in host.look().buffers] == [2, 6]


def test_a_forked_child_shows_what_it_makes_itself_in_a_journal_of_its_own(host: Host, watch: Watch) -> None:
    """What it inherited is not its own, nor is the end of it."""
    host.tell(*OPEN, *an_add(), "enqueue 1")
    host.tell("fork free 2;clear 1;buffer 4 1 DRAM 4096 2048;open 3 1 1;buffer 6 3 L1 4096 2048;free 4")
    [child] = [row for row in watch.come_to_rest()["processes"] if row["pid"] != host.pid]

    assert [entry[2] for entry in watch.allocations(child["key"])] == [6]
    assert child["findings"] == {}


def test_children_forked_while_other_threads_are_at_work_are_not_stuck(host: Host) -> None:
    """Whatever those threads held at that instant, the child's calls go through and leave no trace."""
    host.tell(*OPEN, "programs 1 10 1", "start 4 programs 1 %000 150")
    said = [host.tell("fork programs 1 9000 2;program 9999;tallies") for _ in range(8)]
    host.tell("finish 4")
    look = host.look()

    assert {answer.split("|")[0] for answer in said} == {"0 dropped"}
    assert [told.id for told in look.alive] == [2]
    assert look.findings == {}
    assert unequal(host.tell("tallies")) == []


def test_a_program_that_starts_over_by_exec_holds_nothing_of_its_past(host: Host) -> None:
    host.tell(*OPEN)
    host.look()
    host.say("become")
    assert host.hear() == "ready"
    host.load("first")
    host.tell("open 1 1 5", "buffer 8 1 L1 4096 2048")
    look = host.look()

    assert [(told.id, told.chips) for told in look.buffers] == [(8, (CHIP + 5,))]


def test_a_killed_process_gives_everything_back(host: Host, watch: Watch) -> None:
    host.tell(*OPEN)
    row = watch.process(host.pid)
    held = watch.device_used(CHIP)
    host.kill()
    host.reap()
    watch.collector.ledger.drain()
    watch.collector.ledger.drain()

    assert held == 2048 * 12
    assert watch.device_used(CHIP) == 0
    assert watch.process_used(row["key"], CHIP) == held  # what it had at last is still known


@pytest.mark.parametrize("when", ["exit", "end"])  # an exit handler; static objects of the runtime are destroyed
def test_frees_and_ends_that_come_while_the_process_ends_are_harmless(
    when: str, host: Host, stand_in: StandIn, journals: Path
) -> None:
    orders = (*OPEN, "buffer 4 1 L1 4096 2048", "program 9", f"later {when} close 1", f"later {when} free 2")
    last = (f"later {when} buffer 4 3 DRAM 8 8", f"later {when} drop 9", f"later {when} tallies")
    host.tell(*orders, f"later {when} open 3 1 0", *last)
    code, said, complaints = host.leave()
    with Host(stand_in, journals, is_hooked=False) as plain:
        plain.tell(*orders, f"later {when} open 3 1 0", *last)
        expected = plain.leave()

    assert (code, said, complaints) == expected
    assert (code, said[:2], complaints) == (0, ["closed", "freed"], "")
    assert unequal(said[-1]) == []


def test_nothing_is_left_behind_by_a_process_that_ends(host: Host, watch: Watch) -> None:
    host.tell(*OPEN)
    watch.process(host.pid)
    code, _, complaints = host.leave()
    watch.ended(host.pid)

    assert (code, complaints) == (0, "")
    assert watch.device_used(CHIP) == 0


def test_the_runtime_is_unloaded_and_loaded_again(host: Host) -> None:
    for number in range(3):
        host.tell(*OPEN, "buffer 4 1 DRAM 4096 2048")
        look = host.look()
        tallies = host.tell("free 2", "free 4", "close 1", "tallies")
        host.tell("unload first")
        host.load("first")

        assert [told.id for told in look.buffers] == [2, 4], number
        assert (unequal(tallies), calls(tallies)["track_allocate"]) == ([], 2)
    assert host.look().findings == {}


def test_a_runtime_unloaded_with_its_mesh_open_is_followed_by_a_new_one(host: Host) -> None:
    host.tell(*OPEN, "unload first")
    host.load("second")
    host.tell("open 1 1 1", "buffer 2 1 L1 4096 2048")
    look = host.look()

    assert (2, Pool.L1, (CHIP + 1,)) in [(told.id, told.pool, told.chips) for told in look.buffers]
    assert unequal(host.tell("tallies")) == []


@pytest.mark.parametrize("first", [["open 1 1 1"], ["program 9", "kernel 9 data x/y.cpp 0,0-1,1 44"]])
def test_another_build_at_the_same_address_is_not_taken_for_the_old_one(first: list[str], host: Host) -> None:
    """The loader puts a library where the last one was."""
    host.tell(*OPEN, *an_add(), "enqueue 1", "unload first")
    for release in (OLDEST, FUTURE, CURRENT):
        host.load("other", release)
        tallies = host.tell(*first, "open 3 1 2", *an_add(1, mesh=3), "enqueue 1", "tallies")
        host.tell("unload other")

        assert unequal(tallies) == []


def test_two_copies_that_number_their_meshes_alike_stay_apart(host: Host, tmp_path: Path) -> None:
    copy = tmp_path / "libtt_metal.so"
    copy.write_bytes(host.stand_in.library(CURRENT).read_bytes())
    host.tell("open 1 1 0", "buffer 2 1 DRAM 4096 2048", *an_add(), "enqueue 1")
    host.tell(f"load second {copy}", "open 1 1 1", "buffer 2 1 L1 4096 2048", *an_add(), "enqueue 1")
    look = host.look()
    host.tell("close 1")
    closed = host.look()

    assert sorted((told.pool, told.chips) for told in look.buffers) == [(Pool.DRAM, (CHIP,)), (Pool.L1, (CHIP + 1,))]
    assert [look.launches(CHIP + chip) for chip in range(2)] == [1, 1]
    assert {told.chips for told in closed.alive} == {(CHIP,)}
    assert closed.findings == {}


def test_programs_of_two_copies_that_have_the_same_number_are_two(host: Host, tmp_path: Path) -> None:
    copy = tmp_path / "libtt_metal.so"
    copy.write_bytes(host.stand_in.library(CURRENT).read_bytes())
    host.tell("open 1 1 0", *an_add(), "enqueue 1", f"load second {copy}", "open 3 1 1", *an_add(mesh=3), "enqueue 1")
    both = host.look()
    host.tell("use first", "clear 1")
    second = host.look()
    host.tell("use second", "clear 1")

    assert len({told.program for told in both.kernels}) == 2
    assert {told.chips for told in second.alive} == {(CHIP + 1,)}
    assert (host.look().alive, host.look().findings) == ([], {})


def test_two_copies_of_the_runtime_are_both_shown_and_each_gets_its_own_calls(host: Host, tmp_path: Path) -> None:
    copy = tmp_path / "libtt_metal.so"  # another file, or the loader would take it for the same
    copy.write_bytes(host.stand_in.library(CURRENT).read_bytes())
    host.tell("open 1 1 0", f"load second {copy}", "open 3 1 1")
    for round_number in range(3):
        host.tell("use first", f"buffer {10 + round_number} 1 DRAM 4096 2048")
        host.tell("use second", f"buffer {20 + round_number} 3 L1 4096 2048")
    look = host.look()
    tallies = [host.tell(f"use {name}", "tallies") for name in ("first", "second")]

    assert {told.id: told.chips[0] - CHIP for told in look.buffers} == {10: 0, 11: 0, 12: 0, 20: 1, 21: 1, 22: 1}
    assert [unequal(one) for one in tallies] == [[], []]
    assert [calls(one)["track_allocate"] for one in tallies] == [3, 3]


def test_a_stopped_and_continued_process_keeps_its_figures(host: Host, watch: Watch) -> None:
    host.tell(*OPEN)
    watch.process(host.pid)
    host.process.send_signal(signal.SIGSTOP)
    stopped = watch.device_used(CHIP)
    host.process.send_signal(signal.SIGCONT)
    host.tell("free 2")
    look = host.look()

    assert stopped == 2048 * 12
    assert look.used(CHIP, Pool.DRAM) == 0
