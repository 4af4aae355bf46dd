"""Sequences that the real allocator went through on mock chips: every address, view and refusal must come out again."""

import json
from pathlib import Path
from typing import Any

import pytest

from ttmem.devices import BufferType
from ttmem.metal.chips import board
from ttmem.metal.memory import Allocator, Layout, OutOfDeviceMemory, Placement, tensor

RECORDED = Path(__file__).parents[3] / "data" / "alloc"
TYPES = (BufferType.DRAM, BufferType.L1, BufferType.L1_SMALL)


class Replay:
    """One recorded sequence, and what the model said at each step beside what the runtime said."""

    def __init__(self, name: str) -> None:
        self.recorded: dict[str, Any] = json.loads((RECORDED / f"{name}.json").read_text(encoding="utf-8"))
        self.chip = board(name).chip(
            l1_small_bytes=self.recorded["l1_small"], trace_region_bytes=self.recorded["trace"]
        )
        self.allocator = Allocator(self.chip)
        self.live: dict[int, Placement] = {}
        self.said: list[object] = []
        self.heard: list[object] = []

    def run(self) -> None:
        for step in self.recorded["steps"]:
            match step["op"]:
                case "alloc":
                    self.heard.append((step["id"], step.get("address", step.get("error"))))
                    self.said.append((step["id"], self.allocate(step)))
                case "free":
                    self.allocator.free(self.live.pop(step["id"]))
                case "view":
                    self.heard.append([step[kind.name] for kind in TYPES])
                    self.said.append([list(self.allocator.statistics(kind)) for kind in TYPES])

    def allocate(self, step: dict[str, Any]) -> int | str:
        spec = tensor(
            step["shape"],
            step["dtype"],
            buffer_type=BufferType[step["type"]],
            layout=Layout[step["layout"]],
            shard=step.get("shard"),
            grid=step.get("grid"),
        )
        try:
            self.live[step["id"]] = placement = self.allocator.allocate(spec)
        except OutOfDeviceMemory as error:
            return str(error)
        return placement.address


@pytest.mark.parametrize(("name", "answer_count"), [("n150", 564), ("n300", 461), ("p150", 581)])
def test_a_recorded_sequence_comes_out_the_same(name: str, answer_count: int) -> None:
    replay = Replay(name)

    replay.run()

    assert replay.said == replay.heard
    assert len(replay.heard) == answer_count


@pytest.mark.parametrize("name", ["n150", "n300", "p150"])
def test_everything_freed_leaves_one_free_block_in_each_kind_of_memory(name: str) -> None:
    replay = Replay(name)
    replay.run()

    for placement in replay.live.values():
        replay.allocator.free(placement)

    for kind in TYPES:
        figures = replay.allocator.statistics(kind)
        assert (figures.allocated_bytes, figures.largest_free_bytes) == (0, figures.bank_bytes)
    assert replay.allocator.live_count == 0


@pytest.mark.parametrize("name", ["n150", "n300", "p150"])
def test_the_chip_is_the_one_that_was_recorded(name: str) -> None:
    replay = Replay(name)
    chip, info = replay.chip, replay.recorded["info"]

    assert list(chip.grid) == replay.recorded["grid"]
    assert list(chip.worker_grid) == [info["num_x_cores"], info["num_y_cores"]]
    assert chip.architecture.l1_unreserved_base == info["address_at_first_l1_cb_buffer"]
    assert (chip.l1_bank_bytes, chip.l1_bank_count) == (info["l1_bank_size"], info["l1_num_banks"])
    assert chip.architecture.l1_bytes == info["worker_l1_size"]
    assert chip.architecture.l1_bank_bytes == info["cb_limit"]
