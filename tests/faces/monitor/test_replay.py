"""`ttmem top --replay`: at any moment the monitor shows what was true then, and its keys go where they say."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.support.faces.terminals import a_terminal
from tests.support.processes.children import Actor
from tests.support.processes.inside import ttmem_inside
from ttmem.cli.program import program
from ttmem.collector import Collector
from ttmem.collector.recorded import keep_incidents
from ttmem.errors import SelectionError
from ttmem.figures.replay_clock import ReplayClock
from ttmem.figures.replayed import RecordedFigures
from ttmem.monitor.feed import frame_of
from ttmem.monitor.options import Options
from ttmem.monitor.replay import selected_replay
from ttmem.monitor.settings import Settings
from ttmem.monitor.state import MonitorState
from ttmem.recording import Meta, Recording, RecordingWriter
from ttmem.snapshot import Selection
from ttmem.sources import Places

ROOT = Path(__file__).parents[3]
SHARES = {"leaky": "0.05", "oom-fragmented": "0.2", "llama-8b": "0.05"}  # of steps that are noted
GAPS = "16"  # slots of a ring: the recorder is lapped again and again
PHASES = ("load", "prefill", "decode")


@pytest.mark.parametrize(
    ("name", "ring"),
    [
        ("leaky", ""),
        ("oom-fragmented", ""),
        pytest.param("llama-8b", "", marks=pytest.mark.slow),
        pytest.param("llama-8b", GAPS, marks=pytest.mark.slow),
        pytest.param("leaky", GAPS, marks=pytest.mark.slow),
    ],
)
def test_at_fifty_moments_the_monitor_and_the_report_say_what_the_model_knows(
    tmp_path: Path, name: str, ring: str
) -> None:
    command = [sys.executable, "-m", "tests.support.monitored.replayed", name, SHARES[name], "4711"]
    environ = {**os.environ, "TTMEM": "1", "TTMEM_DIR": str(tmp_path), **({"TTMEM_RING": ring} if ring else {})}

    done = subprocess.run(command, env=environ, cwd=ROOT, capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
    moments, distinct, figures = map(int, done.stdout.split())
    assert moments == 50
    assert distinct >= 10
    assert figures >= 900


class Recorded:
    """A program that is recorded, and goes on when it is asked to."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "run.ttmem"
        self.actor = Actor(directory, TTMEM_LABEL="the program")
        self.collector = Collector(Places(uid=os.geteuid(), directory=str(directory)))
        self.writer = RecordingWriter(self.path, self.collector.ledger, meta=Meta())
        self.actor.do("import ttmem; chip = ttmem.open_device(0x61)")
        for number, name in enumerate(PHASES, 1):
            self.do(f"p = ttmem.phase({name!r}); p.__enter__(); ttmem.report_buffer_alloc(chip, {number}, 1 << 20)")

    def do(self, statements: str) -> None:
        self.actor.do(statements)
        self.collector.tick()
        self.writer.flush()
        keep_incidents(self.collector, self.path)


@contextmanager
def recording_in(directory: Path) -> Iterator[Recorded]:
    found = Recorded(directory)
    try:
        yield found
    finally:
        found.actor.end()


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorded]:
    with recording_in(tmp_path_factory.mktemp("journals")) as found:
        yield found


class Screen:
    """A monitor without a terminal."""

    def __init__(self, path: Path, columns: int = 120, rows: int = 40) -> None:
        recording = Recording(path)
        self.seconds = 0.0
        self.clock = ReplayClock(recording.first_ns, recording.last_ns, clock=lambda: self.seconds)
        self.figures = RecordedFigures(recording, self.clock, now=lambda: self.seconds)
        self.state = MonitorState(Settings(), {}, is_readonly=True, banner="", replay=self.clock)
        self.state.resize(columns, rows)
        self.look()

    def look(self) -> None:
        for _ in range(2):
            self.state.take(frame_of(self.figures, self.state.wanted()))

    def press(self, *keys: str) -> str:
        for key in keys:
            self.state.press(key)
            self.look()
        return self.text

    @property
    def text(self) -> str:
        return "\n".join("".join(span.text for span in line) for line in self.state.picture())

    @property
    def held(self) -> int:
        assert self.state.frame.overview is not None
        return sum(pool.used_bytes for usage in self.state.frame.overview.devices for pool in usage.pools)


