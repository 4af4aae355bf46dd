"""A trace that is replayed over a buffer, as every face shows it: of a real process, living and dead."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.faces.json_documents import opened
from tests.support.processes.programs import Program, a_program
from tests.support.processes.running import python, ttmem

MODEL = """
import ttmem
from ttmem import metal
from ttmem.devices import BufferType

def tensor(kib):
    return device.create_buffer(metal.BufferSpec(kib * 1024, 2048, BufferType.DRAM))

def warm_up():
    trace = device.begin_trace()
    tensor(512).deallocate()
    device.end_trace(trace)
    return trace

ttmem.record_sites()
device = metal.open_device("n150", tracker=ttmem.GraphTracker(), trace_region_bytes=1 << 20)
trace = warm_up()
cache = tensor(256)
for _ in range(41):
    device.replay_trace(trace)
"""
HEADLINE = re.compile(
    r"UNSAFE REPLAY  chip 0, DRAM: trace \d+ was replayed 41 times while a buffer of 256 KiB lies where it writes "
)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("replayed")


@pytest.fixture(scope="module")
def program(directory: Path) -> Iterator[Program]:
    with a_program(directory, MODEL, "meet()") as one:
        one.arrive()
        yield one


def test_ps_has_a_line_for_it(program: Program, directory: Path) -> None:
    text = ttmem("ps", directory=directory).stdout

    assert re.search(
        rf"UNSAFE REPLAY x41  chip 0  pid {program.pid}-1  trace \d+ over 256 KiB  <string>:\d+ tensor", text
    )


def test_explain_says_who_made_the_buffer_who_captured_and_what_helps(program: Program, directory: Path) -> None:
    text = ttmem("explain", str(program.pid), directory=directory).stdout

    assert HEADLINE.search(text)
    assert re.search(r"    made by    <string>:\d+ tensor < <string>:\d+ <module>\n", text)
    assert re.search(r"    captured   <string>:\d+ warm_up < <string>:\d+ <module>\n", text)
    assert "    to avoid   allocate it before the capture, or free it before the replay\n" in text


def test_the_document_has_all_its_fields(program: Program, directory: Path) -> None:
    document: dict[str, Any] = opened(json.loads(ttmem("-s", directory=directory).stdout))
    [process] = [one for one in document["processes"] if one["pid"] == program.pid]
    [incident] = process["incidents"]

    assert (incident["kind"], incident["memory"], incident["repeat_count"]) == ("unsafe_replay", "dram", 40)
    assert (incident["requested_bytes"], incident["is_uncertain"]) == (256 << 10, False)
    assert (incident["address"] > 0, incident["trace"] is not None) == (True, True)
    assert process["findings"] == {}


def test_check_counts_it(program: Program, directory: Path) -> None:
    result = ttmem("check", "--max-incidents", "0", directory=directory)

    assert (result.returncode, f"pid {program.pid}-1" in result.stdout) == (5, True)


def test_a_run_ends_with_its_block_though_the_program_noticed_nothing(tmp_path: Path) -> None:
    result = ttmem("run", *python(MODEL), directory=tmp_path)

    assert result.returncode == 0
    assert HEADLINE.search(result.stderr)
    assert re.search(
        r"\n    captured   \S+ warm_up .*\n    to avoid   .*\n    next       ttmem explain \d+   ", result.stderr
    )
