"""The kernel ring: where the host lets the binaries and arguments of a launch lie on the cores.

One ring serves a whole mesh and one command queue: one lane per core type, and two more for the launch messages of
Tensix cores (multicast, 7 slots) and of ethernet cores (unicast, 1 slot). A launch takes a place in every lane it
needs, all of them at once; if one has no room, the launch waits until enough earlier ones are done. The host learns of
finished launches only when it needs their place, so `live` is an upper bound of what still runs.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ttmem.metal.chips.architecture import data
from ttmem.metal.state.layout.lane import Lane, LanePlace
from ttmem.tracking import CoreType, Stall

__all__ = ["Launch", "Occupancy", "Reservation", "RingRequest", "RingState"]

MULTICAST_SLOTS = data("runtime")["launch_slot_count"]
UNICAST_SLOTS = data("runtime")["ethernet_launch_slot_count"]


@dataclass(frozen=True, slots=True)
class RingRequest:
    """What one launch needs: bytes per core type, and the launch messages."""

    slot_bytes: Mapping[CoreType, int]
    is_multicast: bool = True  # it runs on Tensix cores
    is_unicast: bool = False  # it runs on active ethernet cores


@dataclass(frozen=True, slots=True)
class Reservation:
    """The answer to a request: addresses in the order of the ring's core types, and what to wait for first."""

    addresses: tuple[int, ...]
    stall_count: int | None = None
    stall: Stall = Stall.NONE


@dataclass(frozen=True, slots=True)
class Launch:
    """A launch that has its place. `is_stalled_first`: it waits before its arguments go out, not only before its go."""

    addresses: tuple[int, ...]
    stall_count: int | None
    stall: Stall
    is_stalled_first: bool


@dataclass(frozen=True, slots=True)
class Occupancy:
    """One core's ring: in the table, finished but intact, and neither."""

    live_bytes: int
    retired_bytes: int
    free_bytes: int
    entry_count: int


class RingState:
    """The ring of a mesh, by the rules of WorkerConfigBufferMgr: reserve, free up to the stall, allocate."""

    def __init__(self, places: Mapping[CoreType, tuple[int, int]]) -> None:
        """`places`: base and size of the ring of every core type there is."""
        self.core_types = tuple(places)
        self.stall_counts: Counter[Stall] = Counter()
        self._lanes = [Lane(base, size) for base, size in places.values()]
        self._launch_lanes = [Lane(0, MULTICAST_SLOTS), Lane(0, UNICAST_SLOTS)]
        self._reserved: list[LanePlace] = []
        self._reservation = Reservation(())

    def reserve(self, request: RingRequest) -> Reservation:
        """Finds a place in every lane; may be asked repeatedly, the last answer counts."""
        sizes = request.slot_bytes
        unknown = sizes.keys() - set(self.core_types)
        if unknown:
            raise ValueError(f"no ring for {', '.join(sorted(core.word for core in unknown))} cores here")
        self._reserved = [
            lane.place_at_base(size) if core_type is CoreType.ACTIVE_ETH and size else lane.place(size)
            for core_type, lane in zip(self.core_types, self._lanes, strict=True)
            for size in (sizes.get(core_type, 0),)
        ]
        self._reserved += self._launch_places(request)
        self._reservation = self._answer()
        return self._reservation

    def free(self, sync_count: int) -> None:
        """Retires what was done when `sync_count` workers had finished."""
        for lane in self.all_lanes():
            lane.retire(sync_count)

    def alloc(self, sync_count: int) -> None:
        """Takes the places reserved last; they may be retired once `sync_count` workers have finished."""
        if not self._reserved:
            raise ValueError("nothing is reserved: alloc() takes the places that reserve() found")
        for lane, place in zip(self.all_lanes(), self._reserved, strict=True):
            lane.take(place, sync_count)
        if self._reservation.stall is not Stall.NONE:
            self.stall_counts[self._reservation.stall] += 1
        self._reserved = []

    def launch(
        self, request: RingRequest, *, expected_count: int, worker_count: int, is_in_flight: bool = False
    ) -> Launch:
        """Reserve, wait, retire and allocate as one: program_dispatch::reserve_space_in_kernel_config_buffer.

        `expected_count`: workers that will have finished when all earlier launches have. A workload whose binaries are
        still in flight waits for all of them, wherever its place is.
        """
        reservation = self.reserve(request)
        stall_count, stall = reservation.stall_count, reservation.stall
        # Short of launch messages only, arguments and binaries may go out before the wait.
        is_first = any(place.stall_count is not None for place in self._reserved[: len(self._lanes)])
        if is_in_flight:
            stall_count, stall, is_first = expected_count, Stall.IN_FLIGHT, True
            self._reservation = Reservation(reservation.addresses, stall_count, stall)
        if stall_count is not None:
            self.free(stall_count)
        self.alloc(expected_count + worker_count)
        return Launch(reservation.addresses, stall_count, stall, is_first)

    def mark_completely_full(self, sync_count: int) -> None:
        """Every byte may have been used: a trace that was replayed, or the worker counter wrapped."""
        for lane in self.all_lanes():
            lane.fill(sync_count)

    def occupancy(self, core_type: CoreType) -> Occupancy:
        """The ring of one core of that type."""
        lane = self._lanes[self.core_types.index(core_type)]
        free_bytes = lane.size - lane.live_size - lane.retired_size
        return Occupancy(lane.live_size, lane.retired_size, free_bytes, len(lane.entries))

    def all_lanes(self) -> Iterator[Lane]:
        """Those of the core types in their order, then those of multicast and unicast launch messages."""
        yield from self._lanes
        yield from self._launch_lanes

    def _launch_places(self, request: RingRequest) -> Iterator[LanePlace]:
        wanted = (request.is_multicast, request.is_unicast)
        for lane, is_wanted in zip(self._launch_lanes, wanted, strict=True):
            place = lane.place(int(is_wanted))
            is_short = place.stall in (Stall.SPACE, Stall.ENTRIES)
            stall = Stall.LAUNCH_SLOTS if is_short else place.stall
            yield LanePlace(place.address, place.size, place.stall_count, stall)

    def _answer(self) -> Reservation:
        """Waits for the lane that asks for the highest count; on a tie its core types come before launch messages."""
        addresses = tuple(place.address for place in self._reserved)
        stalled = [place for place in self._reserved if place.stall_count is not None]
        if not stalled:
            return Reservation(addresses)
        worst = max(stalled, key=lambda place: place.stall_count or 0)
        return Reservation(addresses, worst.stall_count, worst.stall)