def test_n_and_p_go_from_phase_to_phase_and_say_which(recorded: Recorded) -> None:
    screen = Screen(recorded.path)
    forwards = []
    for _ in PHASES:
        screen.press("n")
        forwards.append((screen.state.note, screen.held))
    screen.press("n")
    beyond = screen.state.note
    screen.press("p")

    assert forwards == [(f"phase {name}", number << 20) for number, name in enumerate(PHASES)]
    assert beyond == "no incident or phase after this moment"
    assert (screen.state.note, screen.held) == ("phase prefill", 1 << 20)


def test_home_end_and_the_arrows_go_through_the_recording(recorded: Recorded) -> None:
    screen = Screen(recorded.path)

    at = {key: (screen.press(key), screen.clock.shown()) for key in ("end", "home", "right", "left")}

    times = {key: shown.at_ns for key, (_, shown) in at.items()}
    first, last = Recording(recorded.path).first_ns, Recording(recorded.path).last_ns
    assert (times["end"], times["home"]) == (last, first)
    assert times["right"] == min(first + 1_000_000_000, last)
    assert times["left"] == max(times["right"] - 1_000_000_000, first)


def test_space_plays_and_stops_and_plus_and_minus_change_the_speed(recorded: Recorded) -> None:
    screen = Screen(recorded.path)
    standing = screen.state.is_paused
    screen.press("home", "-", "space")
    playing = screen.state.is_paused
    screen.seconds += 0.0001
    screen.press("space")
    shown = screen.clock.shown()

    assert (standing, playing, screen.state.is_paused) == (True, False, True)
    assert shown.at_ns - shown.first_ns == 50_000
    assert "❚ 0.5x" in screen.text
    assert "❚ 1x" in screen.press("+")


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        (("2", "f9"), "no signals are sent"),
        (("2", "K"), "no signals are sent"),
        (("2", "e"), "holds no environments"),
        (("x",), "peaks stay as they are"),
    ],
)
def test_nothing_is_done_to_processes_of_today(recorded: Recorded, keys: tuple[str, ...], said: str) -> None:
    screen = Screen(recorded.path)

    assert said in screen.press("end", *keys)
    assert "reset_peaks" not in screen.state.requests


def test_what_no_recording_holds_is_said_in_words_and_is_no_number(recorded: Recorded) -> None:
    screen = Screen(recorded.path, 160, 50)
    overview = screen.press("end")
    [rates] = screen.state.frame.history.processes if screen.state.frame.history else [None]

    assert "recording" in overview.splitlines()[0]
    assert "sensors not recorded" in overview
    assert rates is not None
    assert (rates.host_cpu_share, rates.host_memory_bytes) == (None, None)
    assert "Sensors are not recorded." in screen.press("6")


def test_a_click_on_the_bar_goes_to_that_moment(recorded: Recorded) -> None:
    screen = Screen(recorded.path, 80, 24)
    line = screen.press("home").splitlines()[-2]
    first, last = line.index("●"), len(line.rstrip()) - 1
    ends = []
    for column in (last, first, 0):
        screen.state.click(column, 22)
        screen.look()
        ends.append(screen.clock.shown().at_ns)

    recording = Recording(recorded.path)
    assert ends == [recording.last_ns, recording.first_ns, recording.first_ns]


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (40, 10)])
def test_the_line_of_the_moment_fits_every_screen(recorded: Recorded, size: tuple[int, int]) -> None:
    screen = Screen(recorded.path, *size)
    lines = screen.press("end").splitlines()

    assert len(lines) == size[1]
    assert all(len(line) <= size[0] for line in lines[-2:])
    assert "❚ 1x" in lines[-2]


