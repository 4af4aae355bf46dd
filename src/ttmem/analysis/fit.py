"""Which chips have room for a given size. The largest free block decides, not the sum of what is free; and what is
not known does not fit.

A buffer in DRAM takes its share of every bank, at one address. Room in L1 is wanted on every core at one address: in a
hole above the lowest L1 buffer, or below it in the headroom, which the circular buffers of loaded programs leave free.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from ttmem.devices import Pool
from ttmem.snapshot.identity import chip_of
from ttmem.snapshot.telemetry import ChipTelemetry
from ttmem.snapshot.usage import DeviceUsage, PoolUsage, Snapshot
from ttmem.snapshot.values import Device

__all__ = ["Candidate", "CoreRoom", "Need", "Room", "candidates", "chosen"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """What every chip must have; None: nothing."""

    dram_bytes: int | None = None
    l1_core_bytes: int | None = None
    is_idle: bool = False  # no process may have it open


@dataclass(frozen=True, slots=True)
class Room:
    """Where something is to go: how much is free in all, and in one piece. None is unknown."""

    name: str
    needed_bytes: int
    free_bytes: int | None
    block_bytes: int | None

    @property
    def is_enough(self) -> bool | None:
        """None: unknown."""
        known = [size for size in (self.free_bytes, self.block_bytes) if size is not None]
        if any(size < self.needed_bytes for size in known):
            return False
        return True if len(known) == 2 else None


@dataclass(frozen=True, slots=True)
class CoreRoom:
    """Room in L1 of every worker core. None is unknown."""

    needed_bytes: int
    free_bytes: int | None  # of the fullest core, in all
    hole_bytes: int | None  # the largest free block above the lowest L1 buffer
    headroom_bytes: int | None  # between circular buffers of loaded programs and that buffer; below 0: they overlap
    name: ClassVar[str] = "L1 of a core"

    @property
    def block_bytes(self) -> int | None:
        """The largest buffer that fits, whatever program is launched next."""
        if self.hole_bytes is None or self.headroom_bytes is None:
            return None
        return max(self.hole_bytes, self.headroom_bytes)

    @property
    def is_enough(self) -> bool | None:
        """None: unknown."""
        known = [size for size in (self.hole_bytes, self.headroom_bytes) if size is not None]
        if any(size >= self.needed_bytes for size in known):
            return True
        is_short = self.free_bytes is not None and self.free_bytes < self.needed_bytes
        return False if len(known) == 2 or is_short else None


@dataclass(frozen=True, slots=True)
class Candidate:
    """One chip, and whether it would take what is needed."""

    device: Device
    rooms: tuple[Room | CoreRoom, ...]
    doubt: str = ""  # why not even what is known can be relied on
    refusal: str = ""

    @property
    def fits(self) -> bool | None:
        """None: unknown."""
        verdicts = [room.is_enough for room in self.rooms]
        if self.refusal or False in verdicts:
            return False
        return None if self.doubt or None in verdicts else True


def candidates(snapshot: Snapshot, need: Need, telemetry: Sequence[ChipTelemetry] = ()) -> list[Candidate]:
    """Every chip of a snapshot, judged."""
    openers = _Openers(snapshot, telemetry)
    return [_candidate(usage, need, openers) for usage in snapshot.devices]


def chosen(judged: Iterable[Candidate], count: int) -> list[Candidate] | None:
    """The emptiest of those that fit, in the order of their indexes; None if they are too few."""
    fitting = [candidate for candidate in judged if candidate.fits and candidate.device.index is not None]
    if len(fitting) < count:
        return None
    fitting.sort(key=lambda candidate: [-(room.block_bytes or 0) for room in candidate.rooms])
    return sorted(fitting[:count], key=lambda candidate: candidate.device.index or 0)


class _Openers:
    """Who has chips open, by the driver's list: those who do not report may hold anything."""

    def __init__(self, snapshot: Snapshot, telemetry: Sequence[ChipTelemetry]) -> None:
        self._reporting = {process.pid for process in snapshot.live if process.is_visible}
        self._foreign = next(iter(snapshot.foreign), None)
        self._telemetry = telemetry

    def silent_pids(self, device: Device) -> list[int]:
        """Those who do not report and have a chip open."""
        chip = chip_of(device, self._telemetry)
        return [pid for pid in (chip.pids or ()) if pid not in self._reporting] if chip else []

    def doubt(self, device: Device) -> str:
        """Why it is not known who has a chip open."""
        chip = chip_of(device, self._telemetry)
        if chip and chip.pids is not None:
            return ""
        others = [] if chip else [pid for one in self._telemetry for pid in one.pids or ()]
        unknown = next((pid for pid in others if pid not in self._reporting), None)
        if unknown is not None:  # who opens one chip of a card opens those behind it
            return f"pid {unknown} does not report and may have it open"
        return f"{self._foreign.what} of {self._foreign.user} may not be read" if self._foreign else ""


def _candidate(usage: DeviceUsage, need: Need, openers: _Openers) -> Candidate:
    silent_pids = openers.silent_pids(usage.device)
    doubt = f"pid {silent_pids[0]} has it open and does not report" if silent_pids else openers.doubt(usage.device)
    if not doubt and usage.reason:
        doubt = f"figures are {usage.reason}"
    if usage.launch_count is None and not doubt:
        doubt = "what is held there is not reported"
    open_count = usage.device.open_count + len(silent_pids)
    refusal = f"{open_count} have it open" if need.is_idle and open_count else ""
    rooms: list[Room | CoreRoom] = []
    if need.dram_bytes is not None:
        rooms.append(_dram(usage, need.dram_bytes))
    if need.l1_core_bytes is not None:
        rooms.append(_l1(usage, need.l1_core_bytes))
    return Candidate(usage.device, tuple(rooms), doubt, refusal)


def _dram(usage: DeviceUsage, needed_bytes: int) -> Room:
    pool, total = _pool(usage, Pool.DRAM), usage.device.capacity(Pool.DRAM)
    if pool is None:  # nothing ever lay there
        return Room("DRAM", needed_bytes, total, total)
    if pool.read_bytes:  # others hold that much besides, at unknown addresses
        free = None if pool.free_bytes is None else max(0, pool.free_bytes - pool.read_bytes)
        return Room("DRAM", needed_bytes, free, None)
    return Room("DRAM", needed_bytes, pool.free_bytes, pool.largest_free_bytes)


def _l1(usage: DeviceUsage, needed_bytes: int) -> CoreRoom:
    free = None
    if usage.core_bytes is not None and usage.planned_core_bytes is not None:
        free = max(0, usage.core_bytes - usage.planned_core_bytes)
    pool = _pool(usage, Pool.L1)
    if pool and pool.read_bytes:  # others hold that much besides, at unknown addresses
        return CoreRoom(needed_bytes, free, None, None)
    return CoreRoom(needed_bytes, free, usage.l1_hole_bytes, usage.headroom_bytes)


def _pool(usage: DeviceUsage, pool: Pool) -> PoolUsage | None:
    return next((found for found in usage.pools if found.pool is pool), None)
