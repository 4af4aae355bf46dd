"""A command queue: the order of launches, and what they find in the kernel ring and the prefetcher's cache."""

from collections.abc import Container, Mapping

from ttmem.metal.chips import Architecture, Chip
from ttmem.metal.state.prefetcher_cache import Emptied, PrefetcherCache
from ttmem.metal.state.reports import Reports
from ttmem.metal.state.ring import RingRequest, RingState
from ttmem.tracking import Cache, CacheOutcome, CoreType, Stall

__all__ = ["CommandQueue", "ring_places"]

# The count of finished workers has 32 bits.
WORKER_COUNT_END = 1 << 32


def ring_places(architecture: Architecture) -> Mapping[CoreType, tuple[int, int]]:
    """Base and size of the ring of every core type; an unknown base counts from 0."""
    return {core_type: (ring.base or 0, ring.size_bytes) for core_type, ring in architecture.rings.items()}


class CommandQueue:
    """One queue of a mesh: its launches go to all chips, so it exists once."""

    def __init__(self, chip: Chip, reports: Reports) -> None:
        architecture, dispatch = chip.architecture, chip.dispatch
        block_bytes = architecture.dram_alignment
        self.ring = RingState(ring_places(architecture))
        self.prefetcher = PrefetcherCache(
            block_bytes=block_bytes,
            block_count=architecture.prefetcher_cache_bytes[dispatch] // block_bytes,
            table_size=architecture.prefetcher_entry_count[dispatch],
        )
        self.expected_count = 0  # workers that will have finished when all launches have
        self._payloads_bytes: dict[int, int] = {}  # by workload, as long as the prefetcher holds it
        self._reports = reports

    def launch(self, request: RingRequest, *, worker_count: int, is_in_flight: bool) -> None:
        """A place in the ring for one launch, after whatever wait that takes."""
        if self.expected_count + worker_count >= WORKER_COUNT_END:
            self.expected_count = 0
            self.ring.mark_completely_full(0)
        launch = self.ring.launch(
            request, expected_count=self.expected_count, worker_count=worker_count, is_in_flight=is_in_flight
        )
        self.expected_count += worker_count
        self._report_rings(request.slot_bytes, launch.stall)

    def fetch(self, workload: int, payload_bytes: int) -> None:
        """The binaries of a workload, from the prefetcher's cache if they are still there."""
        held_count = self.prefetcher.entry_count
        answer = self.prefetcher.ask(workload, payload_bytes)
        if answer.is_hit:
            self._report_cache(CacheOutcome.HIT, payload_bytes)
        elif answer.is_bypass:
            self._report_cache(CacheOutcome.BYPASSED, payload_bytes)
            self._report_emptied(held_count)
        else:
            gone = [self._payloads_bytes.pop(identity, 0) for identity in answer.evicted]
            self._payloads_bytes[workload] = payload_bytes
            counts = {"entry_count": self.prefetcher.entry_count, "held_bytes": self.prefetcher.held_bytes}
            self._reports.evictions(Cache.PREFETCHER, gone, **counts)
            self._report_cache(CacheOutcome.MISS, payload_bytes)

    def empty_prefetcher(self, reason: Emptied) -> None:
        """The prefetcher's memory is needed for something else."""
        self._report_emptied(self.prefetcher.empty(reason))

    def replay(self, worker_count: int) -> None:
        """A trace ran: it may have used every byte of the ring."""
        self.empty_prefetcher(Emptied.TRACE_REPLAY)
        self.expected_count += worker_count
        self.ring.mark_completely_full(self.expected_count)
        self._report_rings((), Stall.NONE)

    def _report_rings(self, launched: Container[CoreType], stall: Stall) -> None:
        """The rings that a launch used, and those that changed because it waited for others; its wait only once."""
        for core_type in self.ring.core_types:
            occupancy = self.ring.occupancy(core_type)
            is_launched = core_type in launched
            if is_launched or self._reports.is_news(core_type, occupancy):
                waited = stall if is_launched else Stall.NONE
                self._reports.ring(core_type, occupancy, waited, has_launched=is_launched)
                stall = Stall.NONE if is_launched else stall

    def _report_cache(self, outcome: CacheOutcome, size_bytes: int) -> None:
        self._reports.cache(
            Cache.PREFETCHER,
            outcome,
            size_bytes=size_bytes,
            entry_count=self.prefetcher.entry_count,
            held_bytes=self.prefetcher.held_bytes,
        )

    def _report_emptied(self, held_count: int) -> None:
        if held_count:  # else they may be put aside, by a capture
            self._payloads_bytes.clear()
            self._report_cache(CacheOutcome.EMPTIED, 0)
