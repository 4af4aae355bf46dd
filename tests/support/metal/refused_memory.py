"""Memory that the runtime model refused, as an incident with a copy of what was alive; and what would have been granted
if some of it had been freed, by the model's own allocator."""

from collections.abc import Iterable, Sequence
from copy import deepcopy
from itertools import combinations
from math import gcd
from typing import NamedTuple

from ttmem.devices import BufferType
from ttmem.metal import Allocation, CoreRanges, board
from ttmem.metal.memory import Allocator, BufferSpec, Layout, OutOfDeviceMemory, tensor
from ttmem.metal.memory.allocator import Placement
from ttmem.snapshot.incidents import Frame, HeldEntry, Incident, IncidentCopy, Site
from ttmem.snapshot.values import TimeNs

__all__ = ["KIB", "MIB", "RefusingChip", "site"]

KIB, MIB = 1024, 1024 * 1024
SECOND = 1_000_000_000
NOW = TimeNs(1_700_000_000 * SECOND)
PID = 4711


def site(line: str, operation: str | None = None) -> Site:
    """`model.py:77 attention`: one frame of it; several are divided by ` < `."""
    frames = []
    for part in line.split(" < "):
        place, _, function = part.partition(" ")
        file, _, number = place.partition(":")
        frames.append(Frame(f"app/{file}", int(number), function))
    return Site(tuple(frames), operation=operation)


class Held(NamedTuple):
    placement: Placement
    line: str | None
    kind: str
    phase: str | None
    sequence: int


