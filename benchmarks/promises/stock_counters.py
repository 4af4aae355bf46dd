"""Promise: a look at the stock runtime's own counters of 32 chips, two processes on each, costs at most 10 ms of CPU.

It is a whole snapshot of the collector, with nothing else to show: files listed, opened, read and decoded, processes
looked up, all of it joined. Nobody reads them between two looks. The regions are made up; the two processes are real.
"""

import os
import struct
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.figures.rows import Row, row
from benchmarks.stage.setting import Setting
from ttmem.collector import Collector
from ttmem.sources import Places
from ttmem.sources.stock_shm.layouts import LARGEST_BYTES, PROCESSES, compiled

CHIPS = 32
LOOKS = 10


def measure(setting: Setting) -> Iterator[Row]:
    with setting.fresh_directory() as own, subprocess.Popen(["sleep", "600"]) as other:
        try:
            for chip in range(CHIPS):
                (own.directory / f"tt_device_{chip}_memory").write_bytes(_region(os.getpid(), other.pid))
            yield row(
                "32 chips, 2 processes", _look_ms(own.directory, setting.repeats(15, 2)), "ms CPU", target="<= 10"
            )
        finally:
            other.kill()


def _look_ms(directory: Path, repeats: int) -> float:
    """The least of several batches: what it costs, not what the machine was doing meanwhile."""
    places = Places(uid=os.geteuid(), directory=str(directory / "none"), stock_directory=str(directory))
    with Collector(places) as collector:
        if len(collector.snapshot().live) != 2:
            raise RuntimeError("the two processes are not seen")
        return min(_batch_ms(collector) for _ in range(repeats))


def _batch_ms(collector: Collector) -> float:
    began = time.process_time()
    for _ in range(LOOKS):
        collector.snapshot()
    return 1e3 * (time.process_time() - began) / LOOKS


def _region(*pids: int) -> bytes:
    data = bytearray(LARGEST_BYTES)
    struct.pack_into("<II8xI", data, 0, 3, len(pids), len(pids))
    slot = compiled(PROCESSES.parts, PROCESSES.stride_bytes)
    for number, pid in enumerate(pids):
        at = PROCESSES.offset_bytes + number * PROCESSES.stride_bytes
        slot.pack_into(data, at, pid, 1 << 20, 1 << 16, 0, 0, 1 << 14, time.time_ns(), b"python")
    return bytes(data)
