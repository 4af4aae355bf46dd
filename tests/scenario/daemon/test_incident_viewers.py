"""One incident, told by C, by the Python client and by the runtime model: whoever looks, before, after, after death, with a
daemon of before, of after and with none, is told the same of it, also where the ring was wrapped meanwhile."""

import os
import sys
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.support.compiled import compiled
from tests.support.processes.native_programs import CLIENT_LIBRARY, ROOT
from tests.support.programs import PRELUDE, a_command
from tests.support.seed_serving import a_daemon
from tests.support.waiting import wait_until
from ttmem.daemon.asking.looking import Looking
from ttmem.snapshot.document import document
from ttmem.snapshot.incidents import IncidentCopy

WRAPS = 200_000  # events, each time
C_PROGRAM = """
#include <stdio.h>
#include <string.h>
#include "ttmem/client.h"
static uint16_t chip;
static void meet(void) { char line[8]; puts("here"); fflush(stdout); fgets(line, sizeof line, stdin); }
static void take(uint64_t id, uint64_t bytes) {
    ttmem_buffer buffer = {.id = id, .address = id << 12, .requested_bytes = bytes, .reserved_bytes = bytes,
                           .target = chip, .type = TTMEM_BUFFER_L1};
    ttmem_handle handle = ttmem_buffer_alloc(&buffer);
    if (bytes == 64) ttmem_free(handle);
}
static void churn(void) { for (int i = 0; i < 100000; ++i) take(1000000, 64); }
int main(int argc, char** argv) {
    ttmem_device device;
    memset(&device, 0, sizeof device);
    device.unique_id = 0x10;
    chip = ttmem_device_open(&device);
    meet();
    if (strchr(argv[1], 'b')) churn();
    for (uint64_t id = 1; id < 6; ++id) take(id, 4096 * id);
    ttmem_incident told;
    memset(&told, 0xff, sizeof told);
    told.struct_bytes = sizeof told;
    told.target = chip, told.kind = TTMEM_INCIDENT_OUT_OF_MEMORY, told.pool = TTMEM_L1;
    told.requested_bytes = 1 << 20, told.per_bank_bytes = 1 << 14, told.bank_count = 64;
    told.core_set = 0, told.space_begin_address = 0, told.space_end_address = 1 << 20, told.program = 0;
    told.cb_end_address = told.buffer_address = told.trace = told.address = 0;
    told.site = told.other_site = told.options = 0;
    told.text = "no room", told.text_bytes = 7;
    ttmem_report_incident(&told);
    if (strchr(argv[1], 'a')) churn();
    meet();
}
"""
CHURN = """
def churn():
    for at in range(100_000):
        ttmem.report_buffer_alloc(other, 1_000_000, 64)
        ttmem.report_buffer_free(other, 1_000_000)
"""
CLIENT = """
other = chip = ttmem.open_device(0x10, index=0, grid=(8, 8))
meet()
if 'b' in sys.argv[1]: churn()
for at in range(1, 6): ttmem.report_buffer_alloc(chip, at, 4096 * at, 4096 * at, at << 12, 64, 1)
with ttmem.phase('decode'):
    ttmem.report_incident(chip, 1, 2, requested_bytes=1 << 20, per_bank_bytes=1 << 14, bank_count=64, text='no room')
if 'a' in sys.argv[1]: churn()
meet()
"""
MODEL = """
from ttmem import metal
from ttmem.devices import BufferType
device = metal.open_device("n150", tracker=ttmem.GraphTracker())
other = ttmem.open_device(0x99, index=7)
def of_every_core(kib): return device.create_buffer(metal.BufferSpec(kib * 1024 * 64, kib * 1024, BufferType.L1))
meet()
if 'b' in sys.argv[1]: churn()
kept = [of_every_core(100 * at) for at in range(1, 4)]
try:
    of_every_core(1000)
except metal.MetalError as refusal: pass
if 'a' in sys.argv[1]: churn()
meet()
"""


