"""Traces as a program tells of them itself: from Python and from C, read from the journal."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.journals.journal_file import incidents
from tests.support.processes.children import Actor
from tests.support.processes.compiled import compiled
from tests.support.processes.native_programs import CLIENT_LIBRARY, ROOT
from ttmem.devices import Pool
from ttmem.sources.inspected import inspected

UNSAFE_REPLAY = 3
MAY_OVERLAP = 16

PROGRAM = """
#include <stdio.h>
#include <ttmem/client.h>

static ttmem_handle make(uint16_t target, uint64_t id, uint64_t address, uint8_t type) {
    const ttmem_buffer buffer = {.id = id, .address = address, .requested_bytes = 4000, .reserved_bytes = 8192,
                                 .per_bank_bytes = 4096, .target = target, .type = type};
    return ttmem_buffer_alloc(&buffer);
}

int main(void) {
    const ttmem_device chip = {.unique_id = 7, .index = 0, .grid_x = 8, .grid_y = 8};
    const uint16_t target = ttmem_device_open(&chip);
    const uint32_t captured = ttmem_intern("capture", 7);
    ttmem_circular_buffer cb = {.id = 1, .program = 5, .address = 0x4000, .size_per_core_bytes = 0x1000,
                                .core_count = 64, .target = target};
    cb.core_set = ttmem_intern("0,0-7,7", 7);
    ttmem_cb_alloc(&cb);
    ttmem_trace_begin(target, 9, captured);
    ttmem_free(make(target, 1, 0x10000, TTMEM_BUFFER_DRAM));
    ttmem_trace_program(target, 9, 5);
    ttmem_trace_end(target, 9, 2048);
    make(target, 2, 0x11000, TTMEM_BUFFER_DRAM);   /* behind it */
    make(target, 3, 0x10800, TTMEM_BUFFER_DRAM);   /* over it */
    make(target, 4, 0x3800, TTMEM_BUFFER_L1);      /* over the circular buffer */
    for (int i = 0; i < 3; ++i) ttmem_trace_replay(target, 9);
    ttmem_trace_release(target, 9);
    ttmem_trace_replay(target, 9);
    return printf("%s", ttmem_journal_path()) < 0;
}
"""


@pytest.fixture
def actor(journals: Path) -> Iterator[Actor]:
    with Actor(journals) as actor:
        actor.do("import ttmem")
        yield actor


def test_a_c_program_that_replays_over_its_buffers_has_an_incident_for_each(journals: Path, tmp_path: Path) -> None:
    options = ["-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'native' / 'include'}", str(CLIENT_LIBRARY)]
    program = compiled(tmp_path / "host", PROGRAM, *options, f"-Wl,-rpath,{CLIENT_LIBRARY.parent}")
    environ = os.environ | {"TTMEM": "1", "TTMEM_DIR": str(journals)}

    path = subprocess.run([program], env=environ, capture_output=True, text=True, check=True).stdout

    count, kept = incidents(Path(path))
    by_pool = {one.pool: one for one in kept}
    assert (count, {one.kind for one in kept}) == (2, {UNSAFE_REPLAY})
    dram, l1 = by_pool[Pool.DRAM.number], by_pool[Pool.L1.number]
    assert [dram.figures[name] for name in ("trace", "address", "requested", "per_bank")] == [9, 0x10800, 4000, 4096]
    assert [l1.figures[name] for name in ("trace", "address", "cb_end")] == [9, 0x3800, 0x5000]
    assert [one.figures["repeats"] for one in kept] == [2, 2]
    document = inspected(path, most=100)
    told = [event for event in document["recent"] if event["event"].startswith("Trace")]
    assert [event["event"] for event in told] == [
        "TraceCaptured",
        *["TraceReplayed"] * 3,
        "TraceReleased",
        "TraceReplayed",
    ]
    assert (told[0]["trace"], told[0]["size_bytes"], document["findings"]) == (9, 2048, {})


def test_the_python_client_reports_traces_as_c_does(actor: Actor) -> None:
    actor.do("chip = ttmem.open_device(7, banks=(2, 2)); client = ttmem.Client()")
    actor.do("client.report_trace_begin(chip, 4)")
    actor.do("client.report_free(client.report_buffer_alloc(chip, 1, 8192, 0, 0x1000, 4096))")
    actor.do("client.report_trace_program(chip, 4, 3); client.report_trace_end(chip, 4, 512)")
    actor.do("ttmem.report_buffer_alloc(chip, 2, 8192, 0, 0x1800, 4096)")
    actor.do("for _ in range(2): ttmem.report_trace_replay(chip, 4)")
    actor.do("ttmem.report_trace_release(chip, 4)")
    path = actor.journal
    actor.kill()

    count, [kept] = incidents(path)
    assert (count, kept.kind, kept.pool, kept.flags, kept.entry_ids) == (1, UNSAFE_REPLAY, Pool.DRAM.number, 0, [2])
    assert [kept.figures[name] for name in ("trace", "address", "repeats")] == [4, 0x1800, 1]


def test_a_size_that_was_not_reported_is_no_certain_claim(actor: Actor) -> None:
    """Of no chip that is known by its banks: the bytes of one bank are at most all of them."""
    actor.do("chip = ttmem.open_device(7); ttmem.report_trace_begin(chip, 4)")
    actor.do("ttmem.report_free(ttmem.report_buffer_alloc(chip, 1, 8192, 0, 0x1000))")
    actor.do("ttmem.report_trace_end(chip, 4); ttmem.report_buffer_alloc(chip, 2, 8192, 0, 0x1800)")
    actor.do("ttmem.report_trace_replay(chip, 4)")
    path = actor.journal
    actor.kill()

    _, [kept] = incidents(path)
    assert kept.flags == MAY_OVERLAP


@pytest.mark.parametrize("call", ["report_trace_begin(chip)", "report_trace_replay(chip, 1, 2)", "report_trace_end(1)"])
def test_a_wrong_call_is_said_as_such(actor: Actor, call: str) -> None:
    actor.do("chip = ttmem.open_device(7)")
    actor.do(f"try:\n    ttmem.{call}\n    said = ''\nexcept TypeError as error:\n    said = str(error)")

    assert "positional arguments" in actor.ask("said")
