"""The stock runtime's own classes that need no device, driven through the symbols its library exports.

Each judge lies in a zeroed block of memory that an exported constructor filled, or that is laid out by hand where the
runtime has none. Names and offsets are those of the one release that `stock.RELEASE` pins.
"""

import ctypes
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

_METAL = "_ZN2tt8tt_metal"
_RING = f"{_METAL}21WorkerConfigBufferMgr"
_CACHE = f"{_METAL}22RingbufferCacheManager"
_RESERVE_SPACE = (
    f"{_METAL}16program_dispatch37reserve_space_in_kernel_config_bufferE"
    "RNS0_21WorkerConfigBufferMgrERKSt6vectorIjSaIjEENS0_19ProgramBinaryStatusEjjjRNS1_23ProgramDispatchMetadataE"
)
_PAGE_SIZE = f"{_METAL}14trace_dispatch39compute_interleaved_trace_buf_page_sizeEjj"
_ALLOCATE_REGION = f"{_METAL}20SimpleTraceAllocator15RegionAllocator15allocate_regionEjjjmb"
_BLOCK_BYTES = 8192
_PRESENT = 1 << 32
_LOW = 0xFFFF_FFFF


class _Vector(ctypes.Structure):
    _fields_ = (("begin", ctypes.c_void_p), ("end", ctypes.c_void_p), ("limit", ctypes.c_void_p))


class _TwoRegisters(ctypes.Structure):
    _fields_ = (("first", ctypes.c_uint64), ("second", ctypes.c_uint64))


@dataclass(frozen=True, slots=True)
class StockLaunch:
    """What ProgramDispatchMetadata says after space was found."""

    addresses: tuple[int, ...]
    sync_count: int
    is_stalled_first: bool
    is_stalled_before_program: bool


class Library:
    """libtt_metal.so, loaded into this process."""

    def __init__(self, path: Path) -> None:
        self._loaded = ctypes.CDLL(str(path))
        self._functions: dict[str, Callable[..., _TwoRegisters]] = {}

    def call(self, symbol: str, *arguments: object) -> _TwoRegisters:
        """What the function leaves in its two result registers."""
        function = self._functions.get(symbol)
        if function is None:
            function = self._functions[symbol] = self._function(symbol)
        return function(*arguments)

    def _function(self, symbol: str) -> Callable[..., _TwoRegisters]:
        function = self._loaded[symbol]
        function.restype = _TwoRegisters
        return function

    def trace_page_bytes(self, stream_bytes: int, bank_count: int) -> int:
        result = self.call(_PAGE_SIZE, ctypes.c_uint32(stream_bytes), ctypes.c_uint32(bank_count))
        return int(result.first)


