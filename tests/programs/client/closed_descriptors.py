"""Closes every descriptor, as daemons do, and opens a pair of sockets that takes their numbers; then reports again.

The first argument says what happens then: `report`, `fork` or `end`.
"""

import os
import socket
import sys
from typing import TypeAlias

from tests.programs.meeting import meet
from ttmem import AllocationClient

Pair: TypeAlias = tuple[socket.socket, socket.socket]


def become_daemon() -> Pair:
    os.closerange(3, 256)
    pair = socket.socketpair()
    for end in pair:
        end.setblocking(False)
    return pair


def received(pair: Pair) -> list[bytes | None]:
    return [_received(end) for end in pair]


def _received(end: socket.socket) -> bytes | None:
    try:
        return end.recv(1000)
    except BlockingIOError:
        return None


def is_whole(pair: Pair) -> bool:
    pair[0].send(b"x")
    return pair[1].recv(9) == b"x" and pair[1].send(b"y") == 1


def report() -> Pair:
    pair = become_daemon()
    AllocationClient.report_allocation(0, 1, 0, 2)
    AllocationClient.report_allocation(0, 1, 0, 3)
    print(received(pair), is_whole(pair), AllocationClient.lost_count())
    return pair


def fork() -> Pair:
    pair = become_daemon()
    pid = os.fork()
    if pid == 0:
        os._exit(0 if is_whole(pair) else 1)
    status = os.waitpid(pid, 0)[1]
    received(pair)
    meet()
    AllocationClient.report_allocation(0, 1, 0, 2)  # there is no server any more
    print(status, received(pair), is_whole(pair), flush=True)
    return pair


def end() -> Pair:
    for id in range(30_000):  # more than the socket takes: some is pending
        AllocationClient.report_allocation(0, 1, 0, id)
    near, far = become_daemon()
    if os.fork() == 0:
        near.close()
        far.setblocking(True)
        print("heard", far.recv(1000), flush=True)  # when its parent has ended
        os._exit(0)
    return near, far


AllocationClient.report_allocation(0, 1, 0, 1)
pair = {"report": report, "fork": fork, "end": end}[sys.argv[1]]()  # open until the program has ended
