"""A forged journal of a process that is said to have ended shows no pid of a living stranger, in any face."""

import json
import os
import re
import struct
from collections.abc import Iterator

import pytest

from tests.support.faces.json_documents import opened
from tests.support.faces.terminals import a_terminal
from tests.support.journals.bad_journals import IDENTITY
from tests.support.journals.forged_scenes import Scene, a_scene
from tests.support.journals.forgeries import FORGER_UID, name_in, needs_two_users
from tests.support.server.server_serving import a_daemon
from tests.support.timing.waiting import wait_until

TAKEN = "\x1b[?2004h"  # the toolkit reads keys from here on
LATER_NS = 1 << 62  # when the forged process is said to have begun: after every daemon

pytestmark = needs_two_users


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """The victim is named with another start time: so the process of the journal has ended."""
    with a_scene(tmp_path_factory, is_mapped=False) as scene:
        name_in(scene.forged, scene.victim.pid)
        fields = {"start_ticks": 0, "clock_monotonic_ns": LATER_NS}
        with scene.forged.open("r+b") as file:
            for name, value in fields.items():
                os.pwrite(file.fileno(), struct.pack("<Q", value), IDENTITY[name][0])
        yield scene


def test_a_table_of_the_living_says_nothing_of_it(scene: Scene) -> None:
    page = scene.ttmem("ps", "--no-daemon")

    assert not scene.victims_pid.search(page)
    assert " complete " in page
    assert "sample" not in page


def test_a_table_of_all_lists_it_under_its_files_owner_and_without_a_pid(scene: Scene) -> None:
    page = scene.ttmem("ps", "--all", "--no-daemon")

    assert not scene.victims_pid.search(page)
    assert re.search(rf"\? +{FORGER_UID} +sample .*ended", page)
    assert "another process has the pid that its journal names" in page


def test_json_has_it_as_ended_without_a_pid_and_without_a_finding(scene: Scene) -> None:
    document = opened(json.loads(scene.ttmem("ps", "--all", "--json", "--no-daemon")))
    [forged] = [process for process in document["processes"] if process["label"] == "sample"]

    assert (forged["state"], forged["pid"], forged["start_ticks"]) == ("ended", None, None)
    assert (forged["uid"], forged["reason"]) == (FORGER_UID, "unverified")
    assert (document["is_complete"], document["findings"]) == (True, [])
    assert scene.victim.pid not in set(pids_in(document))


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [("-s",), ("--query-apps=pid,user,used_memory", "--format=csv"), ("dump",), ("dump", "--json"), ("ps", "-q")],
)
def test_no_other_form_names_the_victim(scene: Scene, arguments: tuple[str, ...]) -> None:
    said = scene.ttmem(*arguments, "--no-daemon")

    assert not scene.victims_pid.search(said)
    assert str(scene.honest_pid) in said


@pytest.mark.slow
def test_a_daemon_logs_no_line_and_counts_nothing_of_it(scene: Scene) -> None:
    with a_daemon("--log-events", "--metrics-processes", "20", directory=scene.journals.parent) as daemon:
        wait_until(lambda: any(row["label"] == "sample" for row in daemon.document()["processes"]))
        log = daemon.text_with("Allocated")
        metrics = daemon.get("/metrics")[1].decode()
        documents = [daemon.document(path) for path in ("/snapshot", "/overview", "/dump", "/history")]

    assert not re.search(rf"PID {scene.victim.pid}\b", log)
    assert len([line for line in log.splitlines() if "Allocated" in line]) == 1  # the honest one's
    assert 'workload="sample"' not in metrics
    assert 'finding="unverified"} 1' not in metrics
    for document in documents:
        assert scene.victim.pid not in set(pids_in(document))


def pids_in(document: object) -> Iterator[object]:
    """All that is told as the number of a process."""
    if isinstance(document, dict):
        yield from (value for name, value in document.items() if name in ("pid", "parent", "claimed_pid"))
    inside = document.values() if isinstance(document, dict) else document if isinstance(document, list) else ()
    for part in inside:
        yield from pids_in(part)


@pytest.mark.slow
def test_the_monitor_shows_no_pid_and_sends_no_signal(scene: Scene) -> None:
    arguments = ["-m", "ttmem", "top", "--no-daemon", "--interval", "0.1"]
    with a_terminal(arguments, scene.environ, columns=140, lines=40) as terminal:
        terminal.read_until(TAKEN)
        terminal.press("2/sample\rK")
        terminal.read_until("is unverified: no process is known to have written its journal")
        terminal.press("y")
        terminal.press("q")

        assert terminal.end() == 0
        assert "was sent" not in terminal.painted
        assert not scene.victims_pid.search(re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", " ", terminal.painted))
    assert scene.victim.is_alive
