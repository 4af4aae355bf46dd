"""The model's allocator against the stock runtime's: the same random allocations and frees, and every answer equal.

Compared are the address, what all banks gave up for it (by how much the runtime's own view of them moved), the view
after each step, the words of each refusal, and the table of blocks at the end.
"""

from collections import Counter
from dataclasses import dataclass

import pytest

from tests.support.ttnn.model_memory import Answer, Model, differences, with_reserved_bytes
from tests.support.ttnn.runtime import CORE_TYPES, StartedRuntime
from tests.support.ttnn.scripts.sequences import Sequence, Step
from ttmem.metal.chips import Chip, DispatchCores, board

STEP_COUNT = 2500
SEEDS = (1, 2, 3)
MIB = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """A board, and how it is opened in both worlds."""

    board: str
    mesh: tuple[int, int] = (1, 1)
    l1_small: int = 0
    trace: int = 0
    dispatch: DispatchCores | None = None

    @property
    def chip(self) -> Chip:
        return board(self.board).chip(
            dispatch=self.dispatch, l1_small_bytes=self.l1_small, trace_region_bytes=self.trace
        )

    def __str__(self) -> str:
        return (
            f"{self.board}-small{self.l1_small}-trace{self.trace}{f'-{self.dispatch.value}' if self.dispatch else ''}"
        )


OPENINGS = [
    Opening(board="n150", l1_small=32768, trace=MIB),
    Opening(board="n150"),
    Opening(board="n300", mesh=(1, 2), l1_small=24576, trace=3 * MIB + 1),
    Opening(board="n300", mesh=(1, 2), l1_small=1000, dispatch=DispatchCores.TENSIX),
    Opening(board="p150", l1_small=65536, trace=16 * MIB),
    Opening(board="p150", trace=50_000_000),
]
A_TENSOR: Step = {"op": "alloc", "type": "L1", "dtype": "bfloat16", "is_tiled": True, "layout": "INTERLEAVED"}
# What no allocator is ever asked, since its shape, its shards or its cores cannot be.
IMPOSSIBLE: list[Step] = [
    {"shape": [3, 7], "dtype": "bfloat8_b", "is_tiled": False},
    {"shape": [61, 61], "layout": "BLOCK_SHARDED", "shard": [10, 10], "grid": [2, 7], "is_tiled": False},
    {"shape": [61, 61], "layout": "BLOCK_SHARDED", "shard": [32, 16], "grid": [8, 8]},
    {"shape": [61, 61], "layout": "HEIGHT_SHARDED", "shard": [32, 32], "grid": [2, 7]},
    {"shape": [61, 61], "layout": "WIDTH_SHARDED", "shard": [32, 32], "grid": [2, 7]},
    {"shape": [64, 64], "layout": "HEIGHT_SHARDED", "shard": [32, 64], "grid": [1, 1]},
    {"shape": [64, 64], "layout": "HEIGHT_SHARDED", "shard": [32, 64], "grid": [9, 1]},
    {"shape": [640, 64], "layout": "HEIGHT_SHARDED", "shard": [32, 64], "grid": [20, 1], "type": "DRAM"},
    {"shape": [64, 64], "layout": "HEIGHT_SHARDED", "shard": [32, 64], "grid": [2, 2], "type": "DRAM"},
]


@pytest.mark.parametrize("opening", OPENINGS, ids=str)
@pytest.mark.parametrize("seed", SEEDS)
def test_every_answer_to_a_random_sequence_is_the_runtimes(
    opening: Opening, seed: int, runtime_of: StartedRuntime
) -> None:
    chip = opening.chip
    steps = list(Sequence(seed, grid=chip.grid, dram_bank_count=chip.dram_bank_count).steps(STEP_COUNT))
    runtime = runtime_of(opening.board)
    with runtime.opened(
        opening.mesh, l1_small=opening.l1_small, trace=opening.trace, dispatch=CORE_TYPES[opening.dispatch]
    ) as device:
        answers = with_reserved_bytes(runtime.steps(steps), steps, device.views)
        blocks = runtime.blocks()

    model = Model(chip)
    different = differences(steps, answers, model.steps(steps, answers))
    assert not different, f"{len(different)} of {STEP_COUNT} steps:\n" + "\n".join(different[:5])
    assert model.blocks() == blocks
    assert_worth_comparing(answers)


def assert_worth_comparing(answers: list[Answer]) -> None:
    """A sequence must have been given memory, have been refused some, and have left out little."""
    said = Counter(word for answer in answers for word in answer)
    assert said["address"] > STEP_COUNT // 4
    assert said["refused"] > STEP_COUNT // 50
    assert said["left_out"] < STEP_COUNT // 10


def test_what_the_runtime_refuses_for_its_shape_the_model_refuses_too(runtime_of: StartedRuntime) -> None:
    steps = [A_TENSOR | step | {"id": number} for number, step in enumerate(IMPOSSIBLE)]
    runtime = runtime_of("n150")
    with runtime.opened():
        answers = runtime.steps(steps)

    ours = Model(board("n150").chip()).steps(steps, answers)

    assert [step for step, answer in zip(steps, answers, strict=True) if "refused" not in answer] == []
    assert [step for step, answer in zip(steps, ours, strict=True) if "refused" not in answer] == []
