"""The tracker that a mesh reports to, and the counts of what it reported of its caches and its ring."""

from collections import Counter
from collections.abc import Sequence

from ttmem.devices import Cache, CacheOutcome, CoreType, Stall
from ttmem.metal.state.ring import Occupancy
from ttmem.tracking import Refusal, TrackedDevice, Tracker

__all__ = ["Reports"]


class Reports:
    """The tracker of one mesh."""

    def __init__(self, device: TrackedDevice, tracker: Tracker | None) -> None:
        self.device = device
        self.tracker = Tracker() if tracker is None else tracker
        self.cache_counts: Counter[tuple[Cache, CacheOutcome]] = Counter()
        self.stall_counts: Counter[Stall] = Counter()
        self.ring_launch_counts: Counter[CoreType] = Counter()
        self._places: list[TrackedDevice] = []
        self._rings: dict[CoreType, Occupancy] = {}  # as reported last, whichever queue launched

    def open(self, device: TrackedDevice) -> None:
        """The mesh, or some chips of it that are used for themselves, from now on."""
        self._places.append(device)
        self.tracker.track_device_opened(device)

    def close(self) -> None:
        """The end of all that was opened, the mesh last."""
        while self._places:
            self.tracker.track_device_closed(self._places.pop())

    def refused(self, refusal: Refusal) -> None:
        """Memory ran out, or circular buffers clash."""
        self.tracker.track_incident(self.device, refusal)

    def operation(self, program: int, device: TrackedDevice, operation: str) -> None:
        """What a program does that was launched."""
        if operation:
            self.tracker.track_operation(program, device, operation)

    def cache(
        self, cache: Cache, outcome: CacheOutcome, *, size_bytes: int = 0, entry_count: int = 0, held_bytes: int = 0
    ) -> None:
        """An answer of a cache."""
        self.cache_counts[cache, outcome] += 1
        self.tracker.track_cache(
            self.device, cache, outcome, size_bytes=size_bytes, entry_count=entry_count, held_bytes=held_bytes
        )

    def evictions(self, cache: Cache, sizes_bytes: Sequence[int], *, entry_count: int, held_bytes: int) -> None:
        """What had to go; counts are those after all of them went."""
        for size_bytes in sizes_bytes:
            self.cache(
                cache, CacheOutcome.EVICTED, size_bytes=size_bytes, entry_count=entry_count, held_bytes=held_bytes
            )

    def is_news(self, core_type: CoreType, occupancy: Occupancy) -> bool:
        """Whether a ring is not as it was reported last; before that, all are empty."""
        known = self._rings.get(core_type)
        return occupancy != known if known else bool(occupancy.entry_count or occupancy.retired_bytes)

    def ring(self, core_type: CoreType, occupancy: Occupancy, stall: Stall, *, has_launched: bool) -> None:
        """The kernel ring of a core after a launch, there or elsewhere."""
        self._rings[core_type] = occupancy
        self.ring_launch_counts[core_type] += has_launched
        if stall is not Stall.NONE:
            self.stall_counts[stall] += 1
        self.tracker.track_ring(
            self.device,
            core_type,
            live_bytes=occupancy.live_bytes,
            retired_bytes=occupancy.retired_bytes,
            entry_count=occupancy.entry_count,
            stall=stall,
            ring_bytes=occupancy.live_bytes + occupancy.retired_bytes + occupancy.free_bytes,
            has_launched=has_launched,
        )
