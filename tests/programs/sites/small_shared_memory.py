"""Several programs at once in a /dev/shm of the size asked for: each makes stacks, then all are read while they live.

Reads size, number of programs, stacks of each and the client library as JSON. Prints exit codes, and of each journal:
allocations, different sites, sites that are "other", findings and bytes.
"""

import json
import os
import subprocess
import sys
from typing import Any

from tests.support.processes.programs import command_of
from ttmem.sources.inspected.journal import journal_document

size, count, stack_count, library = json.load(sys.stdin)
environ = {"TTMEM": "1", "LD_PRELOAD": library, "PATH": os.environ["PATH"]}
command = command_of("sites.many_stacks", str(stack_count))


def started() -> "subprocess.Popen[str]":
    return subprocess.Popen(command, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def read(process: "subprocess.Popen[str]") -> list[Any]:
    assert process.stdout is not None
    path = process.stdout.readline().strip()
    with open(path, "rb") as file:
        document = journal_document(path, file, 1_000_000)
    texts = [entry.get("site_text") for entry in document["live"]]
    used = sum(pool["used"] for target in document["targets"] for pool in target["pools"].values())
    return [len(texts), len(set(texts)), texts.count("other"), document["findings"], used]


def end(process: "subprocess.Popen[str]") -> int:
    process.communicate()
    return process.returncode


subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", "/dev/shm"], check=True)
running = [started() for _ in range(count)]
documents = [read(one) for one in running]
print(json.dumps([[end(one) for one in running], documents]))
