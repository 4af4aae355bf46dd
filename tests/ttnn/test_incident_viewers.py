"""Refusals of the stock wheel: all viewers are told the same of one, and four threads at once have each their own.

As tests/scenario/daemon/test_incident_viewers.py has it for C, the client and the model."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.support.faces.viewers import TOLD_COUNT, WRAP_EVENTS, told_by_all
from tests.support.hooked.process import hook_path
from tests.support.processes.programs import tracked
from tests.support.server.server_serving import short_directory
from tests.support.ttnn.runtime import _environment, counters_of
from tests.support.ttnn.stock import Stock
from ttmem.sources.inspected.journal import journal_document

PRELUDE = """\
import json, os, sys, threading
import ttnn
mesh = ttnn.open_mesh_device(ttnn.MeshShape(1, 2))
def tensor(rows, memory=ttnn.L1_MEMORY_CONFIG):
    return ttnn.empty([1, 1, rows, 32], ttnn.bfloat16, ttnn.TILE_LAYOUT, mesh, memory)
def refused(rows):
    try:
        tensor(rows)
    except RuntimeError as refusal:
        return str(refusal)
"""
MODEL = """\
def meet():
    print("here", flush=True)
    sys.stdin.readline()
def churn():
    for _ in range(100_000): tensor(32)
meet()
if "b" in sys.argv[1]: churn()
kept = [tensor(3200 * at) for at in range(1, 6)]
assert refused(1 << 22)
if "a" in sys.argv[1]: churn()
meet()
"""
AT_ONCE = """\
kept = tensor(3200)
together = threading.Barrier(4)
said = []
def ask(rows):
    together.wait()
    said.append(refused(rows))
threads = [threading.Thread(target=ask, args=[(1 << 22) + 3200 * at]) for at in range(4)]
[one.start() for one in threads]; [one.join() for one in threads]
print(json.dumps(said), flush=True)
os._exit(0)
"""


def settings_of(stock: Stock, directory: Path) -> tuple[dict[str, str], "list[Path]"]:
    """The environment of a hooked program, and the counters that it leaves behind."""
    environ, chips = _environment(stock, directory, "n300", is_slow=False)
    hooked = {"TTMEM_SITES": "1", "LD_PRELOAD": str(hook_path()), "TTMEM_SYSTEM_DIR": str(directory)}
    return environ | hooked, [counters_of(chip) for chip in chips]


@pytest.mark.parametrize("wrapped", ["-", "b", "a", "ba"], ids=["whole", "before", "after", "both"])
def test_all_are_told_the_same_of_the_wheels_refusal(wrapped: str, stock: Stock, tmp_path: Path) -> None:
    settings, counters = settings_of(stock, tmp_path)
    model = tmp_path / "model.py"
    model.write_text(PRELUDE + MODEL)
    with short_directory() as directory:
        command = [str(stock.python), str(model), wrapped]
        told = list(told_by_all(command, directory, settings))
    for left in counters:
        left.unlink(missing_ok=True)

    assert len(told) == TOLD_COUNT
    assert told == [told[0]] * len(told)
    [incident], count, refusals, copy = told[0]
    assert (incident.number, incident.kind, incident.memory, count) == (1, "out_of_memory", "l1", 1)
    assert (refusals, len(incident.device_ids)) == (1, 2)  # of a mesh: counted once
    assert [frame.function for frame in incident.site.frames] == ["tensor", "refused", "<module>"]
    assert str(incident.requested_bytes) in incident.text
    assert sum(entry.kind == "buffer" for entry in copy.entries) == 5
    assert (incident.operations_since >= WRAP_EVENTS) == ("a" in wrapped)


def test_four_threads_refused_at_once_have_each_their_own(stock: Stock, tmp_path: Path) -> None:
    settings, counters = settings_of(stock, tmp_path)
    command = [str(stock.python), "-c", PRELUDE + AT_ONCE]
    environ = tracked(tmp_path / "journals", **settings)
    done = subprocess.run(command, env=environ, capture_output=True, text=True, cwd=tmp_path)
    for left in counters:
        left.unlink(missing_ok=True)

    assert done.returncode == 0, done.stderr[-2000:]
    said = json.loads(done.stdout)
    [path] = (tmp_path / "journals").glob("*.journal")
    with path.open("rb") as file:
        document = journal_document(str(path), file, 1000)
    incidents = document["incidents"]
    assert (document["incident_count"], sorted(one["number"] for one in incidents)) == (4, [1, 2, 3, 4])
    assert len({one["thread"] for one in incidents}) == 4
    texts = [one["text"] for one in incidents]
    assert all(sum(text in words for words in said) == 1 for text in texts), (texts, said)
