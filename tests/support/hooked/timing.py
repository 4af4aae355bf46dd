"""Runs inside a process of the stock runtime: how long it takes for what the hook sees.

A block is so many turns, timed as a whole in nanoseconds of the thread's CPU time:

    add       an operation that is cached, its result thrown away
    tensor    an empty tensor, made and freed from Python
    buffer    a MeshBuffer, made and freed from C: `library` is benchmarks/measure/mesh_buffers.c
"""

import ctypes
import time
from typing import Any

from tests.support.ttnn.directed import DirectedBuffers

Request = dict[str, Any]
_DRAM, _BUFFER_BYTES = 0, 2048


class Timing:
    """Times blocks on one opened mesh."""

    def __init__(self, ttnn: Any, mesh: Any, directed: DirectedBuffers) -> None:
        self._ttnn = ttnn
        self._mesh = mesh
        self._directed = directed
        shape = {"dtype": ttnn.bfloat16, "layout": ttnn.TILE_LAYOUT, "device": mesh}
        self._small: dict[str, Any] = {"shape": (1, 1, 32, 32), **shape}
        self._matrices = [ttnn.empty((1, 1, 512, 512), **shape) for _ in range(2)]

    def block_ns(self, request: Request) -> int:
        does = {"add": self._add, "tensor": self._tensor, "buffer": self._buffer}
        return does[request["what"]](request)

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
