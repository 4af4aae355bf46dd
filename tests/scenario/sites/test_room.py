"""Room for stacks: taken as it is needed, and where there is none sites are lost, nothing else."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.processes.native_programs import CLIENT_LIBRARY
from tests.support.processes.permitted import needs_mounts
from tests.support.programs import a_program
from ttmem.collector import Collector
from ttmem.devices import Pool
from ttmem.sources import Places
from ttmem.sources.inspected.journal import journal_document

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


# Every buffer has a line of its own; chips are opened and phases begin among them, and after them.
CROWD = """
import ttmem
names = {"report": ttmem.report_buffer_alloc, "chips": []}
ttmem.record_sites()
def chip(at):
    facts = dict(arch="wormhole_b0", board=f"board {at}", grid=(8, 8), capacities={0: (at + 1) << 30})
    names["chips"].append(ttmem.open_device(0x100 + at, index=at, **facts))
for at in range(8):
    chip(at)
    with ttmem.phase(f"layer {at}"):
        for first in range(0, 2500, 100):
            body = (f"def f{n}(): report(chips[{at}], {at * 10000 + n}, 3 + {at})\\nf{n}()"
                    for n in range(first, first + 100))
            exec(compile("\\n".join(body), f"crowd/of_{at}_{first}.py", "exec"), names)
chip(8)
with ttmem.phase("late"):
    ttmem.report_buffer_alloc(names["chips"][8], 1, 50)
    ttmem.report_out_of_memory(names["chips"][8], 0, 77)
meet()
"""


@pytest.mark.slow
def test_twenty_thousand_stacks_cost_no_figure_no_chip_and_no_phase(tmp_path: Path) -> None:
    with a_program(tmp_path, CROWD) as program, Collector(Places(uid=os.geteuid(), directory=str(tmp_path))) as seen:
        program.arrive()
        assert seen.wait_settled(30.0)
        told = seen.snapshot()
        rows = seen.ledger.snapshot()["processes"]
        entries = seen.ledger.allocations(rows[0]["key"])
        [path] = tmp_path.glob("*.journal")
        with path.open("rb") as file:
            listed = journal_document(str(path), file, 30_000)

    [process] = told.processes
    assert (process.is_complete, process.findings, process.live_count) == (True, (), 20_001)
    assert len(entries) == 20_001
    expected = [(at, f"board {at}", (at + 1) << 30, 2500 * (3 + at) if at < 8 else 50) for at in range(9)]
    found = [
        (one.device.index, one.device.board, one.device.capacity(Pool.DRAM), one.used_bytes(Pool.DRAM))
        for one in told.devices
    ]
    assert found == expected
    peaks = {(one.name, one.device.index): (one.peak_bytes, one.run_count) for one in process.phases}
    assert peaks == {
        (f"layer {phase}" if phase < 8 else "late", at): (used, 1)
        for phase in range(9)
        for at, _, _, used in expected[: phase + 1]
    }
    [incident] = process.incidents
    assert (incident.phase, incident.requested_bytes) == ("late", 77)
    assert incident.site is not None
    assert len(incident.site.frames) == 1
    innermost = {entry["id"]: entry["site_text"].splitlines()[0] for entry in listed["live"] if entry["id"] != 1}
    lines = {
        at * 10_000 + n: f"crowd/of_{at}_{n // 100 * 100}.py:{n % 100 * 2 + 1} f{n}"
        for at in range(8)
        for n in range(2500)
    }
    del lines[1]  # the late buffer has that number, too
    assert innermost == lines
