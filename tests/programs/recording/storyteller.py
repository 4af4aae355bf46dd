"""Forks a process of the runtime model for each request on a socket; it does what it is told on a line of its own.

Argument: the descriptor of the socket. A request is the settings of a process as JSON, with the line's descriptor.
Every order is a word and its values, and is answered with what is true afterwards by the model's own arithmetic: bytes
of every chip and pool, every buffer, and the most that each pool held since the order before.

   open BOARD ROWS COLUMNS OFFSET HYBRID     the chips
   make TYPE BYTES CORES                     a buffer in DRAM (0), L1 (1), or by core in L1 on so many cores (2)
   free CHOICE                               one of its buffers
   many COUNT SEED                           so many of both, without anyone looking
   fork                                      a child, to which `child` orders go from now on
   child ORDER...                            what the child does
"""

import json
import os
import random
import signal
import socket
import sys
from typing import Any

from ttmem import GraphTracker, _native, metal
from ttmem.devices import BufferType
from ttmem.metal import Allocation, Buffer, Layout, OutOfDeviceMemory

CORES_OF_A_ROW = 4
Used = dict[str, dict[str, int]]


class Teller:
    """One process: its chips, its buffers, its child."""

    def __init__(self) -> None:
        self.buffers: list[Buffer] = []
        self.before: Used = {}  # held when it was forked: its parent's
        self.most: Used = {}
        self.child: Any = None

    def do(self, order: list[Any]) -> Any:
        word, *values = order
        self.most = {}
        if word == "child":
            print(json.dumps(values), file=self.child, flush=True)
            return json.loads(self.child.readline())
        getattr(self, word)(*values)
        return [os.getpid(), self.used(), self.alive(), self.most]

    def open(self, board: str, rows: int, columns: int, offset: int, is_hybrid: bool) -> None:
        self.tracker = GraphTracker()
        shape = (rows, columns)
        self.mesh = metal.open_mesh(
            board, shape, chip_offset=offset, tracker=self.tracker, is_hybrid=is_hybrid, has_fabric=False
        )
        self.note()

    def make(self, place: int, size_bytes: int, core_count: int) -> None:
        if place == 2:
            side = size_bytes // 64
            cores = [(column, 0) for column in range(core_count)]
            spec = metal.tensor(
                (side * core_count, 64),
                "uint8",
                buffer_type=BufferType.L1,
                layout=Layout.HEIGHT_SHARDED,
                is_tiled=False,
                shard=(side, 64),
                cores=cores,
                allocation=Allocation.PER_CORE,
            )
        else:
            kind = (BufferType.DRAM, BufferType.L1)[place]
            spec = metal.BufferSpec(size_bytes, 64, kind)
        try:
            self.buffers.append(self.mesh.create_buffer(spec))
        except OutOfDeviceMemory:
            return
        self.note()

    def free(self, choice: int) -> None:
        if self.buffers:
            self.buffers.pop(choice % len(self.buffers)).deallocate()
        self.note()

    def many(self, count: int, seed: int) -> None:
        chance = random.Random(seed)
        for _ in range(count):
            if chance.random() < 0.5:
                self.make(chance.randrange(2), 64 * chance.randrange(1, 200), 1)
            else:
                self.free(chance.randrange(1 << 16))

    def fork(self) -> None:
        ours, theirs = socket.socketpair()
        if os.fork() == 0:
            ours.close()
            self.buffers = []
            self.before = self.held()
            serve(self, theirs)
            os._exit(0)
        theirs.close()
        self.child = ours.makefile("rw", encoding="utf-8")
        self.child.readline()

    def held(self) -> Used:
        return {
            str(chip.unique_id): {pool.word: size for pool, size in chip.used_bytes.items() if size}
            for chip in self.mesh.truth().chips
        }

    def used(self) -> Used:
        """Without what is its parent's."""
        found = {}
        for chip, pools in self.held().items():
            own = {pool: size - self.before.get(chip, {}).get(pool, 0) for pool, size in pools.items()}
            found[chip] = {pool: size for pool, size in own.items() if size}
        return found

    def alive(self) -> list[list[Any]]:
        """Of its buffers: the id, where it lies (by core: on the first), and its bytes on each chip."""
        return sorted([one.unique_id, _address(one), one.reserved_bytes] for one in self.buffers)

    def note(self) -> None:
        for chip, pools in self.used().items():
            most = self.most.setdefault(chip, {})
            for pool, size in pools.items():
                most[pool] = max(most.get(pool, 0), size)


def _address(buffer: Buffer) -> int:
    addresses = buffer.placement.core_addresses
    return addresses[0][0] if addresses else buffer.address


def serve(teller: Teller, line: socket.socket) -> None:
    said = line.makefile("rw", encoding="utf-8")
    print(json.dumps([os.getpid()]), file=said, flush=True)
    for order in said:
        print(json.dumps(teller.do(json.loads(order))), file=said, flush=True)


def main(descriptor: str) -> None:
    requests = socket.socket(fileno=int(descriptor))
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        text, files, _, _ = socket.recv_fds(requests, 1 << 16, 1)
        if not text:
            return
        line = socket.socket(fileno=files[0])
        if os.fork() == 0:
            requests.close()
            settings = json.loads(text)
            os.environ.update(settings)
            _native.client.enable(settings["TTMEM_DIR"])
            serve(Teller(), line)
            os._exit(0)
        line.close()


if __name__ == "__main__":
    main(sys.argv[1])
