"""Promise: a call of `AllocationClient` costs at most 80 ns through the journal with 1,000 alive, 40 ns when off, and
4 us of CPU over the socket.

A pair of allocation and free counts as two; the loops are those of `report_python`. Over the socket the same calls
go to the old design's server, which each message then wakes; and for comparison to none at all (the old client:
14,000 ns each), while the backlog fills and once it is full. Each way is a process of its own (`python -m
benchmarks.promises.allocation_client WAY BATCHES`), since the transport is chosen once. The baseline packs and sends
the old message from Python, as fast as it can.
"""

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.figures.rows import Row, row
from benchmarks.promises.report_python import LIVE, PAIRS, SIZE_BYTES, Loop, cpu_ns, empty, net_ns, old_and_new, sent
from benchmarks.stage.actors import ActorFailed, older_server
from benchmarks.stage.build import ROOT
from benchmarks.stage.setting import Setting
from ttmem.client.connection import BACKLOG_MESSAGES

_TARGETS = {"buffer": "<= 80", "circular buffer": "<= 80", "kernel": "<= 80", "off": "<= 40"}
_SOCKET_TARGETS = {"socket": "<= 4000"}
_SENT_PAIRS = PAIRS // 20


def measure(setting: Setting) -> Iterator[Row]:
    with setting.fresh_directory() as own, older_server(own) as (_, socket_path):
        absent = own.directory / "nobody.sock"
        sent_ns = _figures(own, "sent", socket_path)["sent"]
        for name, target in _TARGETS.items():
            is_off = name == "off"
            value = _figures(own, name, TTMEM="0" if is_off else "1")[name]
            yield row(name, value, "ns", target=target, baseline=None if is_off else sent_ns)
        for way, path in {"socket": socket_path, "no server": absent}.items():
            for name, value in _figures(own, way, path, TTMEM_TRANSPORT="socket").items():
                yield row(name, value, "ns", target=_SOCKET_TARGETS.get(name), baseline=sent_ns)


def _figures(setting: Setting, way: str, path: Path | None = None, **settings: str) -> dict[str, float]:
    command = [sys.executable, "-m", __name__, way, str(setting.repeats(11))]
    environment = setting.environment(TTMEM_SEED_SOCKET=str(path or ""), **settings)
    discard = subprocess.DEVNULL  # the warning that nobody listens
    done = subprocess.run(command, env=environment, cwd=ROOT, stdout=subprocess.PIPE, stderr=discard, text=True)
    if done.returncode != 0:
        raise ActorFailed(f"{__name__} {way} ended with status {done.returncode}")
    return {name: float(value) for name, value in (line.split(": ") for line in done.stdout.splitlines())}


def _buffers() -> Loop:
    from ttmem import AllocationClient

    def loop(first: int, pairs: int) -> None:
        for old, new in old_and_new(first, pairs):
            AllocationClient.report_deallocation(0, old)
            AllocationClient.report_allocation(0, SIZE_BYTES, 0, new)

    for new in range(LIVE):
        AllocationClient.report_allocation(0, SIZE_BYTES, 0, new)
    return loop


def _circular_buffers() -> Loop:
    from ttmem import AllocationClient

    def loop(first: int, pairs: int) -> None:
        for old, new in old_and_new(first, pairs):
            AllocationClient.report_cb_deallocation(0, SIZE_BYTES, old)
            AllocationClient.report_cb_allocation(0, SIZE_BYTES, new)

    for new in range(LIVE):
        AllocationClient.report_cb_allocation(0, SIZE_BYTES, new)
    return loop


def _kernels() -> Loop:
    from ttmem import AllocationClient

    def loop(first: int, pairs: int) -> None:
        for old, new in old_and_new(first, pairs):
            AllocationClient.report_kernel_unload(0, SIZE_BYTES, old)
            AllocationClient.report_kernel_load(0, SIZE_BYTES, new, 1)

    for new in range(LIVE):
        AllocationClient.report_kernel_load(0, SIZE_BYTES, new, 1)
    return loop


_LOOPS: dict[str, Callable[[], Loop]] = {
    "buffer": _buffers,
    "circular buffer": _circular_buffers,
    "kernel": _kernels,
    "off": _buffers,
}


def _net_burst_ns(loop: Loop, first: int, pairs: int) -> float:
    empty_ns = cpu_ns(empty, first, pairs)
    return (cpu_ns(loop, first, pairs) - empty_ns) / (2 * pairs)


def _socket(batches: int) -> None:
    """In bursts that the backlog can take, each after the server had time to catch up."""
    loop = _buffers()
    means = []
    for batch in range(batches):
        time.sleep(0.2)
        means.append(_net_burst_ns(loop, batch * _SENT_PAIRS, _SENT_PAIRS))
    print("socket:", statistics.median(means))


def _no_server(batches: int) -> None:
    loop = _buffers()
    print("no server, backlog filling:", _net_burst_ns(loop, 0, (BACKLOG_MESSAGES - LIVE) // 2))
    print("no server, backlog full:", net_ns(loop, empty, batches))


def main() -> None:
    way, batches = sys.argv[1], int(sys.argv[2])
    if way in _LOOPS:
        print(f"{way}:", net_ns(_LOOPS[way](), empty, batches))
    elif way == "sent":
        print("sent:", net_ns(sent(os.environ["TTMEM_SEED_SOCKET"]), empty, batches, pairs=_SENT_PAIRS))
    elif way == "socket":
        _socket(batches)
    else:
        _no_server(batches)


if __name__ == "__main__":
    main()
