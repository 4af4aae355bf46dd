"""Buffers on single cores and in lockstep beside them: the model against the stock runtime's allocator mode HYBRID.

Random allocations and frees in both worlds. Compared are the address of each, on each core of each chip where cores
have their own, the view of memory after each step, the whole text of each refusal, and the table of blocks at the end.
"""

from collections import Counter
from dataclasses import dataclass
from math import prod

import pytest

from tests.support.ttnn.model_memory import Answer, Model, differences, with_reserved_bytes
from tests.support.ttnn.model_programs import ModelOfPrograms, without_program_id
from tests.support.ttnn.runtime import StartedRuntime, has_compiler
from tests.support.ttnn.scripts.core_sequences import CoreSequence
from tests.support.ttnn.scripts.sequences import Step
from ttmem import metal
from ttmem.metal.chips import board

STEP_COUNT = 700  # of each sequence: what refusals lose fills a device, so that several short ones find more
SEEDS = (1, 2, 3)
TENSOR: Step = {"op": "alloc", "type": "L1", "dtype": "uint8", "is_tiled": False, "layout": "HEIGHT_SHARDED"}
KIB = 1024


@dataclass(frozen=True, slots=True)
class Opening:
    """A board, and how it is opened in both worlds."""

    board: str
    mesh: tuple[int, int]
    l1_small: int

    def __str__(self) -> str:
        return f"{self.board}-small{self.l1_small}"


OPENINGS = [
    Opening("n150", (1, 1), 32768),
    Opening("n300", (1, 2), 1000),
    Opening("t3000", (2, 4), 0),
    Opening("p150", (1, 1), 65536),
]


@pytest.mark.parametrize("opening", OPENINGS, ids=str)
@pytest.mark.parametrize("seed", SEEDS)
def test_every_answer_to_a_random_sequence_on_cores_is_the_runtimes(
    opening: Opening, seed: int, runtime_of: StartedRuntime
) -> None:
    chip = board(opening.board).chip(l1_small_bytes=opening.l1_small)
    steps = list(CoreSequence(seed, grid=chip.grid, dram_bank_count=chip.dram_bank_count).steps(STEP_COUNT))
    runtime = runtime_of(opening.board, is_hybrid=True)
    with runtime.opened(opening.mesh, l1_small=opening.l1_small) as device:
        answers = with_reserved_bytes(runtime.steps(steps), steps, device.views)
        blocks = runtime.blocks()

    model = Model(chip, chip_count=prod(opening.mesh), is_hybrid=True)
    different = differences(steps, answers, model.steps(steps, answers))
    assert not different, f"{len(different)} of {STEP_COUNT} steps:\n" + "\n".join(different[:5])
    assert model.blocks() == blocks
    assert_worth_comparing(steps, answers)


def assert_worth_comparing(steps: list[Step], answers: list[Answer]) -> None:
    """Each way to allocate must have been given memory and have been refused some."""
    said = Counter(
        (step["allocation"], word)
        for step, answer in zip(steps, answers, strict=True)
        if "allocation" in step
        for word in answer
    )
    assert said["PER_CORE", "addresses"] > STEP_COUNT // 20
    for allocation in ("LOCKSTEP", "RANGE_LOCKSTEP"):
        assert said[allocation, "address"] > STEP_COUNT // 50
        assert said[allocation, "refused"] > STEP_COUNT // 200
    assert said["PER_CORE", "refused"] > STEP_COUNT // 200


def on(ranges: list[list[int]], core_bytes: int, allocation: str, **others: object) -> Step:
    """A tensor with a shard of that size on each of the cores."""
    count = sum((last_x - x + 1) * (last_y - y + 1) for x, y, last_x, last_y in ranges)
    rows = core_bytes // KIB
    made = {"shape": [rows * count, KIB], "shard": [rows, KIB], "ranges": ranges, "allocation": allocation}
    return TENSOR | made | others


