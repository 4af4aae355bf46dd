"""Promise: a report from Python costs at most 80 ns with 1,000 alive, and 40 ns when tracking is off.

Positional calls of the native functions; a pair of allocation and free counts as two. Runs in a process of its
own (`python -m benchmarks.promises.report_python SOCKET BATCHES`), which has a journal of its own. The baseline
packs and sends the old design's message from Python.
"""

import itertools
import os
import socket
import statistics
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator

from benchmarks.figures.rows import Row, row
from benchmarks.stage.actors import ActorFailed, older_server
from benchmarks.stage.build import ROOT
from benchmarks.stage.setting import Setting

LIVE = 1_000
PAIRS = 200_000
SIZE_BYTES = 4096
BY_HANDLE = 2
_TARGETS = {"by id": "<= 80", "by handle": "<= 80", "off": "<= 40"}

Loop = Callable[[int, int], None]


def measure(setting: Setting) -> Iterator[Row]:
    with setting.fresh_directory() as own, older_server(own) as (_, socket_path):
        command = [sys.executable, "-m", __name__, str(socket_path), str(setting.repeats(11))]
        done = subprocess.run(command, env=own.environment(), cwd=ROOT, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise ActorFailed(f"{__name__} ended with status {done.returncode}")
    figures = dict(line.split(": ") for line in done.stdout.splitlines())
    sent_ns = float(figures["sent"])
    for name, target in _TARGETS.items():
        baseline = None if name == "off" else sent_ns
        yield row(name, float(figures[name]), "ns", target=target, baseline=baseline)


def net_ns(loop: Loop, empty: Loop, batches: int, *, pairs: int = PAIRS) -> float:
    """Median of batch means of CPU time per call, each less an empty batch beside it."""
    first = 0
    loop(first, pairs)
    means = []
    for _ in range(batches):
        empty_ns = cpu_ns(empty, first, pairs)
        first += pairs
        means.append((cpu_ns(loop, first, pairs) - empty_ns) / (2 * pairs))
    return statistics.median(means)


def cpu_ns(loop: Loop, first: int, pairs: int) -> int:
    began = time.thread_time_ns()
    loop(first, pairs)
    return time.thread_time_ns() - began


def old_and_new(first: int, pairs: int) -> Iterator[tuple[int, int]]:
    return zip(range(first, first + pairs), range(first + LIVE, first + LIVE + pairs), strict=True)


def empty(first: int, pairs: int) -> None:
    for _old, _new in old_and_new(first, pairs):
        pass


def _by_id(target: int) -> Loop:
    from ttmem._native import client

    alloc, free = client.report_buffer_alloc, client.report_buffer_free

    def loop(first: int, pairs: int) -> None:
        for old, new in old_and_new(first, pairs):
            free(target, old)
            alloc(target, new, SIZE_BYTES)

    for new in range(LIVE):
        alloc(target, new, SIZE_BYTES)
    return loop


def _by_handle(target: int) -> tuple[Loop, Loop]:
    from ttmem._native import client

    alloc, free = client.report_buffer_alloc, client.report_free
    handles = [alloc(target, new, SIZE_BYTES, 0, 0, 0, 0, 0, BY_HANDLE) for new in range(LIVE)]

    def slots_and_ids(first: int, pairs: int) -> Iterator[tuple[int, int]]:
        return zip(itertools.cycle(range(LIVE)), range(first + LIVE, first + LIVE + pairs), strict=False)

    def loop(first: int, pairs: int) -> None:
        for slot, new in slots_and_ids(first, pairs):
            free(handles[slot])
            handles[slot] = alloc(target, new, SIZE_BYTES, 0, 0, 0, 0, 0, BY_HANDLE)

    def empty(first: int, pairs: int) -> None:
        for slot, _new in slots_and_ids(first, pairs):
            kept = handles[slot]
            handles[slot] = kept

    return loop, empty


def _off(target: int) -> Loop:
    from ttmem._native import client

    alloc, free = client.report_buffer_alloc, client.report_buffer_free

    def loop(first: int, pairs: int) -> None:
        for old, new in old_and_new(first, pairs):
            free(target, old)
            alloc(target, new, SIZE_BYTES)

    return loop


def sent(path: str) -> Loop:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.connect(path)
    message = struct.Struct("<B3xiQB3xiQQ104x")
    lock = threading.Lock()

    def send(kind: int, number: int, size_bytes: int) -> None:
        packed = message.pack(kind, 0, size_bytes, 0, os.getpid(), number, time.time_ns())
        with lock:
            connection.sendall(packed)

    def loop(first: int, pairs: int) -> None:
        for old, new in old_and_new(first, pairs):
            send(2, old, 0)
            send(1, new, SIZE_BYTES)

    for new in range(LIVE):
        send(1, new, SIZE_BYTES)
    return loop


def main() -> None:
    from ttmem._native import client

    path, batches = sys.argv[1], int(sys.argv[2])
    if not client.enable():
        raise SystemExit("tracking could not be switched on")
    target = client.open_device(0xBE7C, 0, "wormhole_b0", "n300", (8, 8), (12, 64), (0,) * 10, 0)
    print("by handle:", net_ns(*_by_handle(target), batches))
    print("by id:", net_ns(_by_id(target), empty, batches))
    client.disable()
    print("off:", net_ns(_off(target), empty, batches))
    print("sent:", net_ns(sent(path), empty, batches, pairs=PAIRS // 20))


if __name__ == "__main__":
    main()
