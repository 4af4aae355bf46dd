"""Runs inside a process of the stock runtime: how long it takes for what the hook sees.

A block is a number of calls, timed as a whole in nanoseconds of the thread's CPU time:

    add       an operation that is cached, its result thrown away
    tensor    an empty tensor, made and freed from Python
    buffer    a MeshBuffer, made and freed from C: `library` is benchmarks/measure/mesh_buffers.c
    refused   a tensor that is larger than the memory, refused each time for the same reason
    unlike    the same, each time a tensor of another size
    new       a tensor, made and freed each time by a function that was never called before
    switched  as what `of` says, by turns without the hook and with it: what each turn took; `library` is
              benchmarks/measure/switched_hooks.c, `turn` the calls of one

    captured  as add, within a capture of the runtime's own graph: what it took, and bytes of the graph as JSON
    crowd     nothing is timed: so many buffers that live from then on, made as those of `buffer`

All of it is called by the 20th Python frame, and each of these is of another function.
"""

import ctypes
import json
import os
import sys
import time
from collections.abc import Callable
from types import FrameType, FunctionType
from typing import Any

from tests.support.ttnn.scripts.directed import DirectedBuffers

Request = dict[str, Any]
Block = Callable[[Request], Any]
_DRAM, _BUFFER_BYTES = 0, 2048
_DEPTH = 20
_WARM = 25  # operations after a switch that are not counted
_ROWS, _TOO_LARGE = 1 << 15, 1 << 18  # of bfloat16: 16 GiB


def _step(chain: list[Any], request: Request) -> Any:
    return chain[0](chain[1:], request)


def _function_like(function: Any, number: int) -> Any:
    """Another one that does the same."""
    return FunctionType(function.__code__.replace(co_name=f"{function.__name__}_{number}"), globals())


def _depth() -> int:
    frame: FrameType | None = sys._getframe(1)
    count = 0
    while frame is not None:
        frame, count = frame.f_back, count + 1
    return count


_STEPS = [_function_like(_step, number) for number in range(_DEPTH)]


def _called_deep(block: Block, request: Request) -> Any:
    """The same functions each time: a stack that was seen before."""
    chain = _STEPS[: _DEPTH - _depth() - 2]
    return chain[0]([*chain[1:], lambda _, asked: block(asked)], request)


def _warmed(block: Block, turn: int) -> int:
    """What the last block took, called by the very line that called the one before: another line is another stack."""
    took = 0
    for count in (min(_WARM, turn), turn):
        took = int(_called_deep(block, {"count": count}))
    return took


def _made_and_freed(empty: Any, what: Request) -> None:
    empty(**what).deallocate(True)


class Timing:
    """Times blocks on one opened mesh."""

    def __init__(self, ttnn: Any, mesh: Any, directed: DirectedBuffers) -> None:
        self._ttnn = ttnn
        self._mesh = mesh
        self._directed = directed
        form = {"dtype": ttnn.bfloat16, "layout": ttnn.TILE_LAYOUT, "device": mesh}
        self._form = form
        self._small: dict[str, Any] = {"shape": (1, 1, 32, 32), **form}
        self._matrices = [ttnn.empty((1, 1, 512, 512), **form) for _ in range(2)]
        self._used = 0  # numbers of what must be another one each time
        self._switches: Any = None

    def block_ns(self, request: Request) -> int | list[list[int]]:
        if request["what"] == "switched":
            return self._switched(request)
        if request["what"] == "captured":
            return [self._captured(request)]
        return int(_called_deep(self._block(request["what"]), request))

    def _block(self, name: str) -> Block:
        block: Block = getattr(self, f"_{name}")
        return block

    def _switched(self, request: Request) -> list[list[int]]:
        """In short turns, so that whoever disturbs the machine disturbs both."""
        block = self._block(request["of"])
        _called_deep(block, {"count": min(_WARM, request["turn"])})
        if self._switches is None:
            self._switches = ctypes.CDLL(request["library"])
            if not self._switches.find_slots(os.environ["LD_PRELOAD"].encode()):
                raise RuntimeError("nothing calls the hook")
        turns: list[list[int]] = [[], []]
        for _ in range(request["count"] // request["turn"]):
            for is_on in (0, 1):
                self._switches.switch_hooks(is_on)
                turns[is_on].append(_warmed(block, request["turn"]))
        return turns

    def _add(self, request: Request) -> int:
        add, (left, right) = self._ttnn.add, self._matrices
        began = time.thread_time_ns()
        for _ in range(request["count"]):
            add(left, right)
        return time.thread_time_ns() - began

    def _captured(self, request: Request) -> list[int]:
        graph = self._ttnn._ttnn.graph
        began = time.thread_time_ns()
        graph.begin_graph_capture(graph.RunMode.NORMAL)
        _called_deep(self._add, request)
        nodes = graph.end_graph_capture()
        took = time.thread_time_ns() - began
        return [took, len(json.dumps(nodes))]

    def _tensor(self, request: Request) -> int:
        empty, what = self._ttnn.empty, self._small
        began = time.thread_time_ns()
        for _ in range(request["count"]):
            empty(**what).deallocate(True)
        return time.thread_time_ns() - began

    def _new(self, request: Request) -> int:
        empty, what = self._ttnn.empty, self._small
        functions = [_function_like(_made_and_freed, number) for number in self._unused(request["count"])]
        began = time.thread_time_ns()
        for function in functions:
            function(empty, what)
        return time.thread_time_ns() - began

    def _refused(self, request: Request) -> int:
        return self._refusals_ns([_TOO_LARGE] * request["count"])

    def _unlike(self, request: Request) -> int:
        return self._refusals_ns([_TOO_LARGE + 32 * number for number in self._unused(request["count"])])

    def _unused(self, count: int) -> range:
        self._used += count
        return range(self._used - count, self._used)

    def _refusals_ns(self, sides: list[int]) -> int:
        began = time.thread_time_ns()
        for side in sides:
            try:
                self._ttnn.empty((1, 1, _ROWS, side), **self._form)
            except RuntimeError:
                continue
            raise RuntimeError("it was given")
        return time.thread_time_ns() - began

    def _buffer(self, request: Request) -> int:
        pairs_ns = ctypes.CDLL(request["library"]).pairs_ns
        pairs_ns.restype = ctypes.c_uint64
        create, what, how, mesh = self._directed.call_of(_BUFFER_BYTES, _BUFFER_BYTES, _DRAM)
        return int(pairs_ns(create, what, how, ctypes.c_void_p(mesh), ctypes.c_uint32(request["count"])))

    def _crowd(self, request: Request) -> int:
        create, what, how, mesh = self._directed.call_of(_BUFFER_BYTES, _BUFFER_BYTES, _DRAM)
        keep = ctypes.CDLL(request["library"]).keep
        keep(create, what, how, ctypes.c_void_p(mesh), ctypes.c_uint32(request["count"]))
        return 0
