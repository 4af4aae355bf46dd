"""The words a workload is written in: tensors, operations, and the steps that make, use and free them.

A workload is a list of steps, often an endless one. It is read twice: a player does each step on the runtime model,
and plain arithmetic adds the same steps up. Neither knows of the other, so the two can be compared.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from ttmem.devices import BufferType

__all__ = [
    "Beat",
    "BeginTrace",
    "CircularBuffer",
    "EndTrace",
    "Free",
    "Kill",
    "Make",
    "Operation",
    "Phase",
    "Place",
    "Replay",
    "Run",
    "Step",
    "Steps",
    "Tensor",
    "apply",
    "freed",
    "made",
]

INTERLEAVED, HEIGHT_SHARDED, WIDTH_SHARDED, BLOCK_SHARDED = (
    "INTERLEAVED",
    "HEIGHT_SHARDED",
    "WIDTH_SHARDED",
    "BLOCK_SHARDED",
)


@dataclass(frozen=True, slots=True)
class Place:
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
    place: Place = Place()


class CircularBuffer(NamedTuple):
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
    circular_buffers: tuple[CircularBuffer, ...] = ()
    lead: str = ""
    follow: str = ""
    shape: tuple[int, ...] = ()


class Make(NamedTuple):
    """A tensor is allocated."""

    tensor: Tensor


class Free(NamedTuple):
    """A tensor is given back."""

    name: str


class Run(NamedTuple):
    """An operation is launched; `views` are the tensors its globally allocated circular buffers look at."""

    operation: Operation
    views: tuple[str, ...] = ()


class Phase(NamedTuple):
    """From here on the run is in this phase; an empty name ends it."""

    name: str


class Beat(NamedTuple):
    """A moment to look: a watchable run waits so long here. A round is what a workload does again and again."""

    seconds: float
    is_round: bool = False


class BeginTrace(NamedTuple):
    """From here on operations are recorded, not run."""

    name: str


class EndTrace(NamedTuple):
    """The recording is stored on the device."""

    name: str


class Replay(NamedTuple):
    """A recording runs again."""

    name: str


class Kill(NamedTuple):
    """Here whoever plays the workload is to be killed; who cannot be, stops."""


Step = Make | Free | Run | Phase | Beat | BeginTrace | EndTrace | Replay | Kill
Steps = Iterator[Step]


def made(*tensors: Tensor) -> tuple[Step, ...]:
    """The tensors, one after the other."""
    return tuple(map(Make, tensors))


def freed(*names: str) -> tuple[Step, ...]:
    """The end of these tensors."""
    return tuple(map(Free, names))


def apply(
    operation: Operation, *outputs: Tensor, frees: tuple[str, ...] = (), views: tuple[str, ...] = ()
) -> tuple[Step, ...]:
    """One operation the way ttnn runs it: outputs are allocated, the program is launched, spent inputs are freed."""
    return (*map(Make, outputs), Run(operation, views), *map(Free, frees))
