"""A program that allocates one buffer after the other and notes when each call had returned:

    python -m tests.programs.recording.steady NOTES CALLS PAUSE_US

NOTES is a file of 64-bit words: how many calls have returned, then CLOCK_MONOTONIC for each of them. After every 20 it
naps. Says "ready" once it has a chip; whoever is told kills it.
"""

import mmap
import sys
import time

import ttmem

SIZE = 4096
NAP_EVERY = 20


def main(path: str, call_count: str, pause_us: str) -> None:
    count = int(call_count)
    with open(path, "r+b") as file:
        words = memoryview(mmap.mmap(file.fileno(), (count + 1) * 8)).cast("Q")
    chip = ttmem.open_device(0x51)
    print("ready", flush=True)
    for number in range(1, count + 1):
        ttmem.report_buffer_alloc(chip, number, SIZE)
        words[number] = time.monotonic_ns()
        words[0] = number
        if number % NAP_EVERY == 0:
            time.sleep(int(pause_us) / 1e6)
    sys.stdin.read()


if __name__ == "__main__":
    main(*sys.argv[1:])
