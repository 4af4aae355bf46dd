"""A program on the runtime model that gets into every trouble an alert is about, one step for each line of stdin.

Prints what it holds after every step, as JSON. The word "trouble" asks for: DRAM in pieces and refused, L1 full, and
circular buffers that clash.
"""

import json
import sys

import ttmem
from ttmem import metal
from ttmem.devices import BufferType, Pool

POOLS = (Pool.DRAM, Pool.L1, Pool.L1_SMALL)
CORES = metal.CoreRanges.grid(8, 8)

device = metal.open_device("n150", l1_small_bytes=32768, trace_region_bytes=1 << 20, tracker=ttmem.GraphTracker())
chip = device.chips[0]


def next_word() -> str:
    used = device.truth()[0].used_bytes
    print(json.dumps({pool.word: used.get(pool, 0) for pool in POOLS}), flush=True)
    return sys.stdin.readline().strip()


def run(size_bytes: int) -> metal.MeshWorkload:
    program = metal.Program(name="unary")
    program.add_circular_buffer(CORES, size_bytes)
    program.add_kernel(metal.Kernel(name="reader", cores=CORES, binaries=(2352,)))
    workload = metal.MeshWorkload(program)
    metal.enqueue(device, workload)
    return workload


def rows_of(per_bank_bytes: int) -> metal.Buffer:
    return device.create_buffer(metal.tensor((12, per_bank_bytes // 4), "uint32", is_tiled=False))


def in_l1(per_core_bytes: int) -> metal.Buffer:
    tiles = 64 * (per_core_bytes // 2048)
    return device.create_buffer(metal.tensor((32, 32 * tiles), "bfloat16", buffer_type=BufferType.L1))


held = [in_l1(4096), rows_of(1 << 20)]
workload = run(4096)
while next_word() != "trouble":
    metal.enqueue(device, workload)
    held.append(rows_of(1 << 18))

pieces: list[metal.Buffer] = []
try:
    while True:
        pieces.append(rows_of(chip.dram_bank_bytes // 121 // 64 * 64))
except metal.OutOfDeviceMemory:
    for piece in pieces[5::11]:
        piece.deallocate()
held.append(in_l1(chip.l1_bank_bytes * 98 // 100))
try:
    run(chip.l1_bank_bytes // 2)
except metal.CircularBufferClash:
    next_word()
