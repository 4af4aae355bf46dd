"""`ttmem demo`: a workload comes, is shown, held to its own arithmetic, and goes without a trace."""

import dataclasses
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest

from tests.support.faces.terminals import Terminal, a_terminal
from tests.support.processes.inside import ttmem_inside
from tests.support.simulated.figures import a_busy_snapshot
from tests.support.timing.waiting import wait_until
from ttmem.cli.demo import demo
from ttmem.cli.demonstration.directories import running_demos, usual_places
from ttmem.cli.demonstration.interrupts import noticed_interrupts
from ttmem.cli.demonstration.process import demo_process
from ttmem.cli.demonstration.watcher import farewell
from ttmem.cli.demonstration.workload import Order, Report
from ttmem.devices import Pool
from ttmem.errors import TtmemError
from ttmem.metal.workloads import WORKLOADS, Beat, ExpectedUse
from ttmem.snapshot import ProcessUsage, replace
from ttmem.sources.procfs import environment_of, stat_of
from ttmem.view.pages.ps import nothing_to_show
from ttmem.view.texts import size_text

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "demo.md").read_text(encoding="utf-8")
TTMEM = [sys.executable, "-m", "ttmem"]
QUICK = ["resnet-trace", "--speed", "max"]
FAREWELL = "The program has ended; 0 B of its memory is left on the devices."
ENVIRON = {**os.environ, "TERM": "xterm-256color"}


