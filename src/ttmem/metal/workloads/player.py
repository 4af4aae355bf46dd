"""Plays the steps of a workload on an open mesh of the runtime model."""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack
from functools import cache, partial
from types import FunctionType
from typing import Any, TypeVar

from ttmem.devices import BufferType
from ttmem.metal.dispatch.fast import enqueue
from ttmem.metal.memory import Buffer, BufferSpec, Layout, MetalError, tensor
from ttmem.metal.mesh import MeshDevice
from ttmem.metal.programs import CoreRanges, Kernel, MeshWorkload, Processor, Program, ProgramRefused
from ttmem.metal.workloads.building.steps import (
    Beat,
    BeginTrace,
    EndTrace,
    Free,
    Kill,
    Line,
    Make,
    Operation,
    PhaseStep,
    Replay,
    Run,
    Step,
    Tensor,
)
from ttmem.metal.workloads.building.tables import code_of

__all__ = ["PhaseMaker", "Player"]

_Result = TypeVar("_Result")
PhaseMaker = Callable[[str], AbstractContextManager[object]]
# Of every core, as many as operations have on the average.
ARGUMENTS = {Processor.NCRISC: 24, Processor.BRISC: 20, Processor.TRISC: 8}


class Player:
    """One run of a workload. A refusal by the runtime ends it; `refusal` then holds the runtime's words."""

    def __init__(self, mesh: MeshDevice, *, phase: PhaseMaker | None = None) -> None:
        self.mesh = mesh
        self.refusal = ""
        self.round_count = 0
        self._phase = phase
        self._open_phase = ExitStack()
        self._buffers: dict[str, Buffer] = {}
        self._traces: dict[str, int] = {}
        self._specs: dict[Tensor, BufferSpec] = {}

    def play(self, steps: Iterable[Step]) -> Iterator[Step]:
        """Does one step after the other and hands out each one that is done."""
        with self._open_phase:
            for step in steps:
                try:
                    self._do(step)
                except (MetalError, ProgramRefused) as refusal:
                    self.refusal = str(refusal)
                    return
                yield step
                if isinstance(step, Kill):
                    return

    def _do(self, step: Step) -> None:
        match step:
            case Make(tensor, lines, call):
                spec = self._spec(tensor)
                self._buffers[tensor.name] = called_from(lines, lambda: self.mesh.create_buffer(spec, operation=call))
            case Free(name):
                self._buffers.pop(name).deallocate()
            case Run(operation, views, lines):
                looked_at = [self._buffers[name] for name in views]
                called_from(lines, lambda: self._run(operation, looked_at))
            case Replay(name):
                self.mesh.replay_trace(self._traces[name])
            case PhaseStep(name):
                self._enter(name)
            case BeginTrace(name, lines):
                self._traces[name] = called_from(lines, self.mesh.begin_trace)
            case EndTrace(name):
                self.mesh.end_trace(self._traces[name])
            case Beat(_, is_round):
                self.round_count += is_round

    def _enter(self, name: str) -> None:
        self._open_phase.close()
        if self._phase is not None and name:
            self._open_phase.enter_context(self._phase(name))

    def _spec(self, wanted: Tensor) -> BufferSpec:
        spec = self._specs.get(wanted)
        if spec is None:
            place = wanted.place
            is_in_cores = place.buffer_type in (BufferType.L1, BufferType.L1_SMALL)
            spec = self._specs[wanted] = tensor(
                wanted.shape,
                wanted.dtype,
                buffer_type=place.buffer_type,
                layout=Layout[place.layout],
                is_tiled=place.is_tiled,
                shard=place.shard,
                grid=self.mesh.chips[0].grid if place.shard and is_in_cores else None,
            )
        return spec

    def _run(self, operation: Operation, views: list[Buffer]) -> None:
        workload = self.mesh.program_cache.get(operation, lambda: MeshWorkload(self._program(operation, views)))
        program = workload.programs[None]
        for circular_buffer, buffer in zip(program.circular_buffers[: len(views)], views, strict=True):
            if circular_buffer.buffer is not buffer:
                program.rebind(circular_buffer, buffer)
        enqueue(self.mesh, workload)

    def _program(self, operation: Operation, views: list[Buffer]) -> Program:
        """Views first: they are found again by their place when the cached program runs on other buffers."""
        grid = self.mesh.chips[0].grid
        cores = CoreRanges.first(operation.core_count, grid)
        program = Program(name=operation.name, operation=operation.call)
        for buffer in views:
            program.add_circular_buffer(cores, buffer.per_bank_bytes, buffer=buffer)
        for part in operation.circular_buffers:
            program.add_circular_buffer(cores, part.page_bytes * part.page_count, page_bytes=part.page_bytes)
        for name in operation.kernels:
            program.add_kernel(_kernel(name, cores, operation))
        if operation.lead:
            first = CoreRanges.at((0, 0))
            program.add_kernel(_kernel(operation.lead, first, operation))
            program.add_semaphore()
            program.add_semaphore()
        if operation.follow and operation.core_count > 1:
            others = CoreRanges.at(*(core for core in cores if core != (0, 0)))
            program.add_kernel(_kernel(operation.follow, others, operation))
        return program


def _kernel(name: str, cores: CoreRanges, operation: Operation) -> Kernel:
    code = code_of(name)
    # Data movers get shapes as arguments at run time; compute kernels have their block sizes compiled in.
    is_compute = code.processor is Processor.TRISC
    return Kernel(
        name=name,
        cores=cores,
        binaries=code.binaries,
        processor=code.processor,
        source_path=code.path,
        runtime_arg_count=ARGUMENTS[code.processor],
        variant=str([part.page_count for part in operation.circular_buffers]) if is_compute else "",
    )


def called_from(lines: Iterable[Line], do: Callable[[], _Result]) -> _Result:
    """Calls it below a frame for each line, the innermost first, so that stacks show the lines of the workload.

    A workload is a list of steps: the code that wrote it has no frame of its own while they are played.
    """
    for line in lines:
        do = partial(_caller(line), do)
    return do()


@cache  # benchmarks/promises/metal.py: the model's own pace
def _caller(line: Line) -> Callable[[Callable[[], Any]], Any]:
    """A function whose only line is that one."""
    names: dict[str, Any] = {"co_filename": line.file, "co_name": line.function, "co_firstlineno": line.number}
    if sys.version_info >= (3, 11):
        names["co_qualname"] = line.function
    return FunctionType((lambda do: do()).__code__.replace(**names), {})
