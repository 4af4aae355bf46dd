"""A journal that another user forged shows no figures under the victim's pid and gets nobody signalled, in any face."""

import json
import re
from collections.abc import Iterator

import pytest

from tests.support.faces.json_documents import opened
from tests.support.faces.terminals import a_terminal
from tests.support.journals.bad_journals import SAMPLE_CHIP
from tests.support.journals.forged_scenes import Scene, a_scene
from tests.support.journals.forgeries import FORGER_UID, name_in, needs_two_users
from tests.support.server.server_serving import a_daemon

TAKEN = "\x1b[?2004h"  # the toolkit reads keys from here on

pytestmark = needs_two_users


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """The victim maps the forged journal, and is named in it as what it is."""
    with a_scene(tmp_path_factory, is_mapped=True) as scene:
        name_in(scene.forged, scene.victim.pid)
        yield scene


def test_the_table_lists_it_under_no_pid_and_says_why(scene: Scene) -> None:
    page = scene.ttmem("ps", "--no-daemon")

    assert not scene.victims_pid.search(page)
    assert re.search(rf"! +\? +{FORGER_UID} +sample", page)
    assert "incomplete: unverified" in page
    assert "no process is confirmed by the kernel as its writer" in page
    assert re.search(rf" {scene.honest_pid} +\w+ +honest .*4\.00 MiB", page)


def test_json_has_its_figures_without_a_pid_and_counts_them_nowhere(scene: Scene) -> None:
    document = opened(json.loads(scene.ttmem("ps", "--json", "--no-daemon")))
    [forged] = [process for process in document["processes"] if process["label"] == "sample"]
    [chip] = [chip for chip in document["device_info"] if int(chip["uuid"], 16) == SAMPLE_CHIP]

    assert (forged["pid"], forged["uid"], forged["reason"]) == (None, FORGER_UID, "unverified")
    assert forged["memory"]["dram"]["used_bytes"] > 0
    assert {pool["used_bytes"] for pool in chip["memory"].values()} <= {0}
    assert document["is_complete"] is False
    assert [finding["name"] for finding in document["findings"]] == ["unverified"]
    assert not scene.victims_pid.search(json.dumps(document))


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
def test_metrics_count_it_for_no_workload_and_show_that_it_is_there(scene: Scene) -> None:
    options = ("--metrics-processes", "20")
    with a_daemon(*options, directory=scene.journals.parent) as daemon:
        status, body = daemon.get("/metrics")
    page = body.decode()

    assert status == 200

    assert 'ttmem_findings{finding="unverified"} 1' in page
    assert "ttmem_complete 0" in page
    assert 'workload="honest"' in page
    assert 'workload="sample"' not in page
    assert not re.search(rf'ttmem_memory_used_bytes{{device="[^"]*{SAMPLE_CHIP:x}"[^}}]*}} [1-9]', page)
    assert not scene.victims_pid.search(page)


@pytest.mark.slow
def test_the_monitor_sends_no_signal_for_it(scene: Scene) -> None:
    arguments = ["-m", "ttmem", "top", "--no-daemon", "--interval", "0.1"]
    with a_terminal(arguments, scene.environ, columns=140, lines=40) as terminal:
        terminal.read_until(TAKEN)
        terminal.press("2/sample\rK")
        terminal.read_until("is unverified: no process is known to have written its journal")
        terminal.press("y")
        terminal.press("q")

        assert terminal.end() == 0
        assert "Send SIGKILL?" not in terminal.painted
        assert "was sent" not in terminal.painted
        assert not scene.victims_pid.search(re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", " ", terminal.painted))
    assert scene.victim.is_alive