class StockRing:
    """WorkerConfigBufferMgr. `lanes`: base and size each; the last two are those of launch messages."""

    def __init__(self, library: Library, lanes: Sequence[tuple[int, int]]) -> None:
        self._library = library
        self._block = ctypes.create_string_buffer(_BLOCK_BYTES)
        self._lane_count = len(lanes)
        library.call(f"{_RING}C1Ev", self._block)
        for base, size in lanes:
            library.call(f"{_RING}15init_add_bufferEjj", self._block, ctypes.c_uint32(base), ctypes.c_uint32(size))

    def reserve(self, sizes: Sequence[int]) -> tuple[tuple[int, ...], int | None]:
        """Addresses, and the count to wait for or None."""
        words, vector = _vector_of(sizes)
        result = self._library.call(f"{_RING}7reserveERKSt6vectorIjSaIjEE", self._block, ctypes.byref(vector))
        del words
        addresses = tuple(address for address, _, _ in _triples(result.second))
        return addresses, result.first >> 32 if result.first & 1 else None

    def launch(self, sizes: Sequence[int], *, status: int, worker_count: int, expected_count: int) -> StockLaunch:
        """Reserve, free and allocate as an enqueue does."""
        words, vector = _vector_of(sizes)
        metadata = ctypes.create_string_buffer(256)
        counts = [ctypes.c_uint32(count) for count in (worker_count, expected_count, 0)]
        self._library.call(_RESERVE_SPACE, self._block, ctypes.byref(vector), ctypes.c_uint8(status), *counts, metadata)
        del words
        sync_count, is_first, is_before = (ctypes.c_uint32 * 3).from_buffer(metadata, 0x18)
        addresses = tuple(address for address, _, _ in _triples(ctypes.addressof(metadata)))
        return StockLaunch(addresses, sync_count, bool(is_first), bool(is_before))

    def free(self, sync_count: int) -> None:
        self._library.call(f"{_RING}4freeEj", self._block, ctypes.c_uint32(sync_count))

    def alloc(self, sync_count: int) -> None:
        self._library.call(f"{_RING}5allocEj", self._block, ctypes.c_uint32(sync_count))

    def mark_completely_full(self, sync_count: int) -> None:
        self._library.call(f"{_RING}20mark_completely_fullEj", self._block, ctypes.c_uint32(sync_count))

    def live(self) -> list[list[tuple[int, int, int]]]:
        """Per lane the live entries, oldest first: address, size, sync count."""
        rows = _addresses_of_vectors(_vector_at(self._block, 0x30))
        next_indices = _words(_vector_at(self._block, 0x48))
        oldest_indices = _words(_vector_at(self._block, 0x60))
        table: dict[int, list[tuple[int, int, int]]] = {}
        lanes = []
        for lane in range(self._lane_count):
            count = (next_indices[lane] - oldest_indices[lane]) % len(rows)
            indices = [(oldest_indices[lane] + step) % len(rows) for step in range(count)]
            for index in indices:
                if index not in table:
                    table[index] = list(_triples(rows[index]))
            lanes.append([table[index][lane] for index in indices])
        return lanes


class StockPrefetcherCache:
    """RingbufferCacheManager; offsets in blocks."""

    def __init__(self, library: Library, block_bytes: int, block_count: int, table_size: int) -> None:
        self._library = library
        self._block = ctypes.create_string_buffer(_BLOCK_BYTES)
        library.call(f"{_CACHE}C1Eiii", self._block, block_bytes, block_count, table_size)

    def ask(self, identity: int, size_bytes: int) -> tuple[bool, int] | None:
        """Whether it was there, and its offset; None if it cannot be held."""
        result = self._library.call(
            f"{_CACHE}16get_cache_offsetEmj", self._block, ctypes.c_uint64(identity), ctypes.c_uint32(size_bytes)
        )
        return (bool(result.first & 1), result.first >> 32) if result.second & 0xFF else None

    def reset(self) -> None:
        self._library.call(f"{_CACHE}5resetEv", self._block)

    def swap(self, other: "StockPrefetcherCache") -> None:
        self._library.call(f"{_METAL}4swapERNS0_22RingbufferCacheManagerES2_", self._block, other._block)

    def held(self) -> dict[int, int]:
        """The offset of every identity that would be found."""
        entries = _vector_at(self._block, 0x10).begin or 0
        indices = _words(_vector_at(self._block, 0x38))
        return {identity: _word(entries + 12 * index) for identity, index in enumerate(indices) if index != _LOW}