def ttmem_demo(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([*TTMEM, "demo", *arguments], capture_output=True, text=True)


def demo_inside(*arguments: str) -> "subprocess.CompletedProcess[str]":
    """The same in this process, for what is refused or answered at once."""
    return ttmem_inside("demo", *arguments, environ=dict(os.environ))


def said(text: str) -> str:
    """The words after the tables, as one line."""
    return " ".join(text.split())


def test_in_a_pipe_the_demo_prints_one_table_and_ends(tmp_path: Path) -> None:
    picture = tmp_path / "demo.svg"

    result = ttmem_demo("--picture", str(picture))

    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.count(" ttmem ps ") == 1
    assert "1 process on 4 devices · complete" in result.stdout
    assert "demo: simulated chips" in result.stdout
    for word in ("llama-8b", "APPLICATION", "FABRIC", "DISPATCH", "planned", "trace", "resident"):
        assert word in result.stdout
    assert "20 tokens on 4 n300 chips." in result.stdout
    assert "equal to the byte." in said(result.stdout)
    assert result.stdout.endswith(f"{FAREWELL}\n")
    assert "llama-8b" in picture.read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cb-clash", "cache-growth"])
def test_a_workload_is_measured_as_its_arithmetic_says(name: str) -> None:
    result = ttmem_demo(name)

    assert result.returncode == 0
    assert "equal to the byte." in said(result.stdout)
    assert re.search(r"dram (\d\S* \S+) / \1", said(result.stdout))
    assert result.stdout.endswith(f"{FAREWELL}\n")


@pytest.mark.slow
def test_a_refusal_is_shown_in_the_runtimes_words() -> None:
    text = said(ttmem_demo("oom-fragmented").stdout)

    assert (
        "oom-fragmented: the runtime refused: Out of Memory: Not enough space to allocate 58720256 B DRAM buffer"
        in text
    )
    assert "free: 183397344 B, largest free block: 3382944 B)" in text
    assert "OUT OF MEMORY" in text
    assert "dram 12.0 GiB / 12.0 GiB; equal to the byte." in text


@pytest.mark.slow
def test_a_killed_workload_gives_everything_back() -> None:
    text = ttmem_demo("killed-midway").stdout

    before, after = text.split(" ttmem ps ")[1:]
    assert re.search(r"0 n300 +dram .* 8\.86 GiB ", before)
    assert re.search(r"0 n300 +dram .* 0 B ", after)
    assert " ended " in after
    assert "killed-midway was killed (kill -9), with all it held." in text
    assert text.endswith(f"{FAREWELL}\n")


@pytest.mark.slow
def test_several_workloads_share_the_table_on_chips_of_their_own() -> None:
    text = ttmem_demo("resnet-trace", "cb-clash", "--steps", "2", "--board", "p150").stdout

    assert "2 processes on 2 devices" in text
    assert re.search(r"resnet-trace +0 ", text)
    assert re.search(r"cb-clash +1 ", text)
    assert said(text).count("equal to the byte.") == 2
    assert text.endswith("All programs have ended; 0 B of their memory is left on the devices.\n")


@pytest.mark.slow
def test_another_board_speed_and_length_may_be_asked_for() -> None:
    text = ttmem_demo("resnet-trace", "--board", "N150", "--speed", "1000", "--steps", "3").stdout

    assert "3 batches on 1 n150 chip." in text
    assert "wormhole_b0" in text
    assert "equal to the byte." in said(text)


@pytest.mark.slow
def test_slow_dispatch_shows_no_trace() -> None:
    text = ttmem_demo("resnet-trace", "--slow-dispatch", "--steps", "1").stdout

    assert "1 batch on 1 p150 chip." in text
    assert " trace " not in text
    assert "equal to the byte." in said(text)


@pytest.mark.slow
def test_time_ends_a_workload_wherever_it_is() -> None:
    text = ttmem_demo("llama-8b", "--seconds", "0.3").stdout

    assert "0 tokens on 4 n300 chips." in text
    assert "equal to the byte." in said(text)


@pytest.mark.slow
def test_a_demo_is_looked_at_from_another_terminal_as_it_says() -> None:
    command = [*TTMEM, "demo", "resnet-trace", "--seconds", "60"]
    environ = {name: value for name, value in ENVIRON.items() if name != "TTMEM_DIR"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environ) as running:
        assert running.stderr is not None
        told = running.stderr.readline()
        settings, _, typed = told.removeprefix("ttmem: to look at it from another terminal: ").rpartition(" ttmem ")
        there = {**environ, **dict(word.split("=", 1) for word in settings.split())}
        seen = subprocess.run([*TTMEM, *typed.split()], env=there, capture_output=True, text=True)
        heat = subprocess.run([*TTMEM, "--query-gpu=temperature.gpu"], env=there, capture_output=True, text=True)
        hint = running_demos(usual_places())
        running.terminate()

    assert (seen.returncode, "resnet-trace" in seen.stdout) == (0, True)
    assert re.fullmatch(r"temperature.gpu\n\d+\n", heat.stdout)
    assert there["TTMEM_DIR"] in hint
    assert there["TTMEM_DIR"] not in running_demos(usual_places())


def test_an_incident_of_a_demo_that_runs_is_explained_by_the_command_that_is_shown() -> None:
    environ = {name: value for name, value in ENVIRON.items() if name != "TTMEM_DIR"}
    command = ["-m", "ttmem", "demo", "oom-fragmented", "--speed", "10"]
    with a_terminal(command, environ, columns=120, lines=50) as terminal:
        told = terminal.read_until(" ttmem ps").partition("another terminal: ")[2]
        table = typed(told, environ, until="says why")
        [shown] = re.findall(r"^ (TTMEM_DIR=\S+ ttmem explain \S+) says why", table, flags=re.MULTILINE)
        explained = typed(shown, environ)

    assert "OUT OF MEMORY" in explained


def typed(line: str, environ: dict[str, str], until: str = "") -> str:
    """What a line that was shown prints when it is typed, if need be again until it says something."""
    settings, _, words = line.strip().rpartition(" ttmem ")
    there = {**environ, **dict(word.split("=", 1) for word in settings.split())}
    deadline = time.monotonic() + 60
    while True:
        ran = subprocess.run([*TTMEM, *words.split()], env=there, capture_output=True, text=True)
        if until in ran.stdout or time.monotonic() > deadline:
            return ran.stdout


def test_an_incident_of_a_demo_that_has_ended_is_explained_by_a_new_one() -> None:
    assert " ttmem explain --demo says why and what to free.\n" in ttmem_demo("oom-fragmented").stdout


def test_where_nothing_reports_a_demo_that_runs_is_named() -> None:
    lines = nothing_to_show(replace(a_busy_snapshot(), processes=(), devices=()), ["TTMEM_DIR=/x ttmem ps"])

    assert "   TTMEM_DIR=/x ttmem ps" in ["".join(span.text for span in line) for line in lines]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("fit --mock 1 --dram 1GiB", 0, "device 0 p150: fits"),
        ("check --mock 1 --max-dram 1%", 0, "1 device within limits"),
        ("dump --mock 1 --by site", 0, "ttmem dump"),
        ("explain --demo", 0, "OUT OF MEMORY  chip 0, DRAM: asked 56.0 MiB"),
    ],
)
def test_verdicts_can_be_tried_on_simulated_chips(line: str, code: int, words: str) -> None:
    result = subprocess.run([*TTMEM, *line.split()], capture_output=True, text=True)

    assert (result.returncode, words in result.stdout + result.stderr) == (code, True)
    assert result.stderr.startswith("ttmem: demo: simulated chips\n")
    assert "playing" not in result.stderr  # people only are told what they wait for


