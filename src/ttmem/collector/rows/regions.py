"""Where the pools of a chip begin and end in each of its banks, and the largest block that is free there.

A chip's opener says how much each pool has, not where. Banks have one size on every chip of an architecture, and the
pools lie at their upper end, so where they begin follows:

    a DRAM bank   | the runtime's own   | DRAM                          | TRACE    |
    L1 of a core  | the runtime's own   | kernel ring | L1              | L1_SMALL |

An allocation that lies outside is believed all the same: the pool then reaches as far. No block of it is larger than
what the opener said, less what is used.
"""

from collections.abc import Callable
from typing import NamedTuple

from ttmem.devices import Pool
from ttmem.snapshot.values import Device

__all__ = ["BankSizes", "Bounds", "Gaps", "SizesOf", "bank_count", "core_bytes", "pool_bounds", "share_of"]

_UPPER = {Pool.DRAM: Pool.TRACE, Pool.L1: Pool.L1_SMALL}  # what lies above it in the same bank


class BankSizes(NamedTuple):
    """All of a bank, whichever process has it."""

    dram_bytes: int
    l1_bytes: int

    def of(self, pool: Pool) -> int:
        return self.dram_bytes if pool in (Pool.DRAM, Pool.TRACE) else self.l1_bytes


SizesOf = Callable[[str], BankSizes | None]  # by the name of an architecture


class Gaps(NamedTuple):
    """A row of the ledger about one pool: what its allocations leave free between them, in each bank."""

    unplaced_count: int = 0  # allocations that did not say where they lie
    placed_count: int = 0  # the others
    used_bytes: int = 0
    lowest: int = 0  # where the first of them begins
    highest: int = 0  # where the last of them ends
    largest_bytes: int = 0
    hole_count: int = 0


class Bounds(NamedTuple):
    """Where a pool begins and ends in each bank."""

    begin: int
    end: int

    def around(self, gaps: Gaps) -> "Bounds":
        """The same, as far as there are allocations."""
        return Bounds(min(self.begin, gaps.lowest), max(self.end, gaps.highest)) if gaps.placed_count else self

    def largest_free_bytes(self, gaps: Gaps) -> int | None:
        """The largest free block, never more than is free; None if some allocation has no known address."""
        if gaps.unplaced_count:
            return None
        if not gaps.placed_count:
            return self.end - self.begin
        free_bytes = max(0, self.end - self.begin - gaps.used_bytes)
        return min(free_bytes, max(gaps.largest_bytes, gaps.lowest - self.begin, self.end - gaps.highest))

    def largest_hole_bytes(self, gaps: Gaps) -> int | None:
        """The largest free block above the lowest allocation, 0 without any; None as above."""
        if gaps.unplaced_count:
            return None
        return max(gaps.largest_bytes, self.end - gaps.highest, 0) if gaps.placed_count else 0

    def hole_count(self, gaps: Gaps) -> int | None:
        """How many free blocks there are."""
        if gaps.unplaced_count:
            return None
        if not gaps.placed_count:
            return int(self.end > self.begin)
        return gaps.hole_count + (gaps.lowest > self.begin) + (self.end > gaps.highest)


def bank_count(device: Device, pool: Pool) -> int | None:
    return device.dram_bank_count if pool in (Pool.DRAM, Pool.TRACE) else device.l1_bank_count


def share_of(device: Device, pool: Pool) -> int | None:
    """What each bank has of a pool; 0 if the pool is not there, None if not reported."""
    banks = bank_count(device, pool)
    if not banks:
        return None
    return (device.capacity(pool) or 0) // banks


def pool_bounds(device: Device, pool: Pool, sizes: BankSizes | None) -> Bounds | None:
    """Where a pool lies by what the chip's opener said, and the size its banks have; None if either is not known."""
    share = share_of(device, pool)
    if sizes is None or share is None or (pool in _UPPER and device.capacity(pool) is None):
        return None
    above = share_of(device, _UPPER[pool]) if pool in _UPPER else 0
    end = max(0, sizes.of(pool) - (above or 0))  # an opener may say that more is reserved above than there is
    return Bounds(max(0, end - share), end)


def core_bytes(device: Device) -> int | None:
    """What a core has for buffers, circular buffers and the kernel ring: its L1 but for what the runtime keeps."""
    share = share_of(device, Pool.L1)
    if share is None or not device.kernel_ring_bytes or device.capacity(Pool.L1) is None:
        return None
    return device.kernel_ring_bytes + share + (share_of(device, Pool.L1_SMALL) or 0)
