"""What this run would have needed: the smallest trace region, L1_SMALL and worker_l1_size, and room for KV blocks.

The runtime takes the first block that fits, DRAM from below and L1 from above. A smaller region moves no buffer as long
as all of them fit, so the farthest that any ever reached is what the region must have.
"""

from typing import Literal

from ttmem.analysis.room.answers import Certainty, RoomAnswer
from ttmem.snapshot.values import ChipName, Count, Struct

__all__ = ["Advice", "AdviceReport", "Setting", "farthest"]

Setting = Literal["trace_region_size", "l1_small_size", "worker_l1_size", "kv_blocks"]


class Advice(Struct, frozen=True, kw_only=True):
    """One setting of a device, or a number of blocks, for some chips that need the same."""

    setting: Setting
    chips: tuple[ChipName, ...]
    now: Count | None  # bytes as opened, or blocks as allocated; None: not known
    needed: Count | None  # the least that would do; None: it cannot be said
    arithmetic: str
    certainty: Certainty
    why: str


class AdviceReport(RoomAnswer, frozen=True, kw_only=True):
    """All advice."""

    advice: tuple[Advice, ...]


def farthest(begin: int, end: int, lowest: int, highest: int, *, is_from_top: bool) -> int:
    """How much of a bank's region was ever reached, from the end at which the runtime begins."""
    return max(0, end - lowest) if is_from_top else max(0, highest - begin)
