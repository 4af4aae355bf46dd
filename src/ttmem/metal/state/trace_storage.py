"""Where the command stream of a captured trace is stored, and how many bytes that takes.

A device opened with a trace region keeps its traces there, in buffers of type TRACE; one without keeps them at the top
of DRAM, where replaying must not touch what others use: such a buffer has to lie above everything that was allocated
or freed while this trace, or any trace still alive, was captured.
"""

from dataclasses import dataclass

from ttmem.devices import BufferType
from ttmem.metal.chips.architecture import data
from ttmem.metal.chips.numbers import rounded_up
from ttmem.metal.memory.refusals import MetalError

__all__ = [
    "DramActivity",
    "StoredTrace",
    "TraceMisplaced",
    "TraceRegionFull",
    "TraceStorage",
    "trace_page_bytes",
    "trace_region_bank_bytes",
]

# compute_interleaved_trace_buf_page_size: bounded by what the network moves well and by the prefetcher's queue.
SMALLEST_PAGE_BYTES: int = data("runtime")["trace_page_bytes_min"]
LARGEST_PAGE_BYTES: int = data("runtime")["trace_page_bytes_max"]


class TraceRegionFull(MetalError):
    """The trace region is too small; the runtime's words."""

    def __init__(self, *, counted_bytes: int, requested_bytes: int, region_bytes: int, mesh_id: int) -> None:
        super().__init__(
            f"Creating trace buffers of size {counted_bytes}B on MeshDevice {mesh_id}, "
            f"but only {region_bytes}B is allocated for trace region."
        )
        self.counted_bytes = counted_bytes  # all traces together, this one and older refusals included
        self.requested_bytes = requested_bytes
        self.region_bytes = region_bytes


class TraceMisplaced(MetalError):
    """A trace stored in DRAM came to lie where its replay would destroy something; the runtime's words."""


def trace_page_bytes(stream_bytes: int, bank_count: int) -> int:
    """The page that wastes least, or the largest one that still gives every bank two."""
    page_bytes = picked_bytes = SMALLEST_PAGE_BYTES
    least_waste_bytes: int | None = None
    while page_bytes <= LARGEST_PAGE_BYTES:
        row_bytes = bank_count * page_bytes
        waste_bytes = -stream_bytes % row_bytes
        if least_waste_bytes is None or waste_bytes <= least_waste_bytes or stream_bytes // row_bytes >= 2:
            picked_bytes, least_waste_bytes = page_bytes, waste_bytes
        page_bytes *= 2
    return picked_bytes


def trace_region_bank_bytes(region_bytes: int, bank_count: int) -> int:
    """What a trace region takes from the top of every DRAM bank; its size is the total over all banks."""
    return rounded_up(-(-region_bytes // bank_count), LARGEST_PAGE_BYTES)


@dataclass(frozen=True, slots=True)
class StoredTrace:
    """The buffer a command stream needs."""

    stream_bytes: int
    page_bytes: int
    padded_bytes: int
    buffer_type: BufferType
    is_bottom_up: bool | None  # None: as buffers of that type usually are


@dataclass(slots=True)
class DramActivity:
    """The highest ends of DRAM buffers made and freed during a capture; 0 if there were none."""

    allocated_end: int = 0
    freed_end: int = 0

    def note_allocated(self, end: int) -> None:
        self.allocated_end = max(self.allocated_end, end)

    def note_freed(self, end: int) -> None:
        self.freed_end = max(self.freed_end, end)

    @property
    def highest_end(self) -> int:
        """The mark a trace in DRAM must not lie below."""
        return max(self.allocated_end, self.freed_end)


class TraceStorage:
    """The traces of one mesh, as bytes."""

    def __init__(self, *, region_bytes: int, bank_count: int, mesh_id: int = 0) -> None:
        self.region_bytes = region_bytes
        self.used_bytes = 0
        self._bank_count = bank_count
        self._mesh_id = mesh_id
        self._refused_bytes = 0  # the runtime counts a trace before it looks, and never takes a refused one out again
        self._marks: dict[int, int] = {}  # of live traces in DRAM, by trace
        self._sizes: dict[int, int] = {}  # padded, by trace

    def store(self, trace: int, stream_bytes: int) -> StoredTrace:
        """Counts a captured stream in and says which buffer to make (MeshTrace::populate_mesh_buffer)."""
        page_bytes = trace_page_bytes(stream_bytes, self._bank_count)
        padded_bytes = rounded_up(stream_bytes, page_bytes)
        counted_bytes = self.used_bytes + self._refused_bytes + padded_bytes
        if not self.region_bytes:
            stored = StoredTrace(stream_bytes, page_bytes, padded_bytes, BufferType.DRAM, is_bottom_up=False)
        elif counted_bytes > self.region_bytes:
            self._refused_bytes += padded_bytes
            raise TraceRegionFull(
                counted_bytes=counted_bytes,
                requested_bytes=padded_bytes,
                region_bytes=self.region_bytes,
                mesh_id=self._mesh_id,
            )
        else:
            stored = StoredTrace(stream_bytes, page_bytes, padded_bytes, BufferType.TRACE, is_bottom_up=None)
        self.used_bytes += padded_bytes
        self._sizes[trace] = padded_bytes
        return stored

    def check(self, trace: int, address: int, activity: DramActivity) -> None:
        """Refuses a DRAM address below what captures touched; else that trace is alive from now on."""
        if self.region_bytes:
            return
        is_below_allocated = address < activity.allocated_end
        is_below_freed = address < activity.freed_end
        where = f"Trace buffer at address {address} overlaps with"
        if is_below_allocated and is_below_freed:
            raise TraceMisplaced(
                f"{where} DRAM activity during trace capture. Allocation high water mark: {activity.allocated_end}, "
                f"Deletion high water mark: {activity.freed_end}. "
                "Reduce allocations during trace capture or set a non-zero trace_region_size."
            )
        if is_below_allocated:
            raise TraceMisplaced(
                f"{where} buffers allocated during trace capture (allocation high water mark: "
                f"{activity.allocated_end}). "
                "Reduce allocations during trace capture or set a non-zero trace_region_size."
            )
        if is_below_freed:
            raise TraceMisplaced(
                f"{where} buffers deallocated during trace capture (deletion high water mark: {activity.freed_end}). "
                "Avoid deallocating DRAM buffers during trace capture or set a non-zero trace_region_size."
            )
        highest = max(self._marks.values(), default=0)
        if address < highest:
            raise TraceMisplaced(
                f"{where} DRAM activity captured by another live trace "
                f"(maximum live trace high water mark: {highest}). "
                "Release the existing trace before capturing this trace or set a non-zero trace_region_size."
            )
        self._marks[trace] = activity.highest_end

    def release(self, trace: int) -> None:
        """Counts a trace out."""
        self.used_bytes -= self._sizes.pop(trace, 0)
        self._marks.pop(trace, None)
