"""Stored traces against the stock runtime: the same buffers and captures, every place, refusal and free byte.

A mock device can capture nothing but an empty trace; where it goes, and whether it may, depends on the buffers made and
freed around and during the capture all the same.
"""

import random
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.ttnn.runtime import Runtime, StartedRuntime
from ttmem import metal
from ttmem.devices import BufferType

STEPS = 400
Step = dict[str, Any]
Answer = dict[str, Any]


class Story:
    """Random buffers and captures, as steps; told at every step what came of it."""

    def __init__(self, seed: str, bank_count: int, bank_bytes: int) -> None:
        self._choose = random.Random(seed)
        self._bank_count, self._bank_bytes = bank_count, bank_bytes
        self._largest_bytes = bank_bytes  # free in one piece
        self._buffers: list[int] = []
        self._traces: list[int] = []
        self._captured: int | None = None
        self._next = 0

    def steps(self) -> Iterator[Step]:
        for _ in range(STEPS):
            what = self._choose.random()
            if what < 0.35:
                yield self._alloc()
            elif what < 0.55 and self._buffers:
                place = self._choose.randrange(len(self._buffers))
                yield {"op": "free", "id": self._buffers.pop(place), "type": "DRAM"}
            elif what < 0.7 and self._traces and self._captured is None:
                place = self._choose.randrange(len(self._traces))
                yield {"op": "release", "id": self._traces.pop(place), "type": "DRAM"}
            else:
                yield self._capture()
        if self._captured is not None:
            yield self._capture()

    def hear(self, step: Step, answer: Answer) -> None:
        self._largest_bytes = answer["view"][-1]
        if "refused" in answer:
            return
        if step["op"] == "alloc":
            self._buffers.append(step["id"])
        if step["op"] == "end":
            self._traces.append(step["id"])

    def _alloc(self) -> Step:
        """From little to most of a bank, and often all there is in one piece, so that traces have to lie elsewhere."""
        share = self._choose.choice((0.001, 0.05, 0.3))
        wanted_bytes = self._choose.choice((int(self._bank_bytes * share), self._largest_bytes))
        tiles = self._bank_count * max(1, wanted_bytes // 2_048)
        kind = {"type": "DRAM", "dtype": "bfloat16", "layout": "INTERLEAVED", "is_tiled": True}
        return {"op": "alloc", "id": self._number(), "shape": [1, 1, 32 * tiles, 32], **kind}

    def _capture(self) -> Step:
        if self._captured is None:
            self._captured = self._number()
            return {"op": "begin", "id": self._captured, "type": "DRAM"}
        ended, self._captured = self._captured, None
        return {"op": "end", "id": ended, "type": "DRAM"}

    def _number(self) -> int:
        self._next += 1
        return self._next


class Model:
    """A mesh of ours that does the steps of a story."""

    def __init__(self, device: metal.MeshDevice) -> None:
        self._device = device
        self._buffers: dict[int, metal.Buffer] = {}
        self._traces: dict[int, int] = {}

    def do(self, step: Step) -> Answer:
        does = {"alloc": self._alloc, "free": self._free, "begin": self._begin, "end": self._end}
        try:
            answer = does.get(step["op"], self._release)(step)
        except metal.MetalError as refused:
            answer = {"refused": str(refused)}
        return answer

    def blocks(self, memory: str) -> list[list[int]]:
        return [list(block) for block in self._device.allocator.blocks(BufferType[memory])]

    def _alloc(self, step: Step) -> Answer:
        buffer = self._buffers[step["id"]] = self._device.create_buffer(metal.tensor(step["shape"], step["dtype"]))
        return {"address": buffer.address}

    def _free(self, step: Step) -> Answer:
        self._buffers.pop(step["id"]).deallocate()
        return {"was_there": True}

    def _begin(self, step: Step) -> Answer:
        self._traces[step["id"]] = self._device.begin_trace()
        return {}

    def _end(self, step: Step) -> Answer:
        self._device.end_trace(self._traces[step["id"]])
        return {}

    def _release(self, step: Step) -> Answer:
        self._device.release_trace(self._traces[step["id"]])
        return {}


@pytest.mark.parametrize("board", ["n150", "p150"])
@pytest.mark.parametrize("region_bytes", [0, 6_144], ids=["in DRAM", "in a region"])
@pytest.mark.parametrize("seed", [1, 2])
def test_traces_are_stored_and_refused_as_the_runtime_does(
    runtime_of: StartedRuntime, board: str, region_bytes: int, seed: int
) -> None:
    runtime = runtime_of(board)
    refusals: Counter[str] = Counter()
    with (
        runtime.opened(trace=region_bytes) as opened,
        metal.open_device(board, trace_region_bytes=region_bytes) as device,
    ):
        bank_count, bank_bytes, *_ = opened.views["DRAM"]
        story, model = Story(f"{board} {region_bytes} {seed}", bank_count, bank_bytes), Model(device)
        for step in story.steps():
            theirs, ours = _asked(runtime, step), model.do(step)
            assert _plain(ours) == _plain(theirs), step
            story.hear(step, theirs)
            if step["op"] in ("end", "release"):
                tables = runtime.blocks()
                assert {memory: model.blocks(memory) for memory in ("DRAM", "TRACE")} == {
                    memory: tables[memory] for memory in ("DRAM", "TRACE")
                }
            if "refused" in theirs and step["op"] == "end":
                refusals[re.sub(r"\d+", "", theirs["refused"])] += 1
    assert len(refusals) >= (1 if region_bytes else 3), "the story does not reach enough kinds of refusals"


def _asked(runtime: Runtime, step: Step) -> Answer:
    """The runtime's answer. It keeps the buffer of a refused trace until that is released, which we do at once."""
    [answer] = runtime.steps([step])
    if step["op"] == "end" and "Trace buffer at address" in answer.get("refused", ""):
        runtime.steps([{"op": "release", "id": step["id"], "type": "DRAM"}])
    return answer


def _plain(answer: Answer) -> Answer:
    """Without what differs: views are compared as tables, and each world numbers its meshes by itself."""
    words = {"refused": re.sub(r"MeshDevice \d+", "MeshDevice", answer["refused"])} if "refused" in answer else {}
    return {key: value for key, value in answer.items() if key != "view"} | words
