"""An allocator that sorts all its buffers and looks at every gap: written from the rules alone, to compare with."""

from ttmem.devices import BufferType

__all__ = ["NaiveAllocator"]


class NaiveAllocator:
    """Banks as (how many, first address, last address + 1); buffers as a list of stretches."""

    def __init__(self, banks: dict[BufferType, tuple[int, int, int]], *, dram_alignment: int) -> None:
        self.banks = banks
        self.dram_alignment = dram_alignment
        self.taken: dict[BufferType, list[tuple[int, int]]] = {kind: [] for kind in banks}

    def stored(self, kind: BufferType, page_bytes: int, page_count: int, shard_count: int) -> int:
        """The bytes of one bank, before they are rounded to blocks."""
        alignment = self.dram_alignment if kind in (BufferType.DRAM, BufferType.TRACE) else 16
        while page_bytes % alignment:
            page_bytes += 1
        pages = 0
        while pages * (shard_count or self.banks[kind][0]) < page_count:
            pages += 1
        return pages * page_bytes

    def allocate(self, kind: BufferType, stored_bytes: int, *, is_bottom_up: bool) -> int | None:
        size = stored_bytes
        while size % self.dram_alignment:
            size += 1
        fitting = [(start, end) for start, end in self.gaps(kind) if end - start >= size]
        if not fitting:
            return None
        start = min(fitting)[0] if is_bottom_up else max(fitting)[1] - size
        self.taken[kind].append((start, start + size))
        return start

    def free(self, kind: BufferType, address: int) -> None:
        [stretch] = [stretch for stretch in self.taken[kind] if stretch[0] == address]
        self.taken[kind].remove(stretch)

    def gaps(self, kind: BufferType) -> list[tuple[int, int]]:
        _, place, end = self.banks[kind]
        gaps = []
        for start, stop in sorted(self.taken[kind]):
            assert start >= place, "two buffers overlap"
            if start > place:
                gaps.append((place, start))
            place = stop
        assert place <= end, "a buffer reaches beyond its bank"
        return [*gaps, (place, end)] if place < end else gaps

    def figures(self, kind: BufferType) -> tuple[int, int, int, int, int]:
        count, first, end = self.banks[kind]
        gaps = [stop - start for start, stop in self.gaps(kind)]
        taken = sum(stop - start for start, stop in self.taken[kind])
        return count if end > first else 0, end - first, taken, sum(gaps), max(gaps, default=0)
