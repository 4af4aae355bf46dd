"""The words a workload is written in: tensors, operations, and the steps that make, use and free them.

A workload is a list of steps, often an endless one. It is read twice: a player does each step on the runtime model,
and plain arithmetic adds the same steps up. Neither knows of the other, so the two can be compared.
"""

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from ttmem.devices import BufferType

__all__ = [
    "Beat",
    "BeginTrace",
    "EndTrace",
    "Free",
    "Kill",
    "Line",
    "Make",
    "Operation",
    "PhaseStep",
    "PlannedBuffer",
    "Replay",
    "Run",
    "Step",
    "Steps",
    "Tensor",
    "TensorPlace",
    "apply",
    "begun",
    "freed",
    "made",
]

INTERLEAVED, HEIGHT_SHARDED, WIDTH_SHARDED, BLOCK_SHARDED = (
    "INTERLEAVED",
    "HEIGHT_SHARDED",
    "WIDTH_SHARDED",
    "BLOCK_SHARDED",
)


# What users call, by the name of an operation, or by the kernel that does its work.
_CALLS = {
    "prefetcher": "dram_prefetcher",
    "create_heads": "experimental.nlp_create_qkv_heads_decode",
    "concat_heads": "experimental.nlp_concat_heads_decode",
    "reshard": "to_memory_config",
    "max_pool": "max_pool2d",
    "average_pool": "avg_pool2d",
    "conv_1x1": "conv2d",
    "bmm_large_block": "matmul",
    "norm": "rms_norm",
    "eltwise_binary_no_bcast": "add",
    "rope": "experimental.rotary_embedding_llama",
    "cache_update": "experimental.paged_update_cache",
    "attention": "transformer.paged_scaled_dot_product_attention_decode",
    "prefill_attention": "transformer.scaled_dot_product_attention",
    "conv": "conv2d",
}
_FOLDER = os.path.dirname(os.path.dirname(__file__))  # of all workloads
_LINES_MOST = 2


class Line(NamedTuple):
    """A line of a workload, as a traceback names it."""

    file: str
    number: int
    function: str


@dataclass(frozen=True, slots=True)
class TensorPlace:
    """Where a tensor lies. `shard` is (rows, columns) of one shard; an interleaved tensor has none."""

    buffer_type: BufferType = BufferType.DRAM
    layout: str = INTERLEAVED
    shard: tuple[int, int] | None = None
    is_tiled: bool = True


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor by the name it goes by while it is alive; its shape is what one chip holds of it."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    place: TensorPlace = TensorPlace()


class PlannedBuffer(NamedTuple):
    """A local circular buffer: pages of one size, the same on every core of its operation."""

    page_bytes: int
    page_count: int


@dataclass(frozen=True, slots=True)
class Operation:
    """A device operation with the shapes it was built for: equal operations share one cached program.

    `kernels` name what kernels.json describes and run on all its cores. A sender among receivers is a second kernel
    group: `lead` runs on the first core only, `follow` on all others.
    """

    name: str
    kernels: tuple[str, ...]
    core_count: int
    circular_buffers: tuple[PlannedBuffer, ...] = ()
    lead: str = ""
    follow: str = ""
    shape: tuple[int, ...] = ()

    @property
    def call(self) -> str:
        """The user's word for it: "ttnn.matmul"."""
        known = (_CALLS[word] for word in (self.name, *self.kernels) if word in _CALLS)
        return f"ttnn.{next(known, self.name)}"


class Make(NamedTuple):
    """A tensor is allocated; `lines` of the workload ask for it, the innermost first, in the call of an operation."""

    tensor: Tensor
    lines: tuple[Line, ...] = ()
    call: str = "ttnn.from_torch"


class Free(NamedTuple):
    """A tensor is given back."""

    name: str


class Run(NamedTuple):
    """An operation is launched; `views` are the tensors its globally allocated circular buffers look at."""

    operation: Operation
    views: tuple[str, ...] = ()
    lines: tuple[Line, ...] = ()


class PhaseStep(NamedTuple):
    """From here on the run is in this phase; an empty name ends it."""

    name: str


class Beat(NamedTuple):
    """A moment to look: a watchable run waits so long here. A round is what a workload does repeatedly."""

    seconds: float
    is_round: bool = False


class BeginTrace(NamedTuple):
    """From here on operations are recorded, not run; `lines` of the workload ask for it."""

    name: str
    lines: tuple[Line, ...] = ()


class EndTrace(NamedTuple):
    """The recording is stored on the device."""

    name: str


class Replay(NamedTuple):
    """A recording runs again."""

    name: str


class Kill(NamedTuple):
    """Here the process that plays the workload is to be killed; one that cannot be, stops."""


Step = Make | Free | Run | PhaseStep | Beat | BeginTrace | EndTrace | Replay | Kill
Steps = Iterator[Step]


def made(*tensors: Tensor) -> tuple[Step, ...]:
    """The tensors, one after the other."""
    lines = _lines_that_ask()
    return tuple(Make(tensor, lines) for tensor in tensors)


def begun(trace: str) -> BeginTrace:
    """The beginning of a capture."""
    return BeginTrace(trace, _lines_that_ask())


def freed(*names: str) -> tuple[Step, ...]:
    """The end of these tensors."""
    return tuple(map(Free, names))


def apply(
    operation: Operation, *outputs: Tensor, frees: tuple[str, ...] = (), views: tuple[str, ...] = ()
) -> tuple[Step, ...]:
    """One operation the way ttnn runs it: outputs are allocated, the program is launched, spent inputs are freed."""
    lines = _lines_that_ask()
    return (
        *(Make(tensor, lines, operation.call) for tensor in outputs),
        Run(operation, views, lines),
        *map(Free, frees),
    )


def _lines_that_ask() -> tuple[Line, ...]:
    """The lines of the workload that led to the caller: of the files beside this one that describe workloads."""
    lines: list[Line] = []
    frame = sys._getframe(2)
    while frame is not None and len(lines) < _LINES_MOST:
        code = frame.f_code
        if not code.co_filename.startswith(_FOLDER) or code.co_filename.endswith(("player.py", "catalogue.py")):
            break
        if not code.co_name.startswith("<"):  # a comprehension is no function of its own to its reader
            file = os.path.join(os.path.basename(_FOLDER), os.path.relpath(code.co_filename, _FOLDER))
            lines.append(Line(file, frame.f_lineno, code.co_name))
        frame = frame.f_back  # type: ignore[assignment]
    return tuple(lines)