def test_a_recording_that_goes_on_is_followed_at_its_end(tmp_path: Path) -> None:
    with recording_in(tmp_path) as recorded:
        screen = Screen(recorded.path)
        screen.press("end")
        before = screen.held
        recorded.do("ttmem.phase('more').__enter__(); ttmem.report_buffer_alloc(chip, 99, 5 << 20)")
        screen.look()
        unasked = screen.held
        screen.seconds += 1.5
        screen.look()
        followed = (screen.held, screen.state.is_paused, "following" in screen.text)
        screen.press("p")

        assert unasked == before
        assert followed == (before + (5 << 20), False, True)
        assert (screen.state.note, screen.held, screen.state.is_paused) == ("phase more", before, True)


def test_on_a_terminal_it_goes_from_phase_to_phase_until_it_is_left(recorded: Recorded, tmp_path: Path) -> None:
    environ = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path), "TERM": "xterm-256color"}
    command = ["-m", "ttmem", "top", "--replay", str(recorded.path), "--at", "load"]
    with a_terminal(command, environ, columns=120) as terminal:
        terminal.read_until("phase load")
        terminal.press("n")
        terminal.read_until("phase prefill")
        terminal.press("n")
        terminal.read_until("phase decode")
        terminal.press("q")

        assert terminal.end() == 0


def test_a_chip_that_no_moment_has_is_refused_and_one_that_comes_later_is_waited_for(recorded: Recorded) -> None:
    recording = Recording(recorded.path)
    clock = ReplayClock(recording.first_ns - 1_000_000_000, recording.last_ns)
    own = selected_replay(Options(selection=Selection(("0x61",))), recording, clock)
    before = own.overview()
    clock.end()

    assert (before.devices, len(own.overview().devices)) == ((), 1)
    with pytest.raises(SelectionError, match="no device 7 here"):
        selected_replay(Options(selection=Selection(("7",))), recording, clock).overview()


def test_a_recording_in_which_nothing_happened_is_said_to_be_one(tmp_path: Path) -> None:
    path = tmp_path / "empty.ttmem"
    with Collector(Places(uid=os.geteuid(), directory=str(tmp_path))) as collector:
        RecordingWriter(path, collector.ledger, meta=Meta()).close()

    done = ttmem_inside("top", "--replay", str(path), environ=os.environ)

    assert (done.returncode, "nothing has happened in it" in done.stderr) == (1, True), done.stderr


def test_the_table_of_a_moment_is_what_the_report_says_of_it(recorded: Recorded) -> None:
    def told(*arguments: str) -> str:
        done = CliRunner().invoke(program, list(arguments))
        assert done.exit_code == 0, done.output
        return done.output

    for name, size in (("prefill", "1.00 MiB"), ("decode", "2.00 MiB")):
        assert size in told("report", str(recorded.path), "--at", name)
        assert size in told("top", "--replay", str(recorded.path), "--at", name)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--replay", "/"], "not a recording"),
        (["--replay", "{}", "--at", "+9999s"], "outside of the recording"),
        (["--replay", "{}", "--at", "noon"], "'noon' is no moment"),
        (["--replay", "{}", "--demo"], "not both"),
        (["--replay", "{}", "--speed", "0"], "--speed"),
        (["--at", "+1s"], "add --replay RECORDING"),
        (["--speed", "2"], "add --replay RECORDING"),
        (["--replay", "{}", "-i", "7"], "7"),
    ],
)
def test_what_is_asked_wrongly_is_answered_in_one_sentence(recorded: Recorded, arguments: list[str], said: str) -> None:
    done = ttmem_inside("top", *(one.format(recorded.path) for one in arguments), environ=os.environ)

    assert (done.returncode, said in done.stderr) == (2, True), done.stderr
