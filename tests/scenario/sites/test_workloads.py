"""Sites of the demo's workloads, and of the model behind a tracker: lines of the workload, none of ttmem's own."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.support.processes.programs import tracked
from ttmem.collector import Collector
from ttmem.collector.rows.allocations import allocation_from_row
from ttmem.devices import Kind
from ttmem.monitor.parts.drawing import DrawArea, MonitorFrame
from ttmem.monitor.screens.overview import OverviewState, draw
from ttmem.snapshot import ProcessUsage
from ttmem.snapshot.dump import DumpedAllocation, owner_of
from ttmem.sources import Places
from ttmem.sources.inspected.journal import journal_document
from ttmem.view import plain
from ttmem.view.page import PageOptions
from ttmem.view.pages.ps import page

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


@contextmanager
def a_workload(name: str, journals: Path, round_count: int) -> Iterator[None]:
    """A workload's process that has played so much and holds its devices."""
    order = json.dumps({"name": name, "speed": 0, "round_count": round_count})
    command = [sys.executable, "-m", "ttmem.cli.demonstration.workload", order]
    with subprocess.Popen(
        command, env=tracked(journals), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if json.loads(line)["event"] == "done":
                break
        yield
        process.communicate()
    assert process.returncode == 0


def played(name: str, journals: Path, round_count: int) -> dict[str, Any]:
    """The journal of a workload's process while it holds its devices."""
    with a_workload(name, journals, round_count):
        [path] = journals.glob("*.journal")
        with path.open("rb") as file:
            return journal_document(str(path), file, 10_000)


@pytest.mark.slow
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


class Held(NamedTuple):
    """What a collector sees of a workload's process that holds its devices."""

    process: ProcessUsage
    allocations: list[DumpedAllocation]
    first_screen: str  # of the monitor, at 80x24
    table: str  # of `ttmem ps`, at 80 columns


def held_by(name: str, journals: Path, round_count: int) -> Held:
    with (
        a_workload(name, journals, round_count),
        Collector(Places(uid=os.geteuid(), directory=str(journals))) as collector,
    ):
        assert collector.wait_settled(10.0)
        snapshot = collector.snapshot()
        [process] = snapshot.live
        owner = owner_of(process)
        rows = collector.ledger.allocations(process.key)
        drawing = draw(MonitorFrame(overview=collector.overview()), DrawArea(80, 24), OverviewState())
        return Held(
            process,
            [allocation_from_row(row, owner) for row in rows],
            plain(list(drawing.lines)),
            plain(page(snapshot, PageOptions(width=80))),
        )


@pytest.mark.parametrize(
    ("name", "round_count"),
    [("llama-8b", 2), ("resnet-trace", 2), pytest.param("galaxy-70b", 2, marks=pytest.mark.slow)],
)
def test_a_sound_workload_names_lines_tensors_and_operations_and_has_no_incident(
    name: str, round_count: int, journals: Path
) -> None:
    process, allocations, *_ = held_by(name, journals, round_count)

    assert (process.incidents, process.incident_count, process.refusal_count, process.clash_count) == ((), 0, 0, 0)
    assert (process.findings, process.reason, process.sites_off) == ((), "", "")
    tensors = [one for one in allocations if one.kind is Kind.BUFFER and one.stack]
    assert tensors
    assert all(re.fullmatch(r"\d+(x\d+)* \w+ (tile|row major)", one.tensor) for one in tensors)
    assert all(one.operation.startswith("ttnn.") and one.layout for one in tensors)
    launched = [program for program in process.programs if program.launch_count and program.operation]
    assert {program.operation for program in launched} >= {"ttnn.matmul"}
    of_programs = [one for one in allocations if one.kind is Kind.CIRCULAR_BUFFER]
    assert of_programs
    assert all(one.operation.startswith("ttnn.") for one in of_programs)


@pytest.mark.parametrize(
    ("name", "kind", "tensor", "operation"),
    [
        ("oom-fragmented", "out_of_memory", "1x1x2048x14336 bfloat16 tile", "ttnn.from_torch"),
        pytest.param("leaky", "clash", None, "ttnn.embedding", marks=pytest.mark.slow),
        ("cb-clash", "clash", None, "ttnn.matmul"),
    ],
)
def test_the_incident_of_a_faulty_workload_names_line_tensor_and_operation(
    name: str, kind: str, tensor: str | None, operation: str, journals: Path
) -> None:
    [incident] = held_by(name, journals, 200).process.incidents

    assert incident.site is not None
    assert incident.site.frames[0].file.startswith("workloads/")
    assert (incident.kind, incident.site.tensor, incident.operation) == (kind, tensor, operation)


@pytest.mark.parametrize(
    ("name", "words", "on_screen"),
    [
        (
            "oom-fragmented",
            ("OUT OF MEMORY", "chip 0 ", "asked 56.0 MiB of DRAM", "faults.py:"),
            ("out of memory", "chip 0 ", "asked 56.0 MiB", "faults.py:"),
        ),
        pytest.param(
            "leaky",
            ("CLASH", "chip 0 ", "asked CBs up to 0x", "decode.py:"),
            ("circular buffers clash", "chip 0 ", "0x", "decode.py:"),
            marks=pytest.mark.slow,
        ),
        (
            "cb-clash",
            ("CLASH", "chip 0 ", "asked CBs up to 0x", "faults.py:"),
            ("circular buffers clash", "chip 0 ", "0x", "faults.py:"),
        ),
    ],
)
def test_the_first_screen_and_ps_say_what_happened_where_to_whom_and_which_line_asked(
    name: str, words: tuple[str, ...], on_screen: tuple[str, ...], journals: Path
) -> None:
    process, _, first_screen, table = held_by(name, journals, 200)
    number = re.compile(rf"\b(pid|incident) {process.pid}-1\b")

    [line] = [line for line in table.splitlines() if number.search(line)]
    assert [word for word in words if word not in line] == []
    assert len(line) <= 80
    assert f"ttmem explain {process.pid}-1 says why" in table

    lines = first_screen.splitlines()
    [at] = [at for at, line in enumerate(lines) if number.search(line)]
    block = " ".join(line.strip() for line in lines[at : at + 4])
    assert [word for word in on_screen if word not in block] == []


def test_behind_a_tracker_the_innermost_line_is_the_models_own(journals: Path, tmp_path: Path) -> None:
    program = tmp_path / "model.py"
    program.write_text(MODEL)

    done = subprocess.run([sys.executable, str(program)], env=tracked(journals), capture_output=True, text=True)

    assert (done.returncode, done.stderr) == (0, "")
    name = "/".join(program.parts[-3:])
    assert done.stdout.splitlines() == [f"{name}:6 attention", f"{name}:8 <module>"]
