"""The workload does not notice: with and without the hook the same addresses, refusals, figures and layouts."""

from itertools import islice
from typing import Any

import pytest

from tests.support.hooked.process import Hooked, StartedHooked
from tests.support.ttnn.runtime import has_compiler
from tests.support.ttnn.scripts.sequences import Sequence
from tests.support.ttnn.scripts.stories import Story

L1_SMALL, TRACE = 32_768, 1 << 20
OPERATIONS = (("add", [1, 2], "L1"), ("matmul", [1, 2], "DRAM"), ("softmax", [2], "L1"), ("exp", [1], "DRAM"))


def tensors() -> list[dict[str, Any]]:
    shape = {"op": "alloc", "shape": [1, 1, 512, 512], "dtype": "bfloat16", "is_tiled": True, "layout": "INTERLEAVED"}
    return [shape | {"id": 1, "type": "DRAM"}, shape | {"id": 2, "type": "L1"}]


def allocations(hooked: Hooked) -> list[Any]:
    """Every answer to a long random sequence, views and refusals included; then the buffers that are left."""
    with hooked.opened(l1_small=L1_SMALL, trace=TRACE) as device:
        sequence = Sequence(5, grid=device.grid, dram_bank_count=device.views["DRAM"][0])
        answers = hooked.runtime.steps(list(sequence.steps(600)))
        return [device, *answers, hooked.ask({"do": "judge"}), hooked.runtime.blocks()]


def programs(hooked: Hooked) -> list[Any]:
    """Operations, imagined and real, programs that clash with buffers, traces of nothing, an emptied cache."""
    with hooked.opened(l1_small=L1_SMALL, trace=TRACE) as device:
        said: list[Any] = hooked.runtime.steps(tensors())
        for number, (name, inputs, memory) in enumerate(OPERATIONS, 3):
            run = {"name": name, "inputs": inputs, "memory": memory, "id": number, "times": 2}
            said += [hooked.ask({"do": does, **run}) for does in ("imagine", "run")]
        story = Story(3, grid=device.grid, bank_bytes=device.views["L1"][1])
        for event in (*story.opening(), *islice(story.events(60), 60)):
            is_program = event["op"] == "program"
            said.append(
                hooked.runtime.program(event["buffers"], grid=device.grid)
                if is_program
                else hooked.runtime.steps([event])
            )
        trace = [{"op": op, "id": 900, "type": "TRACE"} for op in ("begin", "end", "release")]
        return [*said, hooked.runtime.steps(trace), hooked.ask({"do": "judge"}), hooked.ask({"do": "clear"})]


def refusals(said: list[Any]) -> list[str]:
    return [answer["refused"] for answer in said if isinstance(answer, dict) and "refused" in answer]


def test_allocations_come_out_the_same(hooked_of: StartedHooked) -> None:
    hooked, plain = (allocations(hooked_of("n150", is_hooked=is_hooked)) for is_hooked in (True, False))

    assert hooked == plain
    assert sum("Out of Memory" in words for words in refusals(plain)) > 3


@pytest.mark.skipif(not has_compiler(), reason="OPERATIONS NOT COMPARED: no riscv64-unknown-elf-gcc")
def test_programs_come_out_the_same(hooked_of: StartedHooked) -> None:
    hooked, plain = (programs(hooked_of("n150", is_hooked=is_hooked)) for is_hooked in (True, False))

    assert hooked == plain
    assert sum("clash" in words for words in refusals(plain)) > 3
