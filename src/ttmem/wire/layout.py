"""Where each field of the older design's message lies, in every size the message ever had.

    size   holds
    72     header of 40 bytes, four counters
    112    that, and a device's facts
    128    that, with two more counters before the facts
    144    that, and the ring buffer's figures

All integers are little-endian. Bytes 0 to 39 are the same in all sizes; there is no magic, version or length, so
the reader must know the size.
"""

from struct import Struct
from types import MappingProxyType
from typing import NamedTuple

__all__ = ["LAYOUTS", "SIZES", "FieldPlace", "MessageLayout"]


class FieldPlace(NamedTuple):
    """Where a field lies in its message, and which integer it is (as `struct` writes it)."""

    offset_bytes: int
    size_bytes: int
    code: str


class MessageLayout(NamedTuple):
    """One size of the message: its fields by name, and all of them as one `struct`."""

    size_bytes: int
    fields: MappingProxyType[str, FieldPlace]
    packed: Struct


# field, its integer, then its offset in messages of 72, 112, 128 and 144 bytes; None: it is not there
_TABLE: tuple[tuple[str, str, int | None, int | None, int | None, int | None], ...] = (
    ("type", "B", 0, 0, 0, 0),
    ("device_id", "i", 4, 4, 4, 4),
    ("size", "Q", 8, 8, 8, 8),
    ("buffer_type", "B", 16, 16, 16, 16),
    ("process_id", "i", 20, 20, 20, 20),
    ("buffer_id", "Q", 24, 24, 24, 24),
    ("timestamp", "Q", 32, 32, 32, 32),
    ("dram_allocated", "Q", 40, 40, 40, 40),
    ("l1_allocated", "Q", 48, 48, 48, 48),
    ("l1_small_allocated", "Q", 56, 56, 56, 56),
    ("trace_allocated", "Q", 64, 64, 64, 64),
    ("cb_allocated", "Q", None, None, 72, 72),
    ("kernel_allocated", "Q", None, None, 80, 80),
    ("total_dram_size", "Q", None, 72, 88, 88),
    ("total_l1_size", "Q", None, 80, 96, 96),
    ("arch_type", "I", None, 88, 104, 104),
    ("num_dram_channels", "I", None, 92, 108, 108),
    ("dram_size_per_channel", "I", None, 96, 112, 112),
    ("l1_size_per_core", "I", None, 100, 116, 116),
    ("is_available", "I", None, 104, 120, 120),
    ("num_devices", "I", None, 108, 124, 124),
    ("ringbuffer_total_size", "I", None, None, None, 128),
    ("ringbuffer_used_bytes", "I", None, None, None, 132),
    ("ringbuffer_num_programs", "I", None, None, None, 136),
)

SIZES = (72, 112, 128, 144)


def _layout(column: int, size_bytes: int) -> MessageLayout:
    fields: dict[str, FieldPlace] = {}
    form = "<"
    end = 0
    for name, code, *offsets in _TABLE:
        offset = offsets[column]
        if offset is None:
            continue
        assert offset >= end, f"{name} overlaps the field before it"
        width = Struct(f"<{code}").size
        fields[name] = FieldPlace(offset, width, code)
        form += f"{offset - end}x{code}"
        end = offset + width
    packed = Struct(f"{form}{size_bytes - end}x")
    return MessageLayout(size_bytes, MappingProxyType(fields), packed)


LAYOUTS = MappingProxyType({size: _layout(column, size) for column, size in enumerate(SIZES)})
