"""A machine of its own, with empty /dev/shm and /run: two users and root ask about an incident of one of them.

Reads the ids of owner and other user as JSON; prints all answers as JSON. Journals are where they are by default.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, TypeAlias

from tests.support.journals.forgeries import reporting

Answer: TypeAlias = list[Any]  # exit code, stdout, stderr
REFUSED = """
def forward():
    ttmem.report_out_of_memory(chip, 0, 77 << 20, 1 << 20, 1 << 10)
chip = ttmem.open_device(0x31, index=3)
ttmem.report_buffer_alloc(chip, 41, 4096)
ttmem.record_sites()
forward()
"""
SERVE = [sys.executable, "-m", "ttmem", "serve", "--socket", "/run/seeds"]


def ask(uid: int, *questions: list[str]) -> list[Answer]:
    command = [sys.executable, "-m", "tests.programs.journals.as_other_user", json.dumps([uid, questions])]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    answers: list[Answer] = json.loads(done.stdout)
    return answers


def ask_everybody(pid: int, other: int) -> list[list[Answer]]:
    questions = [["explain", str(pid)], ["ps", "--json", "--all"], ["explain"]]
    return [ask(uid, *questions) for uid in (0, other)]


def main() -> None:
    for place in ("/dev/shm", "/run"):
        subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=1777", "tmpfs", place], check=True)
    owner, other = json.load(sys.stdin)
    directory = Path(f"/dev/shm/ttmem-{owner}")
    answers: dict[str, Any] = {}
    with reporting(directory, owner, REFUSED) as process:
        pid = answers["pid"] = process.pid
        [name] = [name for name in os.listdir(directory) if name.endswith(".journal")]
        answers["file"] = ask(other, ["explain", str(directory / name)])
        answers["living"] = ask_everybody(pid, other)
        daemon = subprocess.Popen(SERVE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert daemon.stdout is not None
        answers["serving"] = daemon.stdout.readline()
        answers["living, daemon"] = ask_everybody(pid, other)
    answers["ended, daemon"] = ask_everybody(pid, other)
    daemon.terminate()
    answers["status"] = daemon.wait()
    answers["ended"] = ask_everybody(pid, other)
    print(json.dumps(answers))


main()
