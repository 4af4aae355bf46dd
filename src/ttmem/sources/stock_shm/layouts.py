"""The bytes of the regions in which the stock runtime keeps its own counters, one file per chip.

   ┌────────┬─────────────────────┬────────────────────────┬──────┐
   │ head   │ 16 chip slots       │ 64 process slots       │ tail │
   └────────┴─────────────────────┴────────────────────────┴──────┘
    totals   one in use, its own   who holds how much       padding; from layout 4 on its first word says `ready`

Four layouts are known, and these tables are all that distinguishes them. Only layout 3 was ever seen in a release; the
others are written down from the runtime's sources. Integers are little-endian.
"""

import struct
from typing import NamedTuple

__all__ = ["CHIPS", "HEAD", "LAYOUTS", "POOL_WORDS", "PROCESSES", "LayoutPart", "RegionLayout", "SlotTable"]

# The sums every head and every slot keeps, by the names pools have here. Bytes of tensors, not what banks give up.
POOL_WORDS = ("dram", "l1", "l1_small", "trace", "cb")


class LayoutPart(NamedTuple):
    """One field: where it lies, and what `struct` calls it."""

    name: str
    offset_bytes: int
    form: str


class SlotTable(NamedTuple):
    """Some slots that lie one after the other; offsets of their fields count from the beginning of a slot."""

    offset_bytes: int
    slot_count: int
    stride_bytes: int
    parts: tuple[LayoutPart, ...]

    @property
    def end_bytes(self) -> int:
        return self.slot_offset_bytes(self.slot_count)

    def slot_offset_bytes(self, slot: int) -> int:
        return self.offset_bytes + slot * self.stride_bytes


class RegionLayout(NamedTuple):
    """What differs between the layouts."""

    version: int
    sizes_bytes: tuple[int, ...]  # that a file of it may have
    free_chip: int  # what the chip id of an empty slot says
    is_named_by_unique_id: bool  # else by board and place on it, which nothing else is named by
    tail: tuple[LayoutPart, ...] = ()
    origin: str = "written from the runtime's sources; no file of it was ever seen"


def _sums(offset_bytes: int) -> tuple[LayoutPart, ...]:
    return tuple(LayoutPart(word, offset_bytes + 8 * at, "Q") for at, word in enumerate(POOL_WORDS))


HEAD = (
    LayoutPart("version", 0, "I"),
    LayoutPart("active_processes", 4, "I"),
    LayoutPart("last_update_ns", 8, "Q"),
    LayoutPart("references", 16, "I"),
    LayoutPart("board_serial", 24, "Q"),
    LayoutPart("asic_id", 32, "Q"),
    LayoutPart("device_id", 40, "I"),
    *_sums(48),
)
CHIPS = SlotTable(88, 16, 48, (LayoutPart("chip_id", 0, "I"), LayoutPart("is_remote", 4, "I"), *_sums(8)))
PROCESSES = SlotTable(
    856,
    64,
    120,
    (LayoutPart("pid", 0, "i"), *_sums(8), LayoutPart("last_update_ns", 48, "Q"), LayoutPart("name", 56, "64s")),
)

_UNPADDED_BYTES = PROCESSES.end_bytes
_PADDED_BYTES = -(-_UNPADDED_BYTES // 64) * 64
_FREE_CHIP = 0xFFFF_FFFF
READY = 0x5245_4459

LAYOUTS = {
    layout.version: layout
    for layout in (
        RegionLayout(1, (_UNPADDED_BYTES, _PADDED_BYTES), free_chip=0, is_named_by_unique_id=False),
        RegionLayout(2, (_UNPADDED_BYTES, _PADDED_BYTES), free_chip=_FREE_CHIP, is_named_by_unique_id=True),
        RegionLayout(
            3,
            (_PADDED_BYTES,),
            free_chip=_FREE_CHIP,
            is_named_by_unique_id=True,
            origin="every release from 0.70.1 to 0.81.1",
        ),
        RegionLayout(
            4,
            (_PADDED_BYTES,),
            free_chip=_FREE_CHIP,
            is_named_by_unique_id=True,
            tail=(LayoutPart("init_state", _UNPADDED_BYTES, "I"),),
        ),
    )
}
LARGEST_BYTES = max(size for layout in LAYOUTS.values() for size in layout.sizes_bytes)


def compiled(parts: tuple[LayoutPart, ...], size_bytes: int | None = None) -> struct.Struct:
    """One `struct` that reads all parts at once, up to the end of the last or a given size."""
    form, at = "<", 0
    for part in parts:
        form += f"{part.offset_bytes - at}x{part.form}"
        at = part.offset_bytes + struct.calcsize("<" + part.form)
    return struct.Struct(form + (f"{size_bytes - at}x" if size_bytes is not None else ""))


def compiled_first(table: SlotTable) -> struct.Struct:
    """The first part of every slot of a table, all at once."""
    form = table.parts[0].form
    return struct.Struct("<" + f"{form}{table.stride_bytes - struct.calcsize('<' + form)}x" * table.slot_count)