@pytest.mark.slow
def test_on_a_terminal_a_wait_is_explained() -> None:
    with a_terminal(["-m", "ttmem", "ps", "-1", "--mock", "64"], ENVIRON) as terminal:  # seconds, not half of one
        assert terminal.end() == 0

    assert "ttmem: playing galaxy-70b on simulated chips ...\r\x1b[K" in terminal.painted


def test_all_workloads_are_listed_with_a_line_each() -> None:
    lines = demo_inside("--list").stdout.splitlines()

    assert [line.split()[0] for line in lines] == list(WORKLOADS)
    assert all(len(line) <= 120 for line in lines)


@pytest.mark.slow
def test_the_list_says_how_the_leak_ends() -> None:
    line = WORKLOADS["leaky"].line

    assert line.endswith("until circular buffers clash")
    assert "the runtime refused: Statically allocated circular buffers in program" in said(ttmem_demo("leaky").stdout)


def test_the_page_about_the_demo_describes_every_flag_and_every_workload() -> None:
    flags = re.findall(r"(?<=`)--?[\w-]+", " ".join(re.findall(r"^\| (`-.*?) \|", PAGE, flags=re.MULTILINE)))
    workloads = re.findall(r"^\| `([a-z][\w-]+)` \| (?!\d+\S* [KMG])", PAGE, flags=re.MULTILINE)

    assert set(flags) == {flag for option in demo.params if isinstance(option, click.Option) for flag in option.opts}
    assert workloads == list(WORKLOADS)


@pytest.mark.parametrize("name", ["llama-8b", "galaxy-70b", "resnet-trace"])
def test_the_page_about_the_demo_states_the_peaks_of_the_arithmetic(name: str) -> None:
    workload = WORKLOADS[name]
    with workload.open() as mesh:
        chip = mesh.chips[0]
    expected, round_count = ExpectedUse(chip), 0
    for step in workload.steps(chip):
        expected.add(step)
        round_count += isinstance(step, Beat) and step.is_round
        if round_count == workload.round_count:
            break

    pools = Pool.DRAM, Pool.L1, Pool.L1_SMALL, Pool.CB, Pool.KERNEL
    cells = [f"`{name}`", *(size_text(expected.peak[pool]) if expected.peak[pool] else "-" for pool in pools)]
    assert f"| {' | '.join(cells)} |" in PAGE


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nonsense"], f"ttmem: no workload 'nonsense'; there are {', '.join(WORKLOADS)} (ttmem demo --list describes"),
        (["--board", "q9"], "ttmem: no board 'q9'; there are n150, "),
        (["--speed", "fast"], "'fast' is neither a factor"),
        (["--speed", "-1"], "'-1' is neither a factor"),
        (["--seconds", "nan"], "Invalid value for '--seconds': nan is no length of time"),
    ],
)
def test_what_does_not_exist_is_refused_in_one_line(arguments: list[str], message: str) -> None:
    result = demo_inside(*arguments)

    assert (result.returncode, result.stdout) == (2, "")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_workload_that_cannot_begin_says_why(tmp_path: Path) -> None:
    order = Order(name="leaky", board="n151")

    with pytest.raises(TtmemError, match="no board 'n151'"), demo_process(order, directory=str(tmp_path)):
        pass


