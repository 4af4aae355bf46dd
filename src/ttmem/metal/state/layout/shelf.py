"""The kernel ring while a trace is planned: regions with owners, and where a new one does least harm.

Only two kinds of places are worth a look: at either end of the ring, and right beside a region that is there. Each has
a price: what lies there costs its size over how long until it is needed again, and far more if one of the last programs
uses it, since the replay would have to wait for that program. The cheapest place wins, the first of equals.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ttmem.metal.chips.architecture import data

# SimpleTraceAllocator::RegionAllocator::allocate_region
WRITE_AHEAD = data("runtime")["launch_slot_count"]  # how many programs the host wants to be ahead of the cores
STALE_AFTER = WRITE_AHEAD + 1  # what is older has been waited for already: one launch message is always held back
STALL_PRICE = 1e8
OWN_BINARY_PRICE = 1e9
_SINGLE = struct.Struct("f")


@dataclass(frozen=True, slots=True)
class ShelfRegion:
    """Bytes that belong to a program; `user`: the last node that uses them, `next_use`: the node that will again."""

    address: int
    size_bytes: int
    program: int
    is_binary: bool
    user: int
    next_use: int | None = None

    @property
    def end(self) -> int:
        """The first address behind it."""
        return self.address + self.size_bytes


@dataclass(frozen=True, slots=True)
class Placed:
    """Where a region went, and the node that has to be done before it is written."""

    address: int
    wait_for: int | None = None


class Shelf:
    """The regions of one core type's ring, addresses from 0, in order and never overlapping."""

    def __init__(self, size_bytes: int) -> None:
        self.size_bytes = size_bytes
        self.regions: list[ShelfRegion] = []

    def binary_of(self, program: int) -> ShelfRegion | None:
        """Where the binary of a program lies intact."""
        return next((region for region in self.regions if region.is_binary and region.program == program), None)

    def use(self, region: ShelfRegion, user: int, next_use: int | None) -> None:
        """A node runs a binary that is there already."""
        self.regions[self.regions.index(region)] = replace(region, user=user, next_use=next_use)

    def clear(self) -> None:
        """Forgets everything."""
        self.regions.clear()

    def place(self, wanted: ShelfRegion, *, is_top_down: bool) -> Placed | None:
        """Puts `wanted` (its address does not matter) where it is cheapest; None if it fits nowhere."""
        if wanted.size_bytes == 0:
            return Placed(0)
        best: tuple[float, int, int | None] | None = None
        stale: set[ShelfRegion] = set()
        for address in self._candidates(wanted.size_bytes, is_top_down):
            offer = self._price(address, wanted, stale)
            if offer is None:
                continue
            price, wait_for = offer
            if best is None or price < best[0]:
                best = (price, address, wait_for)
            if price == 0:
                break
        self.regions = [region for region in self.regions if region not in stale]
        if best is None:
            return None
        _, address, wait_for = best
        self._insert(replace(wanted, address=address))
        return Placed(address, wait_for)

    def _candidates(self, size_bytes: int, is_top_down: bool) -> Iterator[int]:
        last = self.size_bytes - size_bytes
        if last < 0:
            return
        if is_top_down:
            yield last
            yield from (
                region.address - size_bytes
                for region in reversed(self.regions)
                if size_bytes <= region.address < self.size_bytes
            )
        else:
            yield 0
            yield from (region.end for region in self.regions if region.end <= last)

    def _price(self, address: int, wanted: ShelfRegion, stale: set[ShelfRegion]) -> tuple[float, int | None] | None:
        """What it costs to write there and for whom to wait; None if this very node uses bytes there."""
        price, newest_user = 0.0, None
        for region in self._overlapped(address, wanted.size_bytes):
            if region.user == wanted.user:
                return None
            if region.next_use is not None:
                price = _single(price + _eviction_price(region, wanted.user))
            elif wanted.user - region.user > STALE_AFTER:
                stale.add(region)
            newest_user = region.user if newest_user is None else max(newest_user, region.user)
        if newest_user is not None and wanted.user - newest_user < WRITE_AHEAD:
            price = _single(price + STALL_PRICE * (1 << (WRITE_AHEAD - (wanted.user - newest_user))))
        return price, newest_user

    def _overlapped(self, address: int, size_bytes: int) -> Iterator[ShelfRegion]:
        end = address + size_bytes
        return (region for region in self.regions if region.end > address and region.address < end)

    def _insert(self, new: ShelfRegion) -> None:
        remaining = [region for region in self.regions if region.end <= new.address or region.address >= new.end]
        self.regions = sorted([*remaining, new], key=lambda region: region.address)


def _eviction_price(region: ShelfRegion, user: int) -> float:
    """Much to send again, and soon, is dear; what this very node is about to run is dearest."""
    assert region.next_use is not None
    if region.next_use == user:
        return OWN_BINARY_PRICE
    return _single(region.size_bytes / (region.next_use - user))


def _single(number: float) -> float:
    """In single precision, as the runtime adds: among great sums small differences do not count."""
    rounded: float = _SINGLE.unpack(_SINGLE.pack(number))[0]
    return rounded
