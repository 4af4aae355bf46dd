"""A process and its forked child, each with four phases of its own on one chip; prints the pids of both."""

import os

import ttmem

chip = ttmem.open_device(0x61)
ttmem.report_buffer_alloc(chip, 1, 7 << 20)
child = os.fork()
size = (1 if child else 2) << 20
for number in range(4):
    with ttmem.phase("step"):
        ttmem.report_buffer_alloc(chip, 100 + number, size)
        ttmem.report_buffer_alloc(chip, 2, 3 << 20)
        ttmem.report_launch(chip, 9)
        ttmem.report_buffer_free(chip, 2)
if child == 0:
    os._exit(0)
os.waitpid(child, 0)
ttmem.report_buffer_free(chip, 1)
print(os.getpid(), child)
