"""Keys about processes: signals go to real ones of our own, and only after a yes; prompts and menus choose."""

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.simulated.chip_views import a_kernel_table
from tests.support.simulated.figure_queries import a_frame
from tests.support.simulated.overviews import a_row
from tests.support.timing.waiting import wait_until
from tests.unit.monitor.test_every_key import a_state, text_of
from ttmem.monitor import signals
from ttmem.monitor.state import MonitorState
from ttmem.snapshot.usage import ProcessUsage
from ttmem.snapshot.values import replace
from ttmem.sources import procfs
from ttmem.sources.procfs import Uids, stat_of, user_name


@pytest.fixture
def sleepers() -> "Iterator[list[subprocess.Popen[bytes]]]":
    processes = [subprocess.Popen(["sleep", "60"]) for _ in range(2)]
    # The kernel shows the arguments of a program a moment after it has begun.
    wait_until(lambda: all(Path(f"/proc/{process.pid}/cmdline").read_bytes() for process in processes))
    yield processes
    for process in processes:
        process.kill()
        process.wait()


def row_of(process: "subprocess.Popen[bytes]", key: int) -> ProcessUsage:
    return a_row(
        key, pid=process.pid, uid=os.geteuid(), user="me", label=f"sleeper-{key}", start_ticks=began(process.pid)
    )


def began(pid: int) -> int:
    stat = stat_of(pid)
    assert stat is not None
    return stat.start_ticks


def showing(tmp_path: Path, *rows: ProcessUsage, is_readonly: bool = False) -> MonitorState:
    """A state with these processes, in this order."""
    state = a_state(tmp_path, is_readonly=is_readonly)
    frame = a_frame()
    assert frame.overview is not None
    state.take(frame._replace(overview=replace(frame.overview, processes=rows)))
    state.press("N")
    return state


def pressed(state: MonitorState, *keys: str) -> str:
    for key in keys:
        state.press(key)
    return text_of(state.picture())


def test_killing_asks_and_no_is_meant_unless_yes_is_said(
    tmp_path: Path, sleepers: "list[subprocess.Popen[bytes]]"
) -> None:
    state = showing(tmp_path, row_of(sleepers[0], 1))

    assert "Send SIGKILL?" in pressed(state, "K")
    for answer in ("enter", "n", "escape", "q"):
        assert "Send SIGKILL?" not in pressed(state, answer)
        pressed(state, "K")

    assert sleepers[0].poll() is None


def test_a_yes_sends_the_signal(tmp_path: Path, sleepers: "list[subprocess.Popen[bytes]]") -> None:
    state = showing(tmp_path, row_of(sleepers[0], 1))

    text = pressed(state, "K", "y")

    assert sleepers[0].wait(10) == -signal.SIGKILL
    assert f"SIGKILL was sent to {sleepers[0].pid}" in text


def test_the_marked_answer_is_taken_by_enter(tmp_path: Path, sleepers: "list[subprocess.Popen[bytes]]") -> None:
    pressed(showing(tmp_path, row_of(sleepers[0], 1)), "K", "right", "enter")

    assert sleepers[0].wait(10) == -signal.SIGKILL


def test_any_signal_can_be_chosen_from_a_list(tmp_path: Path, sleepers: "list[subprocess.Popen[bytes]]") -> None:
    state = showing(tmp_path, row_of(sleepers[0], 1))

    assert "15 SIGTERM" in pressed(state, "f9")
    assert "Send SIGINT?" in pressed(state, "down", "enter")
    pressed(state, "y")

    assert sleepers[0].wait(10) == -signal.SIGINT


@pytest.mark.parametrize(("key", "number"), [("T", signal.SIGTERM), ("I", signal.SIGINT), ("ctrl+c", signal.SIGINT)])
def test_keys_for_signals_go_to_all_that_are_tagged(
    tmp_path: Path, sleepers: "list[subprocess.Popen[bytes]]", key: str, number: int
) -> None:
    state = showing(tmp_path, *(row_of(process, at) for at, process in enumerate(sleepers, 1)))

    text = pressed(state, "space", "space", key)

    assert f"Send {signal.Signals(number).name}?" in text
    assert all(str(process.pid) in text for process in sleepers)
    pressed(state, "y")
    assert [process.wait(10) for process in sleepers] == [-number, -number]
    assert not state.views.state("processes").tags


def test_read_only_sends_nothing_and_says_so(tmp_path: Path, sleepers: "list[subprocess.Popen[bytes]]") -> None:
    state = showing(tmp_path, row_of(sleepers[0], 1), is_readonly=True)

    for key in ("f9", "K"):
        assert "--readonly: no signals are sent" in pressed(state, key)
        assert "Send" not in text_of(state.picture())
    pressed(state, "space")
    for key in ("T", "I"):
        assert "--readonly: no signals are sent" in pressed(state, key)
    assert sleepers[0].poll() is None
    pressed(state, "ctrl+c")
    assert state.is_over


