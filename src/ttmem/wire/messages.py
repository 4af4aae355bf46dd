"""The older design's message as a value: what an application reports to the server, what a tool asks, what it answers.

    Message(MessageType.ALLOC, device_id=0, size=4096, buffer_id=0x1000).pack()
    Message.unpack(reply).dram_allocated

One shape serves requests and replies of every size. Packed into a small one, the fields that it has no place for are
left out; unpacked from a small one, they are 0.
"""

import struct
from dataclasses import astuple, dataclass, fields
from enum import IntEnum
from operator import attrgetter

from ttmem.errors import MessageMalformed
from ttmem.wire.layout import LAYOUTS, SIZES, MessageLayout

__all__ = ["DEFAULT_SOCKET", "Message", "MessageType", "WireKernelType"]

DEFAULT_SOCKET = "/tmp/tt_allocation_server.sock"


class MessageType(IntEnum):
    """What a message is for. 4 and 7 are answers of the server, all others are sent to it."""

    ALLOC = 1
    FREE = 2
    QUERY = 3
    RESPONSE = 4
    DUMP_REMAINING = 5
    DEVICE_INFO_QUERY = 6
    DEVICE_INFO_RESPONSE = 7
    CB_ALLOC = 8
    CB_FREE = 9
    KERNEL_LOAD = 10
    KERNEL_UNLOAD = 11
    DUMP_KERNELS = 12


class WireKernelType(IntEnum):
    """Whose kernel it is; in KERNEL_LOAD it stands in the field of the buffer type. Any other number is unknown."""

    APPLICATION = 0
    FABRIC = 1
    DISPATCH = 2


@dataclass(frozen=True, slots=True)
class Message:
    """One message; the names are those of the older design. `type` is a plain number where it is none of the known."""

    type: int
    device_id: int = 0
    size: int = 0
    buffer_type: int = 0
    process_id: int = 0
    buffer_id: int = 0
    timestamp: int = 0
    dram_allocated: int = 0
    l1_allocated: int = 0
    l1_small_allocated: int = 0
    trace_allocated: int = 0
    cb_allocated: int = 0
    kernel_allocated: int = 0
    total_dram_size: int = 0
    total_l1_size: int = 0
    arch_type: int = 0
    num_dram_channels: int = 0
    dram_size_per_channel: int = 0
    l1_size_per_core: int = 0
    is_available: int = 0
    num_devices: int = 0
    ringbuffer_total_size: int = 0
    ringbuffer_used_bytes: int = 0
    ringbuffer_num_programs: int = 0

    def pack(self, size_bytes: int = 144) -> bytes:
        """The bytes of this message in one of the four sizes; pads are zero."""
        layout = _layout_of(size_bytes, "asked for")
        try:
            return layout.packed.pack(*_VALUES[size_bytes](self))
        except struct.error:
            raise MessageMalformed(self._misfit(layout)) from None

    @classmethod
    def unpack(cls, data: bytes) -> "Message":
        """The message of exactly these bytes; their number gives the size."""
        layout = _layout_of(len(data), "found")
        values = dict(zip(layout.fields, layout.packed.unpack(data), strict=True))
        values["type"] = _type_of(values["type"])
        return cls(**values)

    def _misfit(self, layout: MessageLayout) -> str:
        for name, place in layout.fields.items():
            value = getattr(self, name)
            try:
                struct.pack(f"<{place.code}", value)
            except struct.error:
                bits = 8 * place.size_bytes
                sign = "a signed" if place.code.islower() else "an unsigned"
                return f"field {name}: expected {sign} number of {bits} bits, found {value!r}; leave it out or cut it"
        raise AssertionError(f"every field of {astuple(self)} fits")


_VALUES = {size: attrgetter(*LAYOUTS[size].fields) for size in SIZES}

assert tuple(field.name for field in fields(Message)) == tuple(LAYOUTS[144].fields)


def _layout_of(size_bytes: int, found: str) -> MessageLayout:
    layout = LAYOUTS.get(size_bytes)
    if layout is None:
        sizes = ", ".join(map(str, SIZES))
        raise MessageMalformed(
            f"expected a message of {sizes} bytes, {found} {size_bytes}; read on until one of them is whole"
        )
    return layout


def _type_of(number: int) -> int:
    return MessageType(number) if number in MessageType._value2member_map_ else number
