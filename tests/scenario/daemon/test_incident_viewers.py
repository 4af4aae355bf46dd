"""One incident, told by C, by the Python client and by the runtime model: whoever looks, before, after, after death,
with a daemon of before, of after and with none, is told the same of it, also where the ring was wrapped meanwhile."""

import sys
from pathlib import Path

import pytest

from tests.support.faces.viewers import TOLD_COUNT, WRAP_EVENTS, told_by_all
from tests.support.processes.compiled import compiled
from tests.support.processes.native_programs import CLIENT_LIBRARY, ROOT
from tests.support.processes.programs import PRELUDE

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


@pytest.mark.slow
@pytest.mark.parametrize("wrapped", ["-", "b", "a", "ba"], ids=["whole", "before", "after", "both"])
@pytest.mark.parametrize("source", ["c", "client", "model"])
def test_all_are_shown_the_same(source: str, wrapped: str, c_program: Path, directory: Path) -> None:
    script = PRELUDE + CHURN + {"client": CLIENT, "model": MODEL}.get(source, "")
    command = [str(c_program), wrapped] if source == "c" else [sys.executable, "-c", script, wrapped]

    told = list(told_by_all(command, directory))

    assert len(told) == TOLD_COUNT
    assert told == [told[0]] * len(told)
    [incident], count, refusals, copy = told[0]
    assert (incident.number, incident.kind, incident.memory, count, refusals) == (
        1,
        "out_of_memory",
        "l1",
        1,
        1,
    )
    assert incident.requested_bytes == (1000 * 1024 * 64 if source == "model" else 1 << 20)
    assert incident.text.startswith("Out of Memory" if source == "model" else "no room")
    assert len(copy.entries) == (3 if source == "model" else 5)
    assert (incident.operations_since >= WRAP_EVENTS) == ("a" in wrapped)
