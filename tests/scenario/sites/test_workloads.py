"""Sites of the demo's workloads, and of the model behind a tracker: lines of the workload, none of ttmem's own."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.programs import tracked
from ttmem.sources.inspected.journal import journal_document

MODEL = """\
import sys
import ttmem
from ttmem import metal
ttmem.record_sites()
def attention(device):
    return device.create_buffer(metal.BufferSpec(4096, 1024))
with ttmem.GraphTracker() as tracker, metal.open_device("n150", tracker=tracker) as device:
    kept = attention(device)
    [buffer] = [one for one in ttmem.memory_snapshot() if one["kind"] == "buffer"]
    print(*buffer["stack"], sep="\\n")
"""


def played(name: str, journals: Path, round_count: int) -> dict[str, Any]:
    """The journal of a workload's process while it holds its devices."""
    order = json.dumps({"name": name, "speed": 0, "round_count": round_count})
    command = [sys.executable, "-m", "ttmem.cli.demonstration.workload", order]
    with subprocess.Popen(
        command, env=tracked(journals), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if json.loads(line)["event"] == "done":
                break
        [path] = journals.glob("*.journal")
        with path.open("rb") as file:
            document = journal_document(str(path), file, 10_000)
        process.communicate()
    assert process.returncode == 0
    return document


@pytest.mark.parametrize(
    ("name", "round_count", "line"),
    [("leaky", 2, "workloads/faults.py"), ("llama-8b", 1, "workloads/llama/"), ("cb-clash", 2, "workloads/faults.py")],
)
def test_the_buffers_of_a_workload_name_lines_of_it(name: str, round_count: int, line: str, journals: Path) -> None:
    document = played(name, journals, round_count)

    # Storage of traces and of programs is asked for by the runtime itself.
    texts = [entry.get("site_text", "") for entry in document["live"] if entry["kind"] == "buffer"]
    named = [text for text in texts if text]
    assert len(named) >= len(texts) * 0.9
    assert any(text.startswith(line) for text in named)
    assert all(frame.startswith("workloads/") for text in named for frame in text.splitlines())


def test_behind_a_tracker_the_innermost_line_is_the_models_own(journals: Path, tmp_path: Path) -> None:
    program = tmp_path / "model.py"
    program.write_text(MODEL)

    done = subprocess.run([sys.executable, str(program)], env=tracked(journals), capture_output=True, text=True)

    assert (done.returncode, done.stderr) == (0, "")
    name = "/".join(program.parts[-3:])
    assert done.stdout.splitlines() == [f"{name}:6 attention", f"{name}:8 <module>"]