@pytest.fixture(scope="module")
def c_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("c") / "refused"
    rpath = f"-Wl,-rpath,{CLIENT_LIBRARY.parent}"
    return compiled(made, C_PROGRAM, f"-I{ROOT / 'native' / 'include'}", str(CLIENT_LIBRARY), rpath)


class Viewer:
    """Somebody who looks for himself, or asks a daemon."""

    def __init__(self, journals: Path, *, has_daemon: bool) -> None:
        self.looking = Looking({"TTMEM_DIR": str(journals)}, uid=os.geteuid(), has_daemon=has_daemon, is_following=True)
        self.has_daemon = has_daemon

    def told(self, pid: int) -> Any:
        """All but times, which every viewer works out from the journal's clock for itself."""
        [process] = document(self.looking.snapshot())["processes"]
        assert self.looking.is_collecting != self.has_daemon
        incidents = [{**one, "time": one["time"][:10]} for one in process["incidents"]]
        copy = self.looking.incident_copy(pid, 1)
        return incidents, process["incident_count"], process["refusals"], timeless(copy)


def timeless(copy: IncidentCopy | None) -> IncidentCopy:
    assert copy is not None
    entries = tuple(msgspec.structs.replace(entry, time_ns=0) for entry in copy.entries)
    incident = msgspec.structs.replace(copy.incident, time_ns=0)
    return msgspec.structs.replace(copy, incident=incident, entries=entries)


def told_by_all(command: Sequence[str], directory: Path, *, has_daemon: bool) -> Iterable[Any]:
    """What each viewer is told: of before, of after and a second one, both again after death, and one of after death."""
    with ExitStack() as stack:
        daemon = stack.enter_context(a_daemon(directory=directory)) if has_daemon else None
        journals = directory / "j"

        def a_viewer() -> Viewer:
            viewer = Viewer(journals, has_daemon=has_daemon)
            stack.enter_context(viewer.looking)
            return viewer

        program = stack.enter_context(a_command(command, journals))
        program.arrive()
        early = a_viewer()
        [process] = early.looking.snapshot().processes
        assert (process.incidents, process.incident_count) == ((), 0)
        program.go_on()
        program.arrive()
        late, second = a_viewer(), a_viewer()
        for viewer in (early, late, second):
            yield viewer.told(program.pid)
        program.process.kill()
        program.process.wait()
        wait_until(lambda: not early.looking.snapshot().live)
        for viewer in (early, late, a_viewer()):
            yield viewer.told(program.pid)
        if daemon is not None:
            assert daemon.terminate() == 0
            daemon.restart()
            yield a_viewer().told(program.pid)


@pytest.mark.slow
@pytest.mark.parametrize("has_daemon", [False, True], ids=["alone", "daemon"])
@pytest.mark.parametrize("wrapped", ["-", "b", "a", "ba"], ids=["whole", "before", "after", "both"])
@pytest.mark.parametrize("source", ["c", "client", "model"])
def test_all_are_told_the_same(source: str, wrapped: str, has_daemon: bool, c_program: Path, directory: Path) -> None:
    script = PRELUDE + CHURN + {"client": CLIENT, "model": MODEL}.get(source, "")
    command = [str(c_program), wrapped] if source == "c" else [sys.executable, "-c", script, wrapped]

    told = list(told_by_all(command, directory, has_daemon=has_daemon))

    assert len(told) == 6 + has_daemon
    assert told == [told[0]] * len(told)
    [incident], count, refusals, copy = told[0]
    assert (incident["number"], incident["kind"], incident["memory"], count, refusals) == (
        1,
        "out_of_memory",
        "l1",
        1,
        1,
    )
    assert incident["requested_bytes"] == (1000 * 1024 * 64 if source == "model" else 1 << 20)
    assert incident["text"].startswith("Out of Memory" if source == "model" else "no room")
    assert len(copy.entries) == (3 if source == "model" else 5)
    assert (incident["operations_since"] >= WRAPS) == ("a" in wrapped)