def test_a_workload_that_is_killed_from_outside_is_reported(tmp_path: Path) -> None:
    with demo_process(Order(name="leaky", speed=0.01), directory=str(tmp_path)) as process:
        os.kill(process.pid, signal.SIGKILL)

        with pytest.raises(TtmemError, match=rf"pid {process.pid}\) ended before"):
            process.stop()


def seen(painted: str) -> str:
    """The words on a terminal, without what moves the cursor or paints."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", painted)


def playing(terminal: Terminal) -> tuple[int, str]:
    """The process that plays llama-8b on that terminal, and the directory it reports into."""
    while not re.search(r"\d+ +\S+ +llama-8b +0", seen(terminal.painted)):
        terminal.read_more()
    [pid] = {int(pid) for pid in re.findall(r"(\d+) +\S+ +llama-8b", seen(terminal.painted))}
    [directory] = (text.removeprefix("TTMEM_DIR=") for text in environment_of(pid) or () if "TTMEM_DIR=" in text)
    return pid, directory


@pytest.mark.slow
def test_on_a_terminal_the_demo_is_in_the_monitor_and_judged_after_it() -> None:
    with a_terminal(["-m", "ttmem", "demo", *QUICK, "--seconds", "1"], ENVIRON, columns=120, lines=50) as terminal:
        assert terminal.end() == 0

    picture, words = terminal.painted.split("\x1b[?1049l")
    before, _, picture = picture.partition("\x1b[?1049h")
    assert before.startswith("ttmem: to look at it from another terminal: TTMEM_DIR=")
    for text in ("1 Overview", "demo: simulated chips", "resnet-trace", "p150"):
        assert text in seen(picture)
    assert "equal to the byte." in said(words)
    assert FAREWELL in words


@pytest.mark.slow
@pytest.mark.parametrize(("how", "code"), [("q", 0), ("signal", 143)])
def test_a_demo_cut_short_leaves_nothing_behind(how: str, code: int) -> None:
    with a_terminal(["-m", "ttmem", "demo"], ENVIRON, columns=120, lines=50) as terminal:
        pid, directory = playing(terminal)
        terminal.read_until("\x1b[?1006h")  # the toolkit has taken over
        if how == "signal":
            terminal.process.terminate()
        else:
            terminal.press(how)
        assert terminal.end() == code

    assert terminal.painted.count("\x1b[?1049h") == terminal.painted.count("\x1b[?1049l") == 1
    assert terminal.painted.endswith(f"{FAREWELL}\r\n") == (how != "signal")
    assert ("equal to the byte." in said(terminal.painted)) == (how != "signal")
    assert not os.path.exists(directory)
    assert stat_of(pid) is None


def test_a_terminal_that_cannot_be_painted_over_gets_one_table() -> None:
    dumb = {**ENVIRON, "TERM": "dumb"}
    with a_terminal(["-m", "ttmem", "demo", *QUICK], dumb, columns=120, lines=50) as terminal:
        assert terminal.end() == 0

    assert "\x1b" not in terminal.painted
    assert terminal.painted.count(" ttmem ps ") == 1
    assert terminal.painted.endswith(f"{FAREWELL}\r\n")


INTERRUPTED = """\
import signal, sys
from ttmem.cli.demonstration import watcher
from ttmem.cli.program import run_program

