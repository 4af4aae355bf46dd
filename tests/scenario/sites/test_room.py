"""Room for stacks: taken as it is needed, and where there is none sites are lost, nothing else."""

import json
import subprocess
import sys

import pytest

from tests.support.processes.native_programs import CLIENT_LIBRARY
from tests.support.processes.permitted import needs_mounts

# Several programs at once in a /dev/shm of so many bytes: each makes stacks, then all are looked at while they live.
STAGE = """
import json, os, subprocess, sys
size, count, stacks, program, library = json.load(sys.stdin)
subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", "/dev/shm"], check=True)
environ = {"TTMEM": "1", "LD_PRELOAD": library, "PATH": os.environ["PATH"]}
running = [
    subprocess.Popen([sys.executable, "-c", program, str(stacks)], env=environ, stdin=subprocess.PIPE,
                     stdout=subprocess.PIPE, text=True)
    for _ in range(count)
]
from ttmem.sources.inspected.journal import journal_document
documents = []
for one in running:
    path = one.stdout.readline().strip()
    with open(path, "rb") as file:
        document = journal_document(path, file, 1_000_000)
    texts = [entry.get("site_text") for entry in document["live"]]
    documents.append([len(texts), len(set(texts)), texts.count("other"), document["findings"],
                      sum(pool["used"] for target in document["targets"] for pool in target["pools"].values())])
codes = [(one.communicate(), one.returncode)[1] for one in running]
print(json.dumps([codes, documents]))
"""
PROGRAM = """
import ctypes, sys
class Buffer(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("id", "address", "requested", "reserved", "per_bank", "page")]
    _fields_ += [("site", ctypes.c_uint32), ("target", ctypes.c_uint16), ("rest", ctypes.c_uint8 * 3)]
library = ctypes.CDLL(None)
library.ttmem_journal_path.restype = ctypes.c_char_p
library.ttmem_device_open_on(ctypes.byref((ctypes.c_uint64 * 40)(0x99)))
library.ttmem_python_sites(1)
def take(number):
    library.ttmem_buffer_alloc_on(ctypes.byref(Buffer(id=number, reserved=10, target=1)))
def block(number):
    take(number)
lines = "\\n".join(f"def layer_{n}(): block({n})\\nlayer_{n}()" for n in range(int(sys.argv[1])))
exec(compile(lines, "models/demos/model.py", "exec"))
print(library.ttmem_journal_path().decode(), flush=True)
sys.stdin.read()
"""


def staged(size: str, count: int, stacks: int) -> list[list[object]]:
    command = ["unshare", "--mount", "--propagation", "private", sys.executable, "-c", STAGE]
    asked = json.dumps([size, count, stacks, PROGRAM, str(CLIENT_LIBRARY)])
    done = subprocess.run(command, input=asked, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    codes, documents = json.loads(done.stdout)
    assert codes == [0] * count
    return list(documents)


@needs_mounts
def test_four_journals_with_two_thousand_stacks_each_fit_a_containers_shared_memory() -> None:
    assert staged("64m", 4, 2000) == [[2000, 2000, 0, {}, 20_000]] * 4


@needs_mounts
@pytest.mark.parametrize("size", ["16080k", "16100k"])
def test_a_full_file_system_costs_sites_and_no_figures(size: str) -> None:
    [[alive, _, other, findings, used]] = staged(size, 1, 3000)

    assert (alive, used) == (3000, 30_000)
    assert isinstance(other, int)
    assert findings == {"stacks_refused": other}
    assert other > 0
