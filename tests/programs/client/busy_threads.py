"""Threads report many allocations each, on a device of their own. Arguments: how many threads, and reports of each.

Prints how many reports were lost, and whether all of it took less than 4 s; the wait for a processor is not counted.
"""

import glob
import sys
import threading
import time
from pathlib import Path

from ttmem import AllocationClient


def waited(thread: str) -> float:
    try:
        return int(Path(thread).read_text().split()[1]) / 1e9
    except OSError:
        return 0.0


def clock() -> float:
    return time.monotonic() - sum(map(waited, glob.glob("/proc/self/task/*/schedstat")))


def work(device: int) -> None:
    for id in range(report_count):
        AllocationClient.report_allocation(device, 1, 0, id)


thread_count, report_count = map(int, sys.argv[1:])
threads = [threading.Thread(target=work, args=(device,)) for device in range(thread_count)]
began = clock()
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(AllocationClient.lost_count(), clock() - began < 4, flush=True)