def interrupted(*waiting, next_reports=watcher.next_reports):
    watcher.next_reports = next_reports
    signal.raise_signal(signal.SIGINT)
    return next_reports(*waiting)

watcher.next_reports = interrupted
sys.exit(run_program(["demo", "llama-8b", "--seconds", "60"]))
"""


def test_an_interrupted_demo_in_a_pipe_says_what_it_saw() -> None:
    result = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True)

    assert (result.returncode, len(result.stderr.splitlines())) == (130, 1)
    assert result.stderr.startswith("ttmem: to look at it from another terminal: ")
    assert "equal to the byte." in said(result.stdout)
    assert result.stdout.endswith(f"{FAREWELL}\n")


@pytest.mark.slow
def test_who_does_not_wait_for_the_last_words_presses_again() -> None:
    with noticed_interrupts() as interrupts:
        signal.raise_signal(signal.SIGINT)
        assert interrupts.is_pressed

        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_an_ignored_interrupt_stays_ignored() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with noticed_interrupts() as interrupts:
            signal.raise_signal(signal.SIGINT)
        assert not interrupts.is_pressed
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.slow
def test_a_workload_ends_with_its_starter() -> None:
    with a_terminal(["-m", "ttmem", "demo"], ENVIRON, columns=120, lines=50) as terminal:
        pid, directory = playing(terminal)
        terminal.process.send_signal(signal.SIGKILL)
        terminal.end()

    wait_until(lambda: stat_of(pid) is None)
    shutil.rmtree(directory)


@pytest.mark.slow
def test_a_workload_that_is_killed_in_the_monitor_is_still_judged() -> None:
    arguments = ["-m", "ttmem", "demo", "killed-midway", "--speed", "50", "--seconds", "4"]
    with a_terminal(arguments, ENVIRON, columns=120, lines=50) as terminal:
        assert terminal.end() == 0

    assert "killed-midway was killed (kill -9), with all it held." in said(terminal.painted)
    assert "equal to the byte." in said(terminal.painted)


@pytest.mark.slow
def test_memory_of_traces_is_shown_as_an_estimate() -> None:
    snapshot = a_busy_snapshot()
    process = snapshot.live[0]
    [first, *others] = process.devices
    trace = replace(first.pools[0], pool=Pool.TRACE, peak_bytes=3 << 20)
    traced = replace(process, devices=(replace(first, pools=(*first.pools, trace)), *others))
    report = Report(event="done", name="x", board="n300", chip_count=2)

    def told(who: ProcessUsage) -> str:
        return " ".join(farewell({process.pid: report}, replace(snapshot, processes=(who,)), 0))

    assert "trace 3.00 MiB (estimate" in told(traced)
    assert "estimate" not in told(process)


def test_a_figure_that_was_not_expected_is_shown_as_such() -> None:
    snapshot = a_busy_snapshot()
    process = snapshot.live[0]
    peaks = {usage.pool.word: usage.peak_bytes for usage in process.devices[0].pools}
    right = Report(event="done", name="x", board="n300", chip_count=2, expected={"dram": peaks["dram"]})
    wrong = dataclasses.replace(right, expected={"dram": peaks["dram"] + 1})

    assert "equal to the byte." in next(farewell({process.pid: right}, snapshot, 0))
    assert "NOT EQUAL." in next(farewell({process.pid: wrong}, snapshot, 0))


MISMEASURED = """\
import sys
from ttmem.cli.demonstration import watcher
from ttmem.cli.program import run_program

watcher._peaks = lambda process: {"dram": 1}
sys.exit(run_program(["demo", "cb-clash", "--steps", "1"]))
"""


@pytest.mark.slow
def test_a_script_learns_of_a_figure_that_was_not_expected() -> None:
    result = subprocess.run([sys.executable, "-c", MISMEASURED], capture_output=True, text=True)

    assert (result.returncode, result.stderr) == (1, "")
    assert "NOT EQUAL." in said(result.stdout)
    assert "| 1 | a figure is NOT EQUAL" in PAGE
