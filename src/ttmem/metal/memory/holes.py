"""The free blocks of a bank in address order, searched from either end for the first that is large enough.

Their starts lie in chunks, and every chunk knows its largest block, so that a search skips whole chunks and an
insertion moves only one:

    chunk 0: [0, 4096, 9216 ...]     largest 2048
    chunk 1: [65536, 262144 ...]     largest 131072

Two blocks never touch: what would touch is merged when it is put back.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator

__all__ = ["Holes"]

CHUNK_LENGTH = 64  # a chunk of twice that is split


class Holes:
    """Free blocks of one bank; at first all of it."""

    __slots__ = ("_chunk_length", "_chunks", "_firsts", "_largest", "_size_from", "_start_before")

    def __init__(self, size_bytes: int, *, chunk_length: int = CHUNK_LENGTH) -> None:
        self._chunk_length = chunk_length
        self._size_from: dict[int, int] = {}  # start -> size
        self._start_before: dict[int, int] = {}  # end -> start
        self._chunks: list[list[int]] = []  # starts
        self._firsts: list[int] = []  # where each chunk begins: its starts are at or above
        self._largest: list[int] = []  # largest size in each chunk
        if size_bytes:
            self._insert(0, size_bytes)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """Starts and sizes in address order."""
        for chunk in self._chunks:
            for start in chunk:
                yield start, self._size_from[start]

    @property
    def largest_bytes(self) -> int:
        """The largest free block; 0 if nothing is free."""
        return max(self._largest, default=0)

    def take_lowest(self, size_bytes: int) -> int | None:
        """Cut from the lower end of the lowest block that fits."""
        for chunk, largest in enumerate(self._largest):
            if largest >= size_bytes:
                start = next(start for start in self._chunks[chunk] if self._size_from[start] >= size_bytes)
                size = self._remove(start)
                if size > size_bytes:
                    self._insert(start + size_bytes, size - size_bytes)
                return start
        return None

    def take_highest(self, size_bytes: int) -> int | None:
        """Cut from the upper end of the highest block that fits."""
        for chunk in range(len(self._largest) - 1, -1, -1):
            if self._largest[chunk] >= size_bytes:
                start = next(start for start in reversed(self._chunks[chunk]) if self._size_from[start] >= size_bytes)
                left = self._remove(start) - size_bytes
                if left:
                    self._insert(start, left)
                return start + left
        return None

    def take_at(self, start: int, size_bytes: int) -> None:
        """Cut a stretch, all of which must be free, out of the block that it lies in."""
        place = bisect_right(self._firsts, start) - 1
        chunk = self._chunks[place]
        block = chunk[bisect_right(chunk, start) - 1]
        size, end = self._remove(block), start + size_bytes
        if start > block:
            self._insert(block, start - block)
        if block + size > end:
            self._insert(end, block + size - end)

    def put_back(self, start: int, size_bytes: int) -> None:
        """Free a block that was taken, merged with the free blocks it touches."""
        end = start + size_bytes
        if end in self._size_from:
            end += self._remove(end)
        if start in self._start_before:
            start = self._start_before[start]
            self._remove(start)
        self._insert(start, end - start)

    def _insert(self, start: int, size: int) -> None:
        self._size_from[start] = size
        self._start_before[start + size] = start
        if not self._chunks:
            self._chunks, self._firsts, self._largest = [[start]], [start], [size]
            return
        place = max(bisect_right(self._firsts, start) - 1, 0)
        chunk = self._chunks[place]
        insort(chunk, start)
        self._firsts[place] = chunk[0]
        if size > self._largest[place]:
            self._largest[place] = size
        if len(chunk) == 2 * self._chunk_length:
            self._split(place)

    def _remove(self, start: int) -> int:
        """Forget a block; its size."""
        size = self._size_from.pop(start)
        del self._start_before[start + size]
        place = bisect_right(self._firsts, start) - 1
        chunk = self._chunks[place]
        del chunk[bisect_left(chunk, start)]
        if not chunk:
            del self._chunks[place], self._firsts[place], self._largest[place]
        elif size == self._largest[place]:
            self._largest[place] = self._largest_of(chunk)
        return size

    def _split(self, place: int) -> None:
        chunk = self._chunks[place]
        halves = [chunk[: self._chunk_length], chunk[self._chunk_length :]]
        self._chunks[place : place + 1] = halves
        self._firsts[place : place + 1] = [half[0] for half in halves]
        self._largest[place : place + 1] = [self._largest_of(half) for half in halves]

    def _largest_of(self, chunk: list[int]) -> int:
        return max(map(self._size_from.__getitem__, chunk))
