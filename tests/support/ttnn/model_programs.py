"""The model living the same lives of programs as the stock runtime, with answers in the same words."""

import re
from typing import Any

from tests.support.ttnn.model_memory import spec_of
from ttmem import metal
from ttmem.metal import Buffer, CoreRange, CoreRanges, Kernel, MeshDevice, MeshWorkload, MetalError, Program

Event = dict[str, Any]
Answer = dict[str, Any]
PROGRAM_ID = re.compile(r"in program \d+")


class ModelOfPrograms:
    """Programs and L1 buffers on a device of the model."""

    def __init__(self, device: MeshDevice) -> None:
        self._device = device
        self._buffers: dict[int, Buffer] = {}
        self._workloads: dict[int, MeshWorkload] = {}

    def answer(self, event: Event) -> Answer:
        if event["op"] == "program":
            return self._run(event)
        if event["op"] == "free":
            buffer = self._buffers.pop(event["id"], None)
            if buffer is not None:
                buffer.deallocate()
            return {"was_there": buffer is not None}
        buffer = self._device.create_buffer(spec_of(event), is_bottom_up=event.get("is_bottom_up"))
        self._buffers[event["id"]] = buffer
        return {"address": buffer.address}

    def _run(self, event: Event) -> Answer:
        workload = self._workloads.get(event["number"])
        is_new = workload is None
        try:
            if workload is None:
                workload = MeshWorkload(self._program(event["buffers"]))
            metal.enqueue(self._device, workload)
        except MetalError as refused:
            return {"refused": without_program_id(str(refused))}
        self._workloads[event["number"]] = workload
        return {"addresses": _reported(workload) if is_new else []}

    def _program(self, buffers: list[Event]) -> Program:
        program = Program()
        program.add_kernel(Kernel(name="empty", cores=CoreRanges.grid(*self._device.chips[0].grid), binaries=(64,)))
        for asked in buffers:
            cores = CoreRanges(CoreRange(*four) for four in asked["cores"])
            view = self._buffers[asked["view"]] if "view" in asked else None
            program.add_circular_buffer(cores, asked["size"], buffer=view, offset_bytes=asked.get("offset", 0))
        return program


def _reported(workload: MeshWorkload) -> list[int]:
    """Addresses; of a program that only has views the runtime tells none."""
    [program] = workload.programs.values()
    if all(circular_buffer.is_global for circular_buffer in program.circular_buffers):
        return []
    return [circular_buffer.address for circular_buffer in program.circular_buffers]


def without_program_id(words: str) -> str:
    """Both count their programs, but not the same ones."""
    return PROGRAM_ID.sub("in program #", words)
