"""The monitor on a real terminal: it comes, obeys keys, fits every size, and leaves the terminal as it was, whatever
ends it."""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.faces.tmux import Pane, a_pane, needs_tmux, stty_changed
from tests.support.processes.children import Actor
from tests.support.timing.waiting import wait_until

pytestmark = [needs_tmux, pytest.mark.slow]

TOP = (sys.executable, "-m", "ttmem", "top", "--no-daemon", "--interval", "0.2")
HOLDING = "import ttmem; chip = ttmem.open_device(5, index=0); ttmem.report_buffer_alloc(chip, 1, 4 << 20)"

# Breaks in the middle of the picture, when a key is pressed.
BREAKING = """
from ttmem.monitor.state import MonitorState
def broken(self, word):
    raise RuntimeError("a fault for the test")
MonitorState._OWN["reset_peaks"] = broken
from ttmem.cli import main
main(["top", "--no-daemon"])
"""


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "journals").mkdir()
    places = {"TTMEM_DIR": str(tmp_path / "journals"), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    return {**os.environ, **places, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}


@pytest.fixture
def actor(tmp_path: Path, environ: dict[str, str]) -> Iterator[Actor]:
    with Actor(tmp_path / "journals") as actor:
        actor.do(HOLDING)
        yield actor


def monitor_pid(pane: Pane) -> int:
    """The shell's only child."""
    shell = pane.told("pane_pid")
    [pid] = Path(f"/proc/{shell}/task/{shell}/children").read_text().split()
    return int(pid)


def test_it_obeys_keys_fits_every_size_and_gives_the_terminal_back(
    tmp_path: Path, environ: dict[str, str], actor: Actor
) -> None:
    with a_pane(TOP, tmp_path, environ) as pane:
        pane.shows("4.00 MiB")
        assert "before" not in pane.screen()
        actor.do("ttmem.report_buffer_alloc(chip, 2, 1 << 20)")
        pane.shows("5.00 MiB")
        pane.press("2")
        pane.shows(f" {actor.pid} ")
        pane.press("F1")
        pane.shows("This list of keys.")
        pane.press("Escape")
        pane.shows(f" {actor.pid} ")  # Esc and a key at once would be another key
        pane.press("/")
        pane.press("nobody")
        pane.shows("Filter: nobody")
        pane.press("Escape")
        for columns, lines in ((80, 24), (40, 10), (200, 60)):
            pane.resize(columns, lines)
            wait_until(lambda: "Quit" in pane.screen().splitlines()[-1] or columns < 80)  # noqa: B023 asked at once
        pane.press("q")
        pane.shows("code 0")

        assert "before" in pane.screen()
        assert pane.is_as_before()
        assert not stty_changed(tmp_path)


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 0)], ids=lambda value: str(value)
)
def test_a_signal_ends_it_in_order(tmp_path: Path, environ: dict[str, str], number: int, code: int) -> None:
    with a_pane(TOP, tmp_path, environ) as pane:
        pane.shows("? Help")
        os.kill(monitor_pid(pane), number)
        pane.shows(f"code {code}")

        assert "before" in pane.screen()
        assert pane.is_as_before()
        assert not stty_changed(tmp_path)


def test_a_crash_gives_the_terminal_back_and_says_one_line(tmp_path: Path, environ: dict[str, str]) -> None:
    with a_pane((sys.executable, "-c", BREAKING), tmp_path, environ) as pane:
        pane.shows("? Help")
        pane.press("x")
        pane.shows("code 1")

        assert pane.is_as_before()
        assert not stty_changed(tmp_path)
    [line] = (tmp_path / "errors").read_text().splitlines()
    assert line.startswith("ttmem: the monitor failed at ")
    assert "RuntimeError: a fault for the test" in line


def test_a_key_that_is_pressed_before_the_first_picture_is_not_lost(tmp_path: Path, environ: dict[str, str]) -> None:
    with a_pane(TOP, tmp_path, environ) as pane:
        pane.shows("before")
        pane.press("q")
        pane.shows("code 0")

        assert pane.is_as_before()
        assert not stty_changed(tmp_path)
