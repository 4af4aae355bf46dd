"""Reports over the socket and plain sends of the same bytes, in turns, in CPU time.

Prints the median of their ratios, and how many reports were lost.
"""

import os
import socket
import statistics
import time
from collections.abc import Callable

from ttmem import AllocationClient

MESSAGE, CALLS = b"\x02" + bytes(143), 1000

plain = socket.socket(socket.AF_UNIX)
plain.connect(os.environ["TTMEM_SEED_SOCKET"])


def used_ns(call: Callable[[], None]) -> int:
    began = time.thread_time_ns()
    call()
    return time.thread_time_ns() - began


def report() -> None:
    for id in range(CALLS):
        AllocationClient.report_allocation(0, 4096, 0, id)


def send() -> None:
    for _ in range(CALLS):
        plain.send(MESSAGE)


ratios = []
for _ in range(41):
    ratios.append(used_ns(report) / used_ns(send))
    time.sleep(0.005)  # lets the server catch up
print(statistics.median(ratios), AllocationClient.lost_count(), flush=True)