ONE = [[0, 0, 0, 0]]
IMPOSSIBLE = [
    *(
        on(ONE, KIB, allocation, type=memory)
        for allocation in ("PER_CORE", "RANGE_LOCKSTEP")
        for memory in ("DRAM", "L1_SMALL")
    ),
    *(on([[7, 0, 8, 0]], KIB, allocation) for allocation in ("PER_CORE", "RANGE_LOCKSTEP", "LOCKSTEP")),
]


def test_what_cannot_lie_on_cores_is_refused_in_the_runtimes_words(runtime_of: StartedRuntime) -> None:
    steps = [step | {"id": number} for number, step in enumerate(IMPOSSIBLE)]
    runtime = runtime_of("n150", is_hybrid=True)
    with runtime.opened(l1_small=32768):
        answers = runtime.steps(steps)

    ours = Model(board("n150").chip(l1_small_bytes=32768), is_hybrid=True).steps(steps, answers)

    assert [step for step, answer in zip(steps, answers, strict=True) if "refused" not in answer] == []
    assert differences(steps, answers, ours) == []


def test_a_device_in_another_mode_refuses_buffers_by_core_in_the_runtimes_words(runtime_of: StartedRuntime) -> None:
    steps = [
        on(ONE, KIB, allocation) | {"id": number} for number, allocation in enumerate(["PER_CORE", "RANGE_LOCKSTEP"])
    ]
    runtime = runtime_of("n150")
    with runtime.opened() as device:
        answers = with_reserved_bytes(runtime.steps(steps), steps, device.views)

    assert Model(board("n150").chip()).steps(steps, answers) == answers
    assert ["refused" in answer for answer in answers] == [True, False]


# Circular buffers: local ones in the way of a core's own buffers or not, and views of a buffer that lies on cores.
LAID = [
    on([[2, 0, 2, 0]], 1000 * KIB, "PER_CORE", id=0),
    on([[0, 0, 3, 1]], 2 * KIB, "PER_CORE", id=1),
    on([[5, 0, 5, 0]], 600 * KIB, "RANGE_LOCKSTEP", id=2),
]
CIRCULAR = [
    {"size": 400_000, "cores": [[2, 0, 2, 0]]},
    {"size": 400_000, "cores": [[0, 0, 1, 0], [3, 0, 3, 0]]},
    {"size": 400_000, "cores": [[0, 0, 7, 7]]},
    {"size": 1_000_000, "cores": [[7, 7, 7, 7]]},
    {"size": 2 * KIB, "offset": 0, "view": 1, "cores": [[0, 0, 1, 1]]},
    {"size": 2 * KIB, "offset": 0, "view": 1, "cores": [[3, 0, 3, 1], [0, 0, 2, 0]]},
    {"size": 2 * KIB, "offset": 0, "view": 1, "cores": [[3, 0, 4, 0]]},
]


@pytest.mark.skipif(not has_compiler(), reason="OPERATIONS NOT COMPARED: no riscv64-unknown-elf-gcc")
def test_circular_buffers_meet_buffers_on_cores_where_the_runtimes_do(runtime_of: StartedRuntime) -> None:
    runtime = runtime_of("n150", is_hybrid=True)
    theirs, ours = [], []
    with metal.open_device("n150", is_hybrid=True) as device, runtime.opened():
        model = ModelOfPrograms(device)
        assert not any("refused" in answer for answer in runtime.steps(LAID))
        for step in LAID:
            model.answer(step)
        for number, buffer in enumerate(CIRCULAR):
            answer = runtime.program([buffer], grid=device.chips[0].grid)
            theirs.append(without_program_id(answer.get("refused", "runs")))
            ours.append(model.answer({"op": "program", "number": number, "buffers": [buffer]}).get("refused", "runs"))

    assert ours == theirs
    assert ["runs" in words for words in theirs] == [False, True, False, False, True, False, False]
