"""Many processes on the same chips: `python -m benchmarks.stage.crowd PROCESSES CHIPS ALLOCATIONS`.

Each opens all chips, makes them one mesh, and holds so many buffers there. Says "ready" when all do; for every line of
input each of them frees its oldest buffer and makes a new one, then it says "moved". Ends with its input.
"""

import os
import signal
import socket
import sys
from contextlib import suppress

import ttmem
from ttmem.devices import Pool

CAPACITIES = {Pool.DRAM: 12 << 30, Pool.L1: 80 << 20}


def main() -> None:
    process_count, chip_count, live_count = map(int, sys.argv[1:4])
    members: list[tuple[int, socket.socket]] = []
    for _ in range(process_count):
        members.append(_started(chip_count, live_count, [line for _, line in members]))
    try:
        _hear_all(members)
        print("ready", flush=True)
        for _ in sys.stdin:
            for _, line in members:
                line.send(b".")
            _hear_all(members)
            print("moved", flush=True)
    finally:
        for pid, _ in members:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def _hear_all(members: list[tuple[int, socket.socket]]) -> None:
    for _, line in members:
        line.recv(1)


def _started(chip_count: int, live_count: int, others: list[socket.socket]) -> tuple[int, socket.socket]:
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        for line in (ours, *others):  # else it would not notice that we ended
            line.close()
        with suppress(BaseException):
            _hold(theirs, chip_count, live_count)
        os._exit(0)
    theirs.close()
    return pid, ours


def _hold(line: socket.socket, chip_count: int, live_count: int) -> None:
    with ttmem.Client() as client:
        chips = [
            client.open_device(0x1000 + at, index=at, grid=(8, 8), banks=(12, 64), capacities=CAPACITIES)
            for at in range(chip_count)
        ]
        mesh = client.open_mesh(chips, 1, chip_count)
        made = 0
        while made < live_count or line.recv(1):
            made += 1
            size = 4096 * (1 + made % 7)
            if made > live_count:
                client.report_buffer_free(mesh, made - live_count)
            client.report_buffer_alloc(mesh, made, size, size, 0x8000 * (made % live_count + 1), 4096, made % 2)
            if made >= live_count:
                line.send(b".")


if __name__ == "__main__":
    main()
