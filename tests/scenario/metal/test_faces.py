"""`ttmem ps` in a process of its own, while the runtime model runs in this one: table and JSON say what is true."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.support.faces.json_documents import opened as opened_document
from tests.support.tracked.agreement import Figures, TrueFigures, differences
from tests.support.tracked.own_journal import OwnJournal
from tests.support.tracked.shown import devices_in, expected_in_table, figures_in
from ttmem import GraphTracker, metal
from ttmem.devices import BufferType
from ttmem.metal import BufferSpec, CoreRanges, MeshDevice, MeshWorkload, Program
from ttmem.snapshot.codec import decoded
from ttmem.view.pages.smi import SmiDocument


def ps(journal: OwnJournal, *flags: str) -> str:
    """What the command prints."""
    environ = {**os.environ, "TTMEM_DIR": str(journal.directory)}
    command = [sys.executable, "-m", "ttmem", "ps", "--no-daemon", "--pid", str(os.getpid()), *flags]
    return subprocess.run(command, env=environ, capture_output=True, text=True, check=True).stdout


@pytest.fixture
def busy(tracker: GraphTracker) -> Iterator[MeshDevice]:
    """Two chips with a little of everything."""
    with metal.open_mesh("n300", tracker=tracker, trace_region_bytes=1 << 20) as mesh:
        mesh.create_buffer(metal.tensor((4096, 4096), "bfloat8_b"))
        mesh.create_buffer(BufferSpec(2048 * 640, 2048, BufferType.L1))
        program = Program()
        program.add_kernel(metal.stock_kernel("reader_interleaved_no_bcast", CoreRanges.grid(8, 8)))
        program.add_circular_buffer(CoreRanges.grid(8, 8), 65_536)
        workload = MeshWorkload(program)
        metal.enqueue(mesh, workload)
        trace = mesh.begin_trace()
        metal.enqueue(mesh, workload)
        mesh.end_trace(trace)
        mesh.replay_trace(trace)
        yield mesh


def truth_about(mesh: MeshDevice) -> dict[int, Figures]:
    true = TrueFigures()
    true.opened(mesh)
    return true.figures()


def test_the_json_says_what_is_true(journal: OwnJournal, busy: MeshDevice) -> None:
    true = truth_about(busy)

    document = decoded(ps(journal, "--json").encode(), SmiDocument)
    told = figures_in(one.ttmem for one in document.device_info)

    held = ("used", "kernel_types", "core_types", "footprint", "rings", "images")
    assert differences(told, {chip: {name: figures[name] for name in held} for chip, figures in true.items()}) == []


def test_the_json_says_the_same_of_the_process_as_of_its_chips(journal: OwnJournal, busy: MeshDevice) -> None:
    true = truth_about(busy)

    [process] = opened_document(json.loads(ps(journal, "--json")))["processes"]

    for row in process["devices"]:
        figures = true.get(int(row["unique_id"], 16))
        if figures is not None:
            used = {pool.word: used for pool, used in figures["used"].items()}
            assert {word: pool["used_bytes"] for word, pool in row["memory"].items() if pool["used_bytes"]} == used


def test_the_table_says_what_is_true(journal: OwnJournal, busy: MeshDevice) -> None:
    true = truth_about(busy)

    rows = devices_in(ps(journal, "--id", ",".join(map(hex, true))).splitlines())

    for row, figures in zip(rows, true.values(), strict=True):
        expected = expected_in_table(figures)
        assert {pool: row.get(pool) for pool in expected} == expected
