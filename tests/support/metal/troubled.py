"""A program on the runtime model that gets into every trouble an alert is about, one step whenever it is told to.

with a_troubled_program(directory) as program:
    truth = program.step()            # a program ran and left a tensor behind; what the model says is held
    truth = program.step("trouble")   # DRAM in pieces and refused, L1 full, circular buffers that clash
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.programs import Program, a_program

_LINES = """\
import json
from ttmem import metal
from ttmem.devices import BufferType, Pool

def told():
    used = device.truth()[0].used_bytes
    print(json.dumps({pool.word: used.get(pool, 0) for pool in (Pool.DRAM, Pool.L1, Pool.L1_SMALL)}), flush=True)
    return sys.stdin.readline().strip()

def run(size_bytes):
    program = metal.Program(name="unary")
    program.add_circular_buffer(cores, size_bytes)
    program.add_kernel(metal.Kernel(name="reader", cores=cores, binaries=(2352,)))
    workload = metal.MeshWorkload(program)
    metal.enqueue(device, workload)
    return workload

def rows_of(per_bank_bytes):
    return device.create_buffer(metal.tensor((12, per_bank_bytes // 4), "uint32", is_tiled=False))

def in_l1(per_core_bytes):
    tiles = 64 * (per_core_bytes // 2048)
    return device.create_buffer(metal.tensor((32, 32 * tiles), "bfloat16", buffer_type=BufferType.L1))

cores = metal.CoreRanges.grid(8, 8)
device = metal.open_device("n150", l1_small_bytes=32768, trace_region_bytes=1 << 20, tracker=ttmem.GraphTracker())
chip = device.chips[0]
kept = [in_l1(4096), rows_of(1 << 20)]
workload = run(4096)
while told() != "trouble":
    metal.enqueue(device, workload)
    kept.append(rows_of(1 << 18))

pieces = []
try:
    while True:
        pieces.append(rows_of(chip.dram_bank_bytes // 121 // 64 * 64))
except metal.OutOfDeviceMemory:
    for piece in pieces[5::11]:
        piece.deallocate()
kept.append(in_l1(chip.l1_bank_bytes * 98 // 100))
try:
    run(chip.l1_bank_bytes // 2)
except metal.CircularBufferClash:
    told()
"""


class Troubled:
    """The program; it waits at the end of every step."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self.truth = self._heard()

    def step(self, word: str = "") -> dict[str, int]:
        """One more; what is held afterwards, by pool."""
        assert self._program.process.stdin is not None
        self._program.process.stdin.write(f"{word}\n")
        self._program.process.stdin.flush()
        self.truth = self._heard()
        return self.truth

    def _heard(self) -> dict[str, int]:
        assert self._program.process.stdout is not None
        line = self._program.process.stdout.readline()
        assert line, f"the program ended with {self._program.process.wait()}"
        return dict(json.loads(line))


@contextmanager
def a_troubled_program(directory: Path, label: str) -> Iterator[Troubled]:
    with a_program(directory, _LINES, TTMEM_LABEL=label) as program:
        yield Troubled(program)
