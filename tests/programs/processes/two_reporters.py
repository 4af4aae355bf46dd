"""A process that reports on two chips of the driver, and its child that reports on one of them; until the test ends.

The child says "here". Argument: the unique id of the first chip.
"""

import os
import sys

import ttmem
from ttmem.devices import Pool

first_id = int(sys.argv[1])


def open_chip(at: int) -> int:
    return ttmem.open_device(
        first_id + at,
        index=3 + at,
        arch="blackhole",
        board="p150",
        grid=(8, 8),
        banks=(8, 64),
        capacities={Pool.DRAM: 4 << 30, Pool.L1: 64 << 20},
        kernel_ring_bytes=70_656,
    )


chips = [open_chip(at) for at in range(2)]
ttmem.label("a job")
ttmem.report_buffer_alloc(chips[0], 1, 3 << 30)
ttmem.report_buffer_alloc(chips[1], 2, 1 << 30)
if os.fork() == 0:
    ttmem.label("its child")
    ttmem.report_buffer_alloc(open_chip(1), 3, 5 << 20, 0, 0, 0, 1)
    print("here", flush=True)
sys.stdin.read()
