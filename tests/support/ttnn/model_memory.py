"""The model doing the same steps as the stock runtime, with answers in the same words, to be compared one by one."""

from collections.abc import Iterable
from typing import Any

from tests.support.ttnn.scripts.core_sequences import cores_of
from ttmem.devices import BufferType
from ttmem.metal.chips import Chip
from ttmem.metal.memory import Allocation, Allocator, BufferSpec, Layout, MetalError, Placement, tensor

Step = dict[str, Any]
Answer = dict[str, Any]
MEMORIES = ("DRAM", "L1", "L1_SMALL", "TRACE")


class Model:
    """An allocator of ours under the same hands as the runtime's."""

    def __init__(self, chip: Chip, *, chip_count: int = 1, is_hybrid: bool = False) -> None:
        self.allocator = Allocator(chip, chip_count=chip_count, is_hybrid=is_hybrid)
        self._live: dict[int, Placement] = {}

    def steps(self, steps: Iterable[Step], runtime: Iterable[Answer]) -> list[Answer]:
        """Our answers. What the runtime was not asked, since nobody could have caught its no, we are not asked."""
        return [
            {"left_out": True, "view": self.view(step["type"])} if "left_out" in answer else self._step(step)
            for step, answer in zip(steps, runtime, strict=True)
        ]

    def view(self, memory: str) -> list[int]:
        return list(self.allocator.statistics(BufferType[memory]))

    def blocks(self) -> dict[str, list[list[int]]]:
        return {memory: [list(block) for block in self.allocator.blocks(BufferType[memory])] for memory in MEMORIES}

    def _step(self, step: Step) -> Answer:
        if step["op"] == "free":
            placement = self._live.pop(step["id"], None)
            if placement is not None:
                self.allocator.free(placement)
            return {"was_there": placement is not None, "view": self.view(step["type"])}
        try:
            placement = self.allocator.allocate(spec_of(step), is_bottom_up=step.get("is_bottom_up"))
        except MetalError as refused:
            return {"refused": str(refused), "view": self.view(step["type"])}
        self._live[step["id"]] = placement
        if placement.cores and not placement.address:
            return {"addresses": [list(chip) for chip in placement.core_addresses], "view": self.view(step["type"])}
        return {
            "address": placement.address,
            "reserved": placement.reserved_bytes,
            "view": self.view(step["type"]),
        }


def spec_of(step: Step) -> BufferSpec:
    """The buffer that a step asks for."""
    memory = BufferType[step["type"]]
    if step["op"] == "direct":
        return BufferSpec(step["size"], step["page"], memory)
    shard, grid = step.get("shard"), step.get("grid")
    return tensor(
        step["shape"],
        step["dtype"],
        buffer_type=memory,
        layout=Layout[step["layout"]],
        is_tiled=step["is_tiled"],
        shard=(shard[0], shard[1]) if shard else None,
        grid=(grid[0], grid[1]) if grid else None,
        cores=cores_of(step) if "ranges" in step else None,
        allocation=Allocation[step.get("allocation", "LOCKSTEP")],
        sub_device=step.get("sub_device"),
    )


def with_reserved_bytes(answers: Iterable[Answer], steps: Iterable[Step], views: dict[str, list[int]]) -> list[Answer]:
    """The runtime's answers with what an allocation took from all banks: by how much their view has moved."""
    allocated = {memory: view[2] for memory, view in views.items()}
    told = []
    for step, answer in zip(steps, answers, strict=True):
        bank_count, _, now, *_ = answer["view"]
        grown = now - allocated[step["type"]]
        allocated[step["type"]] = now
        told.append(answer | {"reserved": grown * bank_count} if "address" in answer else answer)
    return told


def differences(steps: Iterable[Step], runtime: Iterable[Answer], model: Iterable[Answer]) -> list[str]:
    """Where the two do not say the same, in words."""
    return [
        f"step {number}: {step}\n  runtime {theirs}\n  model   {ours}"
        for number, (step, theirs, ours) in enumerate(zip(steps, runtime, model, strict=True))
        if theirs != ours
    ]