class RefusingChip:
    """An allocator of the model, with a name for everything it gave."""

    def __init__(
        self,
        name: str = "n150",
        *,
        chip_count: int = 1,
        is_hybrid: bool = False,
        l1_small_bytes: int = 0,
        trace_region_bytes: int = 0,
    ) -> None:
        self.chip = board(name).chip(l1_small_bytes=l1_small_bytes, trace_region_bytes=trace_region_bytes)
        self.allocator = Allocator(self.chip, chip_count=chip_count, is_hybrid=is_hybrid)
        self.chip_count = chip_count
        self.held: dict[str, Held] = {}
        self._sequence = 0

    # What can be asked for

    def dram(self, bank_bytes: int, buffer_type: BufferType = BufferType.DRAM) -> BufferSpec:
        """So much of every bank."""
        return BufferSpec(bank_bytes * self.chip.dram_bank_count, bank_bytes, buffer_type)

    def l1(self, core_bytes: int) -> BufferSpec:
        return BufferSpec(core_bytes * self.chip.l1_bank_count, core_bytes, BufferType.L1)

    def on_cores(
        self,
        cores: str,
        core_bytes: int,
        allocation: Allocation = Allocation.PER_CORE,
        buffer_type: BufferType = BufferType.L1,
        *,
        sub_device: int | None = None,
    ) -> BufferSpec:
        places = CoreRanges.parse(cores)
        row_bytes = gcd(core_bytes, KIB)
        rows = core_bytes // row_bytes
        return tensor(
            (rows * places.core_count, row_bytes),
            "uint8",
            buffer_type=buffer_type,
            layout=Layout.HEIGHT_SHARDED,
            is_tiled=False,
            shard=(rows, row_bytes),
            cores=places,
            allocation=allocation,
            sub_device=sub_device,
        )

    # What is done

    def hold(
        self,
        name: str,
        spec: BufferSpec,
        line: str | None = None,
        *,
        kind: str = "buffer",
        phase: str | None = None,
        is_bottom_up: bool | None = None,
    ) -> Placement:
        self._sequence += 1
        placement = self.allocator.allocate(spec, is_bottom_up=is_bottom_up)
        self.held[name] = Held(placement, line, kind, phase, self._sequence)
        return placement

    def free(self, *names: str) -> None:
        for name in names:
            self.allocator.free(self.held.pop(name).placement)

    def fits_without(self, names: Iterable[str], spec: BufferSpec) -> bool:
        """Whether the model grants it when these are freed."""
        gone = [self.held[name].placement for name in names]
        allocator, placements = deepcopy((self.allocator, gone))
        for placement in placements:
            allocator.free(placement)
        try:
            allocator.allocate(spec)
        except OutOfDeviceMemory:
            return False
        return True

    def fewest_by_trying(self, spec: BufferSpec) -> list[set[str]]:
        """All sets of as few buffers as will do, tried one by one on the model; traces and binaries stay."""
        names = [
            name
            for name, held in self.held.items()
            if held.kind == "buffer" and held.placement.buffer_type is not BufferType.TRACE
        ]
        for count in range(len(names) + 1):
            found = [set(some) for some in combinations(names, count) if self.fits_without(some, spec)]
            if found:
                return found
        return []

    # What is kept of a refusal

    def refused(self, spec: BufferSpec, line: str | None = None, **more: object) -> IncidentCopy:
        """The incident of asking for it, which the model must refuse."""
        try:
            deepcopy(self.allocator).allocate(spec)  # what a refusal on cores loses is not part of the question
        except OutOfDeviceMemory as refusal:
            return self.copy(self._incident(spec, refusal, line, **more))
        raise AssertionError("the model granted it")

    def copy(self, incident: Incident, extra: Sequence[HeldEntry] = ()) -> IncidentCopy:
        entries = (*self.entries(), *extra)
        incident = _replaced(incident, entry_count=len(entries))
        return IncidentCopy(
            incident=incident, pid=PID, entries=entries, sequence_before=self._sequence, sequence_after=self._sequence
        )

    def _incident(self, spec: BufferSpec, refusal: OutOfDeviceMemory, line: str | None, **more: object) -> Incident:
        figures, memory = refusal.statistics, spec.buffer_type.name.lower()
        is_per_core = spec.allocation is Allocation.PER_CORE
        space = self.allocator.space_of(spec)
        places = spec.sharding.places if is_per_core and spec.sharding else space.cores
        cores = str(CoreRanges.at(*places)) if places else None
        known: dict[str, object] = {
            "number": 1,
            "kind": "out_of_memory",
            "memory": memory,
            "time_ns": NOW,
            "device_ids": tuple(f"0x{number:016x}" for number in range(self.chip_count)),
            "is_mesh": self.chip_count > 1,
            "is_per_core": is_per_core,
            "is_of_text": True,
            "requested_bytes": refusal.requested_bytes,
            "requested_per_bank_bytes": refusal.per_bank_bytes,
            "free_bytes": figures.free_bytes * refusal.bank_count,
            "largest_free_bytes": figures.largest_free_bytes * refusal.bank_count,
            "free_per_bank_bytes": figures.free_bytes,
            "largest_free_per_bank_bytes": figures.largest_free_bytes,
            "bank_count": refusal.bank_count,
            "space_begin_address": space.begin,
            "space_end_address": space.end,
            "cores": cores,
            "site": None if line is None else site(line),
            "text": str(refusal),
        }
        return Incident(**(known | more))  # type: ignore[arg-type]

    def entries(self) -> tuple[HeldEntry, ...]:
        return tuple(entry for name, held in self.held.items() for entry in _entries(name, held))


def _replaced(incident: Incident, **changes: object) -> Incident:
    fields = {name: getattr(incident, name) for name in incident.__struct_fields__}
    return Incident(**(fields | changes))


def _entries(name: str, held: Held) -> list[HeldEntry]:
    placement = held.placement
    common: dict[str, object] = {
        "kind": held.kind,
        "memory": placement.buffer_type.name.lower(),
        "id": name,
        "requested_bytes": placement.reserved_bytes,
        "time_ns": TimeNs(NOW - SECOND * (100 - held.sequence)),
        "sequence": held.sequence,
        "phase": held.phase,
        "site": None if held.line is None else site(held.line),
    }
    if not placement.cores:
        figures = {
            "address": placement.address,
            "reserved_bytes": placement.reserved_bytes,
            "per_bank_bytes": placement.per_bank_bytes,
        }
        return [HeldEntry(**(common | figures))]  # type: ignore[arg-type]
    by_address: dict[int, list[tuple[int, int]]] = {}
    for core, address in zip(placement.cores, placement.core_addresses[0], strict=True):
        by_address.setdefault(address, []).append(core)
    return [
        HeldEntry(
            **(common | {"address": address, "is_per_core": True, "per_bank_bytes": placement.block_bytes}),  # type: ignore[arg-type]
            reserved_bytes=placement.block_bytes * len(cores),
            cores=str(CoreRanges.at(*cores)),
            core_count=len(cores),
        )
        for address, cores in by_address.items()
    ]
