"""Incidents of other users: root sees them, in the journals and through its daemon, nobody else does."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.support.documents import opened
from tests.support.forgeries import FORGER_UID, VICTIM_UID, needs_two_users
from tests.support.processes.permitted import needs_mounts

# A machine of its own: /dev/shm and /run are empty, and each user's journals are where they are by default.
STAGE = """
import json, os, subprocess, sys
for place in ("/dev/shm", "/run"):
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=1777", "tmpfs", place], check=True)
from tests.support.forgeries import reporting
owner, other = json.load(sys.stdin)
REFUSED = '''
def forward():
    ttmem.report_out_of_memory(chip, 0, 77 << 20, 1 << 20, 1 << 10)
chip = ttmem.open_device(0x31, index=3)
ttmem.report_buffer_alloc(chip, 41, 4096)
ttmem.record_sites()
forward()
'''
# Does what is told as another user. It has done all of it once before, for it may not read our modules then.
AS_OTHER = '''
import contextlib, io, json, os, sys
from ttmem.cli.program import run_program
uid, questions = json.loads(sys.argv[1])
def answers():
    said = []
    for words in questions:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = run_program(words)
        said.append([code, out.getvalue(), err.getvalue()])
    return said
answers()
if uid:
    os.setgroups([]); os.setresgid(uid, uid, uid); os.setresuid(uid, uid, uid)
print(json.dumps(answers()))
'''
def ask(uid, *questions):
    words = [sys.executable, "-c", AS_OTHER, json.dumps([uid, questions])]
    return json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
def everybody(pid, *flags):
    questions = [["explain", str(pid), *flags], ["ps", "--json", "--all", *flags], ["explain", *flags]]
    return [ask(uid, *questions) for uid in (0, other)]
told = {}
with reporting(f"/dev/shm/ttmem-{owner}", owner, REFUSED) as process:
    told["pid"] = process.pid
    [name] = [name for name in os.listdir(f"/dev/shm/ttmem-{owner}") if name.endswith(".journal")]
    told["file"] = ask(other, ["explain", f"/dev/shm/ttmem-{owner}/{name}"])
    told["living"] = everybody(process.pid)
    serve = [sys.executable, "-m", "ttmem", "serve", "--socket", "/run/seeds"]
    daemon = subprocess.Popen(serve, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    told["serving"] = daemon.stdout.readline()
    told["living, daemon"] = everybody(process.pid)
told["ended, daemon"] = everybody(told["pid"])
daemon.terminate()
told["status"] = daemon.wait()
told["ended"] = everybody(told["pid"])
print(json.dumps(told))
"""


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    command = ["unshare", "--mount", "--propagation", "private", sys.executable, "-c", STAGE]
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
def test_root_is_told_why_another_users_program_was_refused(when: str, told: dict[str, Any]) -> None:
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
def test_nobody_else_learns_of_it(when: str, told: dict[str, Any]) -> None:
    [(code, text, why), (_, listed, _), (newest_code, newest, _)] = told[when][1]

    assert (code, text, newest_code, newest) == (2, "", 1, "")
    assert f"no process {told['pid']} reports" in why
    assert json.loads(listed)["processes"] == []
    assert "forward" not in json.dumps(told[when][1])
    [(file_code, file_text, file_why)] = told["file"]
    assert (file_code, file_text) == (1, "")
    assert "Permission denied" in file_why
