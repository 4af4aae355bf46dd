"""Whom a mesh tells what it does, and the counts of what it told of its caches and its ring."""

from collections import Counter
from collections.abc import Sequence

from ttmem.devices import BinaryStatus, Kind, Pool
from ttmem.metal.dispatch.ring import Occupancy
from ttmem.tracking import (
    Cache,
    CacheOutcome,
    CoreSet,
    CoreType,
    KernelFacts,
    KernelType,
    OperationListener,
    Refusal,
    RefusalKind,
    Stall,
    TraceListener,
    TrackedBuffer,
    TrackedDevice,
    Tracker,
    Watcher,
    Witness,
)

__all__ = ["Reports", "Silence"]


class Silence:
    """Hears everything and does nothing: what a mesh talks to when nobody listens."""

    def track_allocate(self, buffer: TrackedBuffer) -> None: ...
    def track_deallocate(self, buffer: TrackedBuffer) -> None: ...
    def track_allocate_cb(
        self,
        core_ranges: CoreSet,
        address: int,
        size_bytes: int,
        is_globally_allocated: bool,
        device: TrackedDevice,
        *,
        program: int = 0,
        cb_id: int = 0,
        kind: Kind = Kind.CIRCULAR_BUFFER,
    ) -> None: ...
    def track_deallocate_cb(self, device: TrackedDevice, *, program: int = 0) -> None: ...
    def track_kernel_load(
        self,
        kernel_size: int,
        kernel_id: int,
        device: TrackedDevice,
        kernel_type: int = KernelType.APPLICATION,
        num_cores: int = 1,
        *,
        facts: KernelFacts | None = None,
    ) -> None: ...
    def track_kernel_unload(self, kernel_id: int, device: TrackedDevice) -> None: ...
    def track_program(self, program: int, device: TrackedDevice) -> None: ...
    def track_device_opened(self, device: TrackedDevice) -> None: ...
    def track_device_closed(self, device: TrackedDevice) -> None: ...
    def track_binary_status(self, program: int, status: BinaryStatus, device: TrackedDevice) -> None: ...
    def track_program_end(self, program: int, device: TrackedDevice) -> None: ...
    def track_launch(self, program: int, device: TrackedDevice) -> None: ...
    def track_trace_began(self, trace: int, device: TrackedDevice) -> None: ...
    def track_trace_recorded(self, trace: int, program: int, device: TrackedDevice) -> None: ...
    def track_trace_captured(self, trace: int, size_bytes: int, device: TrackedDevice) -> None: ...
    def track_trace_replayed(self, trace: int, device: TrackedDevice) -> None: ...
    def track_trace_released(self, trace: int, device: TrackedDevice) -> None: ...
    def track_ring(
        self,
        device: TrackedDevice,
        core_type: CoreType,
        *,
        live_bytes: int,
        retired_bytes: int,
        entry_count: int,
        stall: Stall = Stall.NONE,
        ring_bytes: int = 0,
        has_launched: bool = True,
    ) -> None: ...
    def track_cache(
        self,
        device: TrackedDevice,
        cache: Cache,
        outcome: CacheOutcome,
        *,
        size_bytes: int = 0,
        entry_count: int = 0,
        held_bytes: int = 0,
    ) -> None: ...
    def track_out_of_memory(
        self, device: TrackedDevice, pool: Pool, *, requested_bytes: int, free_bytes: int, largest_free_bytes: int
    ) -> None: ...


class Reports:
    """The listeners of one mesh. One that hears only the seeds' calls is spared the others."""

    def __init__(self, device: TrackedDevice, tracker: Tracker | None) -> None:
        self.device = device
        self.tracker: Tracker = Silence() if tracker is None else tracker
        self.watcher: Watcher = tracker if isinstance(tracker, Watcher) else Silence()
        self.traces: TraceListener = tracker if isinstance(tracker, TraceListener) else Silence()
        self._listener: OperationListener | None = tracker if isinstance(tracker, OperationListener) else None
        self.cache_counts: Counter[tuple[Cache, CacheOutcome]] = Counter()
        self.stall_counts: Counter[Stall] = Counter()
        self.ring_launch_counts: Counter[CoreType] = Counter()
        self._places: list[TrackedDevice] = []
        self._rings: dict[CoreType, Occupancy] = {}  # as told of last, whichever queue launched

    def open(self, device: TrackedDevice) -> None:
        """The mesh, or some chips of it that are used for themselves, from now on."""
        self._places.append(device)
        self.watcher.track_device_opened(device)

    def close(self) -> None:
        """The end of all that was opened, the mesh last."""
        while self._places:
            self.watcher.track_device_closed(self._places.pop())

    def refused(self, refusal: Refusal) -> None:
        """Memory ran out, or circular buffers clash. Who has no words for a clash hears of the region it is about."""
        if isinstance(self.tracker, Witness):
            self.tracker.track_incident(self.device, refusal)
            return
        self.watcher.track_out_of_memory(
            self.device,
            Pool.CB if refusal.kind is RefusalKind.CLASH else refusal.pool,
            requested_bytes=refusal.requested_bytes or 0,
            free_bytes=refusal.free_bytes or 0,
            largest_free_bytes=refusal.largest_free_bytes or 0,
        )

    def operation(self, program: int, device: TrackedDevice, operation: str) -> None:
        """What a program does that was launched."""
        if self._listener is not None and operation:
            self._listener.track_operation(program, device, operation)

    def cache(
        self, cache: Cache, outcome: CacheOutcome, *, size_bytes: int = 0, entry_count: int = 0, held_bytes: int = 0
    ) -> None:
        """An answer of a cache."""
        self.cache_counts[cache, outcome] += 1
        self.watcher.track_cache(
            self.device, cache, outcome, size_bytes=size_bytes, entry_count=entry_count, held_bytes=held_bytes
        )

    def evictions(self, cache: Cache, sizes_bytes: Sequence[int], *, entry_count: int, held_bytes: int) -> None:
        """What had to go; counts are those after all of them went."""
        for size_bytes in sizes_bytes:
            self.cache(
                cache, CacheOutcome.EVICTED, size_bytes=size_bytes, entry_count=entry_count, held_bytes=held_bytes
            )

    def is_news(self, core_type: CoreType, occupancy: Occupancy) -> bool:
        """Whether a ring is not as it was told of last; before that, all are empty."""
        known = self._rings.get(core_type)
        return occupancy != known if known else bool(occupancy.entry_count or occupancy.retired_bytes)

    def ring(self, core_type: CoreType, occupancy: Occupancy, stall: Stall, *, has_launched: bool) -> None:
        """The kernel ring of a core after a launch, there or elsewhere."""
        self._rings[core_type] = occupancy
        self.ring_launch_counts[core_type] += has_launched
        if stall is not Stall.NONE:
            self.stall_counts[stall] += 1
        self.watcher.track_ring(
            self.device,
            core_type,
            live_bytes=occupancy.live_bytes,
            retired_bytes=occupancy.retired_bytes,
            entry_count=occupancy.entry_count,
            stall=stall,
            ring_bytes=occupancy.live_bytes + occupancy.retired_bytes + occupancy.free_bytes,
            has_launched=has_launched,
        )
