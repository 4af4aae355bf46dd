"""The prefetcher's cache: binaries held in the L1 of the prefetch core, so that they need not be read from DRAM again.

One cache serves a whole mesh and one command queue. It is a ring of blocks: a new binary goes behind the newest one,
or to offset 0 where the end is too near, and the oldest ones give way; being found does not make one younger. Its keys
are workloads; while a trace is put together, which begins with an empty cache and leaves the one before as it was, they
are programs. What does not fit, reads, and replayed traces empty it.
"""

from collections import Counter, deque
from dataclasses import dataclass, field
from enum import Enum

__all__ = ["CacheAnswer", "Contents", "Emptied", "PrefetcherCache"]


class Emptied(Enum):
    """Why everything was forgotten."""

    BYPASS = "bypass"  # a workload without binaries, or with more than the cache holds
    READ = "read"  # reading buffers or cores uses the same memory
    PINNED_WRITE = "pinned_write"
    TRACE_REPLAY = "trace_replay"
    RESET = "reset"


@dataclass(frozen=True, slots=True)
class CacheAnswer:
    """What came of asking; the offset is of no use after a bypass."""

    is_hit: bool
    is_bypass: bool = False
    offset_bytes: int = 0
    evicted: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class CachedEntry:
    """One binary in the cache, in blocks."""

    identity: int
    offset: int
    length: int


@dataclass(slots=True)
class Contents:
    """All a cache knows; a capture puts it aside and brings it back."""

    entries: deque[CachedEntry] = field(default_factory=deque)  # oldest first
    offsets: dict[int, int] = field(default_factory=dict)  # in blocks, by identity
    next_offset: int = 0
    # The runtime keeps its entries in a table that it goes round; how full the table is also decides who has to go.
    table_size: int = 0
    oldest_index: int = 0
    block_count: int = 0

    @property
    def is_table_full(self) -> bool:
        return len(self.entries) == self.table_size


class PrefetcherCache:
    """By the rules of RingbufferCacheManager, and of FDMeshCommandQueue around it."""

    def __init__(self, *, block_bytes: int, block_count: int, table_size: int) -> None:
        """`table_size`: entries its table starts with; it doubles while the cache has never gone round."""
        self.block_bytes = block_bytes
        self.block_count = block_count
        self.hit_count = self.miss_count = self.bypass_count = 0
        self.evicted_count = self.evicted_bytes = 0
        self.emptied_counts: Counter[Emptied] = Counter()
        self._first_table_size = min(table_size, block_count)
        self._contents = Contents()

    @property
    def size_bytes(self) -> int:
        """All of it."""
        return self.block_bytes * self.block_count

    @property
    def entry_count(self) -> int:
        """How many binaries it holds."""
        return len(self._contents.entries)

    @property
    def held_bytes(self) -> int:
        """What they take, in whole blocks."""
        return self._contents.block_count * self.block_bytes

    @property
    def offsets_bytes(self) -> dict[int, int]:
        """Where each binary lies, oldest first."""
        return {held.identity: held.offset * self.block_bytes for held in self._contents.entries}

    def ask(self, identity: int, size_bytes: int) -> CacheAnswer:
        """Looks a binary up and takes it in if it was not there; one that cannot be held empties the cache."""
        length = -(-size_bytes // self.block_bytes)
        if not 0 < length <= self.block_count:
            self.bypass_count += 1
            self.empty(Emptied.BYPASS)
            return CacheAnswer(is_hit=False, is_bypass=True)
        offset = self._contents.offsets.get(identity)
        if offset is not None:
            self.hit_count += 1
            return CacheAnswer(is_hit=True, offset_bytes=offset * self.block_bytes)
        self.miss_count += 1
        evicted: list[CachedEntry] = []
        offset = self._make_room(length, evicted)
        self._add(CachedEntry(identity, offset, length))
        self.evicted_count += len(evicted)
        self.evicted_bytes += sum(held.length for held in evicted) * self.block_bytes
        return CacheAnswer(
            is_hit=False, offset_bytes=offset * self.block_bytes, evicted=tuple(held.identity for held in evicted)
        )

    def empty(self, reason: Emptied) -> int:
        """Forgets everything; how many binaries that were. One that was empty is not counted as emptied."""
        count = self.entry_count
        if count:
            self.emptied_counts[reason] += 1
        self._contents = Contents()
        return count

    def put_aside(self) -> Contents:
        """Starts empty, as a capture does; give the answer to `bring_back` when it ends."""
        contents, self._contents = self._contents, Contents()
        return contents

    def bring_back(self, contents: Contents) -> None:
        """Goes on where `put_aside` left off."""
        self._contents = contents

    def _make_room(self, length: int, evicted: list[CachedEntry]) -> int:
        """Lets the oldest go until `length` blocks lie free in one piece; their offset."""
        now = self._contents
        if not now.entries:
            now.table_size = self._first_table_size
            return 0
        fits_before_end = self.block_count - now.next_offset >= length
        has_gone_round = now.next_offset <= now.entries[0].offset
        if fits_before_end:
            if has_gone_round:
                self._evict_for(length, now.next_offset, evicted)
            offset = now.next_offset
        else:
            offset = 0
            if not has_gone_round or not self._evict_tail(evicted):
                self._evict_for(length, 0, evicted)
        if now.entries and now.is_table_full:
            self._evict(evicted)
        return offset

    def _evict_for(self, length: int, offset: int, evicted: list[CachedEntry]) -> None:
        """RingbufferCacheManager::invalidate_sufficient_blocks: adds up what goes, gaps before the end apart."""
        if self._contents.is_table_full:
            self._evict(evicted)
        entries = self._contents.entries
        available = entries[0].offset - offset if entries else 0
        while entries and available < length:
            available += entries[0].length
            self._evict(evicted)

    def _evict_tail(self, evicted: list[CachedEntry]) -> bool:
        """Lets go what lies behind the newest, up to the end of the ring; whether nothing is left."""
        now = self._contents
        while now.entries and now.entries[0].offset >= now.next_offset:
            self._evict(evicted)
        return not now.entries

    def _evict(self, evicted: list[CachedEntry]) -> None:
        now = self._contents
        held = now.entries.popleft()
        del now.offsets[held.identity]
        now.block_count -= held.length
        now.oldest_index = (now.oldest_index + 1) % now.table_size
        evicted.append(held)

    def _add(self, held: CachedEntry) -> None:
        now = self._contents
        last_index = (now.oldest_index + len(now.entries)) % now.table_size
        now.entries.append(held)
        now.offsets[held.identity] = held.offset
        now.block_count += held.length
        end = held.offset + held.length
        now.next_offset = 0 if end == self.block_count else end
        if last_index + 1 == now.table_size and now.oldest_index == 0 and now.next_offset:
            now.table_size *= 2