def test_processes_of_others_are_refused_and_our_own_come_first(
    tmp_path: Path, sleepers: "list[subprocess.Popen[bytes]]", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    monkeypatch.setattr(procfs, "uids_of", lambda pid: Uids(4711, 4711, 4711))
    theirs = a_row(1, pid=sleepers[0].pid, uid=0, user="root", label="a-theirs")
    ours = row_of(sleepers[1], 2)
    state = showing(tmp_path, theirs, ours)

    text = pressed(state, "space", "space", "K")

    assert text.index("sleep 60", text.index("Send")) < text.index("a-theirs", text.index("Send"))
    assert "not: belongs to root, and only root may do that" in text
    pressed(state, "y")
    assert sleepers[1].wait(10) == -signal.SIGKILL
    assert sleepers[0].poll() is None
    assert f"{sleepers[0].pid} belongs to root" in state.note


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"is_visible": False}, "lives in a container whose pids are not known here"),
        ({"state": "ended"}, "has ended"),
        ({"pid": os.getpid()}, "is this monitor"),
        ({"pid": 2**22 + 1}, "no such process"),
        ({"pid": 0, "is_visible": False, "reason": "unverified"}, "is unverified: no process is known"),
        ({"pid": os.getppid(), "start_ticks": 1}, "is another process by now"),
        ({"pid": os.getppid(), "start_ticks": None}, "is another process by now"),
        ({"pid": os.getppid(), "start_ticks": began(os.getppid()), "uid": 61001}, "by now, not to"),
    ],
)
def test_what_cannot_get_a_signal_is_said_without_a_question(
    tmp_path: Path, changes: dict[str, object], words: str
) -> None:
    row = replace(a_row(1, uid=os.geteuid(), pid=2**22 + 1), **changes)

    text = pressed(showing(tmp_path, row), "K")

    assert words in text
    assert "Send" not in text


def test_a_process_that_ended_while_we_asked_is_not_mistaken_for_the_next_with_its_pid(
    sleepers: "list[subprocess.Popen[bytes]]",
) -> None:
    targets = signals.targets_of([row_of(sleepers[0], 1)])
    sleepers[0].kill()
    sleepers[0].wait()

    assert signals.send(targets, signal.SIGTERM) == f"{sleepers[0].pid} has ended"


def test_the_question_shows_the_command_of_the_kernel_not_that_of_the_journal(
    tmp_path: Path, sleepers: "list[subprocess.Popen[bytes]]"
) -> None:
    row = replace(row_of(sleepers[0], 1), label="evil", command="evil --twin", user="somebody")

    text = pressed(showing(tmp_path, row), "K")
    question = text[text.index("Send SIGKILL?") :]

    assert f"{sleepers[0].pid} {user_name(os.geteuid())} sleep 60" in question


def test_who_became_another_users_between_question_and_yes_gets_no_signal(
    sleepers: "list[subprocess.Popen[bytes]]", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    monkeypatch.setattr(procfs, "uids_of", lambda pid: Uids(4711, 4711, 4711))
    targets = signals.targets_of([row_of(sleepers[0], 1)])
    monkeypatch.setattr(procfs, "uids_of", lambda pid: Uids(61001, 61001, 61001))

    assert "belongs to 61001 by now, not to me" in signals.send(targets, signal.SIGKILL)
    assert sleepers[0].poll() is None


def test_the_environment_of_a_process_is_shown_by_name(tmp_path: Path) -> None:
    process = subprocess.Popen(["sleep", "60"], env={"ZEBRA": "1", "APPLE": "two\x1b[31m"})
    try:
        # A program that was just started has no environment yet for a moment, though it runs.
        wait_until(lambda: Path(f"/proc/{process.pid}/environ").read_bytes())
        text = pressed(showing(tmp_path, row_of(process, 1)), "e")
    finally:
        process.kill()
        process.wait()

    assert "APPLE=two?[31m" in text
    assert text.index("APPLE") < text.index("ZEBRA")


def test_a_filter_is_seen_while_it_is_typed_and_escape_takes_it_back(tmp_path: Path) -> None:
    state = a_state(tmp_path)

    assert "notebook" in pressed(state, "/")
    text = pressed(state, *"resnet")
    assert "Filter: resnet" in text
    assert "notebook" not in text
    assert "notebook" in pressed(state, "escape")

    assert "notebook" not in pressed(state, "f4", *"resnet", "enter")
    assert not state.is_typing
    assert "notebook" in pressed(state, "escape")


def test_what_is_wrong_with_a_filter_is_said_beside_it(tmp_path: Path) -> None:
    assert "Filter: dram>" in (text := pressed(a_state(tmp_path), "/", *"dram>"))
    assert text.splitlines()[-1].strip() != "Filter: dram>"


def test_one_user_is_chosen_from_those_there_are(tmp_path: Path) -> None:
    state = a_state(tmp_path)

    pressed(state, "u", "g", "enter")

    assert state.views.state("processes").user == "grace"
    pressed(state, "u", "home", "enter")
    assert state.views.state("processes").user == ""


def test_a_column_is_chosen_from_a_list_or_by_its_letter(tmp_path: Path) -> None:
    state = a_state(tmp_path)

    pressed(state, "f6", "home", "enter")
    assert state.views.state("processes").sort == "pid"
    pressed(state, "o", "d")
    assert state.views.state("processes").sort == "dram"
    pressed(state, "o", "p", "o", "p")
    assert state.views.state("processes").sort == "peak"


def test_from_another_view_a_key_about_processes_goes_to_them_first(tmp_path: Path) -> None:
    state = a_state(tmp_path, "charts")

    assert "choose a process first" in pressed(state, "K")
    assert state.view == "processes"
    assert a_state(tmp_path, "overview").view == "overview"


def test_kernels_are_sorted_where_they_are(tmp_path: Path) -> None:
    state = a_state(tmp_path)
    state.take(a_frame()._replace(kernels=a_kernel_table(5)))

    assert ", by pid" in pressed(state, "4", "P")
    assert ", by program" in pressed(state, ">")
    assert "turned round" in pressed(state, "I")
    assert state.view == "kernels"
    assert "size" in pressed(state, "f6")
