"""Incidents of other users: root sees them, in the journals and through its daemon, nobody else does."""

import json
import os
import subprocess
from typing import Any

import pytest

from tests.support.faces.json_documents import opened
from tests.support.journals.forgeries import FORGER_UID, VICTIM_UID, needs_two_users
from tests.support.processes.permitted import needs_mounts
from tests.support.processes.programs import command_of


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    command = ["unshare", "--mount", "--propagation", "private", *command_of("journals.other_users")]
    asked = json.dumps([VICTIM_UID, FORGER_UID])
    environ = {name: value for name, value in os.environ.items() if not name.startswith("TTMEM")}
    done = subprocess.run(command, env=environ, input=asked, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["status"] == 0
    assert "answering on /dev/shm/ttmem-0/daemon.sock" in found["serving"]
    return found


WHEN = pytest.mark.parametrize("when", ["living", "living, daemon", "ended, daemon", "ended"])


@needs_mounts
@needs_two_users
@pytest.mark.slow
@WHEN
def test_root_sees_why_another_users_program_was_refused(when: str, told: dict[str, Any]) -> None:
    [(code, text, _), (_, listed, _), (newest_code, newest, _)] = told[when][0]

    assert (code, newest_code) == (0, 0)
    assert f"ttmem explain  {told['pid']}-1  " in text
    assert "asked 77.0 MiB" in text
    assert "forward" in text
    story = text.splitlines()[1:]
    if f"{told['pid']}-1" in newest.splitlines()[0]:  # root is told of everybody: a test beside this one may be newer
        assert newest.splitlines()[1 : len(story) + 1] == story
    [process] = [one for one in opened(json.loads(listed))["processes"] if one["pid"] == told["pid"]]
    assert (process["uid"], process["incident_count"]) == (VICTIM_UID, 1)
    assert process["incidents"][0]["site"]["frames"][0]["function"] == "forward"


@needs_mounts
@needs_two_users
@pytest.mark.slow
@WHEN
def test_no_other_user_learns_of_it(when: str, told: dict[str, Any]) -> None:
    [(code, text, why), (_, listed, _), (newest_code, newest, _)] = told[when][1]

    assert (code, text, newest_code, newest) == (1, "", 1, "")
    assert f"no process {told['pid']} reports" in why
    assert json.loads(listed)["processes"] == []
    assert "forward" not in json.dumps(told[when][1])
    [(file_code, file_text, file_why)] = told["file"]
    assert (file_code, file_text) == (1, "")
    assert "permission denied" in file_why
