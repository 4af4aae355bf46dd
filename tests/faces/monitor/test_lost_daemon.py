"""A daemon that is killed while the monitor shows what it alone knows: the last picture turns grey, and is live again
once there is a daemon again."""

import sys
from pathlib import Path

import pytest

from tests.support.faces.tmux import Pane, a_pane, needs_tmux
from tests.support.server.server_bytes import alloc, free
from tests.support.server.server_lines import Line
from tests.support.server.server_serving import Daemon, a_daemon
from tests.support.timing.waiting import wait_until

pytestmark = [needs_tmux, pytest.mark.slow]

TOP = (sys.executable, "-m", "ttmem", "top", "--interval", "0.2")


def keep(daemon: Daemon, line: Line) -> None:
    """Has it write a checkpoint of all that was said until now."""
    written = daemon.document("/healthz")["checkpoint"]["written_time_ns"]
    line.say(alloc(9, 8), free(9))
    wait_until(lambda: daemon.document("/healthz")["checkpoint"]["written_time_ns"] != written)


def shows_live(pane: Pane, daemon: Daemon) -> set[str]:
    """The colours it has then."""
    pane.shows(f"daemon pid {daemon.pid}")
    pane.shows("5.00 MiB")
    assert " lost" not in pane.screen()
    return set(pane.colours())


def test_the_last_picture_turns_grey_and_is_live_again(tmp_path: Path) -> None:
    with a_daemon(TTMEM_SYSTEM_DIR=str(tmp_path)) as daemon, daemon.line() as line:
        line.say(alloc(1, 5 << 20))
        wait_until(lambda: daemon.document()["processes"])
        looks = {"TERM": "xterm-256color", "LC_ALL": "C.UTF-8", "XDG_CONFIG_HOME": str(tmp_path)}
        with a_pane(TOP, tmp_path, {**daemon.environment, **looks}) as pane:
            live = shows_live(pane, daemon)
            keep(daemon, line)
            daemon.kill()
            pane.shows(" lost")
            screen = pane.shows("the daemon is gone, and only it knew of 1 process")
            assert "5.00 MiB" in screen
            wait_until(lambda: not live <= set(pane.colours()))  # what was in colour is grey
            daemon.restart()
            shows_live(pane, daemon)
