"""Runs inside a process of the stock runtime: how long it takes for what the hook sees.

A block is so many turns, timed as a whole in nanoseconds of the thread's CPU time:

    add       an operation that is cached, its result thrown away
    tensor    an empty tensor, made and freed from Python
    buffer    a MeshBuffer, made and freed from C: `library` is benchmarks/measure/mesh_buffers.c
    switched  as what `of` says (add or tensor), by turns without the hook and with it: what each turn took;
              `library` is benchmarks/measure/switched_hooks.c, `turn` the operations of one

All of it is called 20 Python frames deep.
"""

import ctypes
import os
import time
from typing import Any

from tests.support.ttnn.scripts.directed import DirectedBuffers

Request = dict[str, Any]
_DRAM, _BUFFER_BYTES = 0, 2048
_DEPTH = 20
_WARM = 25  # operations after a switch that are not counted


class Timing:
    """Times blocks on one opened mesh."""

    def __init__(self, ttnn: Any, mesh: Any, directed: DirectedBuffers) -> None:
        self._ttnn = ttnn
        self._mesh = mesh
        self._directed = directed
        shape = {"dtype": ttnn.bfloat16, "layout": ttnn.TILE_LAYOUT, "device": mesh}
        self._small: dict[str, Any] = {"shape": (1, 1, 32, 32), **shape}
        self._matrices = [ttnn.empty((1, 1, 512, 512), **shape) for _ in range(2)]
        self._switches: Any = None

    def block_ns(self, request: Request, depth: int = _DEPTH) -> int | list[list[int]]:
        if depth:
            return self.block_ns(request, depth - 1)
        if request["what"] == "switched":
            return self._switched(request)
        does = {"add": self._add, "tensor": self._tensor, "buffer": self._buffer}
        return does[request["what"]](request)

    def _switched(self, request: Request) -> list[list[int]]:
        """In short turns, so that whoever disturbs the machine disturbs both."""
        do = {"add": self._add, "tensor": self._tensor}[request["of"]]
        do({"count": _WARM})
        if self._switches is None:
            self._switches = ctypes.CDLL(request["library"])
            if not self._switches.find_slots(os.environ["LD_PRELOAD"].encode()):
                raise RuntimeError("nobody calls the hook")
        turns: list[list[int]] = [[], []]
        for _ in range(request["count"] // request["turn"]):
            for is_on in (0, 1):
                self._switches.switch_hooks(is_on)
                do({"count": _WARM})
                turns[is_on].append(do({"count": request["turn"]}))
        return turns

    def _add(self, request: Request) -> int:
        add, (left, right) = self._ttnn.add, self._matrices
        began = time.thread_time_ns()
        for _ in range(request["count"]):
            add(left, right)
        return time.thread_time_ns() - began

    def _tensor(self, request: Request) -> int:
        empty, what = self._ttnn.empty, self._small
        began = time.thread_time_ns()
        for _ in range(request["count"]):
            empty(**what).deallocate(True)
        return time.thread_time_ns() - began

    def _buffer(self, request: Request) -> int:
        pairs_ns = ctypes.CDLL(request["library"]).pairs_ns
        pairs_ns.restype = ctypes.c_uint64
        create, what, how, mesh = self._directed.call_of(_BUFFER_BYTES, _BUFFER_BYTES, _DRAM)
        return int(pairs_ns(create, what, how, ctypes.c_void_p(mesh), ctypes.c_uint32(request["count"])))
