"""Workloads: which program runs on which chips of a mesh, launched as one.

NOT_SENT --load_binaries: payload in DRAM--> IN_FLIGHT --first enqueue ends--> COMMITTED    (never back)
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from ttmem.devices import BinaryStatus
from ttmem.metal.memory import Buffer
from ttmem.metal.programs.program import Program
from ttmem.metal.programs.refusals import ProgramMisuse

__all__ = ["MeshRange", "MeshWorkload", "WorkloadOwner"]


@dataclass(frozen=True, slots=True)
class MeshRange:
    """A rectangle of chips: rows and columns from 0, both corners included."""

    first: tuple[int, int]
    last: tuple[int, int]

    def __post_init__(self) -> None:
        if not all(0 <= low <= high for low, high in zip(self.first, self.last, strict=True)):
            raise ProgramMisuse(f"no rectangle of chips: {self.first} to {self.last}")

    def overlaps(self, other: "MeshRange") -> bool:
        return all(
            low <= other_high and other_low <= high
            for low, high, other_low, other_high in zip(self.first, self.last, other.first, other.last, strict=True)
        )


class WorkloadOwner(Protocol):
    """The open mesh that workloads are loaded on."""

    def release_workload(self, workload: "MeshWorkload") -> None: ...


class MeshWorkload:
    """Programs by the chips they run on; None stands for all chips."""

    def __init__(self, programs: Mapping[MeshRange | None, Program] | Program) -> None:
        if not isinstance(programs, Program | Mapping):
            raise ProgramMisuse(f"no program: {programs!r}; give a Program, or programs by their MeshRange")
        self.programs: dict[MeshRange | None, Program] = (
            {None: programs} if isinstance(programs, Program) else dict(programs)
        )
        if not self.programs:
            raise ProgramMisuse("a workload needs a program")
        _check_types(self.programs)
        _refuse_overlaps(list(self.programs))
        self.id = next(iter(self.programs.values())).id
        self.payload_bytes = 0  # of its largest program, once loaded
        self.payload: Buffer | None = None  # binaries in DRAM, on every chip
        self.owner: WorkloadOwner | None = None  # the only mesh it may run on
        self.is_destroyed = False
        self._status = BinaryStatus.NOT_SENT

    @property
    def status(self) -> BinaryStatus:
        """How far its binaries have come."""
        return self._status

    @status.setter
    def status(self, status: BinaryStatus) -> None:
        if status < self._status:
            raise ProgramMisuse(f"workload {self.id}: binaries never go back from {self._status.name} to {status.name}")
        self._status = status

    def __repr__(self) -> str:
        count = len(self.programs)
        state = "destroyed" if self.is_destroyed else self._status.name.lower()
        return f"MeshWorkload({self.id}, {count} {'program' if count == 1 else 'programs'}, {state})"

    def forget(self) -> None:
        """It is on no mesh any more, and could be loaded again."""
        self.payload, self.payload_bytes, self.owner = None, 0, None
        self._status = BinaryStatus.NOT_SENT

    def destroy(self) -> None:
        """Ends it and its programs: circular buffers, kernels and the DRAM payload go."""
        if not self.is_destroyed:
            self.is_destroyed = True
            if self.owner is not None:
                self.owner.release_workload(self)


def _check_types(programs: Mapping[MeshRange | None, Program]) -> None:
    for where, program in programs.items():
        if not isinstance(where, MeshRange | None) or not isinstance(program, Program):
            raise ProgramMisuse(
                f"a workload is programs by their MeshRange (or None: all chips); got {where!r}: {program!r}"
            )
    ids = [program.id for program in programs.values()]
    if len(set(ids)) < len(ids):
        raise ProgramMisuse(f"a program twice in one workload: {ids}; make one for each range of chips")


def _refuse_overlaps(ranges: list[MeshRange | None]) -> None:
    for place, one in enumerate(ranges):
        for other in ranges[place + 1 :]:
            if one is None or other is None or one.overlaps(other):
                raise ProgramMisuse(f"two programs of a workload on the same chips: {one} and {other}")