class StockTraceShelf:
    """SimpleTraceAllocator::RegionAllocator: has no exported constructor, so its maps are laid out empty by hand."""

    # ring size | two maps program -> address | map address -> region | pointer to the vector of next uses
    _MAPS = (0x08, 0x38, 0x68)
    _NEXT_USES = 0x98

    def __init__(self, library: Library, size_bytes: int, next_uses: Sequence[int | None]) -> None:
        self._library = library
        self._block = ctypes.create_string_buffer(_BLOCK_BYTES)
        ctypes.c_uint32.from_buffer(self._block, 0).value = size_bytes
        for offset in self._MAPS:
            header = ctypes.addressof(self._block) + offset + 8
            for link in (16, 24):  # leftmost and rightmost of an empty tree are its own header
                ctypes.c_uint64.from_buffer(self._block, offset + 8 + link).value = header
        self._extra, self._extra_vector = _next_use_records(next_uses)
        ctypes.c_uint64.from_buffer(self._block, self._NEXT_USES).value = ctypes.addressof(self._extra_vector)

    def place(
        self, size_bytes: int, *, node: int, program: int, is_binary: bool, is_top_down: bool
    ) -> tuple[int | None, int | None]:
        """The node to wait for, and the address; None each if there is none."""
        numbers = [ctypes.c_uint32(number) for number in (size_bytes, node, int(is_binary))]
        result = self._library.call(
            _ALLOCATE_REGION, self._block, *numbers, ctypes.c_uint64(program), ctypes.c_bool(is_top_down)
        )
        return _optional(result.first), _optional(result.second)

    def use(self, address: int, node: int) -> None:
        """RegionAllocator::update_region_trace_idx, which is inlined everywhere."""
        [found] = [region for region in self._nodes() if _word(region + 0x20) == address]
        ctypes.c_uint32.from_address(found + 0x28).value = node

    def regions(self) -> list[tuple[int, int, int, bool, int]]:
        """Address, size, program, whether a binary, last user; in order."""
        return [
            (_word(at + 0x20), _word(at + 0x30), _quad(at + 0x38), bool(_word(at + 0x2C)), _word(at + 0x28))
            for at in self._nodes()
        ]

    def _nodes(self) -> Iterator[int]:
        yield from _in_order(_quad(ctypes.addressof(self._block) + self._MAPS[2] + 16))


def _in_order(tree_node: int) -> Iterator[int]:
    if tree_node:
        yield from _in_order(_quad(tree_node + 16))
        yield tree_node
        yield from _in_order(_quad(tree_node + 24))


def _next_use_records(next_uses: Sequence[int | None]) -> tuple[object, _Vector]:
    """Per node: next use of arguments (never), next use of binaries, a count; 20 bytes."""
    words = (ctypes.c_uint32 * (5 * max(1, len(next_uses))))()
    for node, next_use in enumerate(next_uses):
        if next_use is not None:
            words[5 * node + 2], words[5 * node + 3] = next_use, 1
    begin = ctypes.addressof(words)
    return words, _Vector(begin, begin + ctypes.sizeof(words), begin + ctypes.sizeof(words))


def _vector_of(numbers: Sequence[int]) -> tuple[object, _Vector]:
    """The words, to be kept alive, and a std::vector that points at them."""
    words = (ctypes.c_uint32 * len(numbers))(*numbers)
    begin = ctypes.addressof(words)
    return words, _Vector(begin, begin + 4 * len(numbers), begin + 4 * len(numbers))


def _vector_at(block: ctypes.Array[ctypes.c_char], offset: int) -> _Vector:
    return _Vector.from_buffer(block, offset)


def _words(vector: _Vector) -> Sequence[int]:
    words = array("I")
    if vector.begin:
        words.frombytes(ctypes.string_at(vector.begin, (vector.end or 0) - vector.begin))
    return words


def _triples(address: int) -> Iterator[tuple[int, int, int]]:
    """The elements of a vector of structures of three words."""
    words = _words(_Vector.from_address(address))
    return zip(words[0::3], words[1::3], words[2::3], strict=True)


def _addresses_of_vectors(vector: _Vector) -> range:
    return range(vector.begin or 0, vector.end or 0, ctypes.sizeof(_Vector))


def _optional(register: int) -> int | None:
    return register & _LOW if register & _PRESENT else None


def _word(address: int) -> int:
    return ctypes.c_uint32.from_address(address).value


def _quad(address: int) -> int:
    return ctypes.c_uint64.from_address(address).value
