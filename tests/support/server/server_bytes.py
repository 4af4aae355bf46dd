"""The allocation server's messages, byte by byte, written down a second time from the documented table of offsets.

Nothing here comes from the product: what the server understands and answers is compared with these bytes.
"""

import os
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum

SIZES = (72, 112, 128, 144)
HEADER_BYTES = 40


class Type(IntEnum):
    """The twelve message types."""

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


QUESTIONS = {Type.QUERY: Type.RESPONSE, Type.DEVICE_INFO_QUERY: Type.DEVICE_INFO_RESPONSE}

# name: (bytes, signed, offset in each size that has it)
FIELDS: dict[str, tuple[int, bool, dict[int, int]]] = {
    "type": (1, False, dict.fromkeys(SIZES, 0)),
    "pad1": (3, False, dict.fromkeys(SIZES, 1)),
    "device_id": (4, True, dict.fromkeys(SIZES, 4)),
    "size": (8, False, dict.fromkeys(SIZES, 8)),
    "buffer_type": (1, False, dict.fromkeys(SIZES, 16)),
    "pad2": (3, False, dict.fromkeys(SIZES, 17)),
    "process_id": (4, True, dict.fromkeys(SIZES, 20)),
    "buffer_id": (8, False, dict.fromkeys(SIZES, 24)),
    "timestamp": (8, False, dict.fromkeys(SIZES, 32)),
    "dram_allocated": (8, False, dict.fromkeys(SIZES, 40)),
    "l1_allocated": (8, False, dict.fromkeys(SIZES, 48)),
    "l1_small_allocated": (8, False, dict.fromkeys(SIZES, 56)),
    "trace_allocated": (8, False, dict.fromkeys(SIZES, 64)),
    "cb_allocated": (8, False, {128: 72, 144: 72}),
    "kernel_allocated": (8, False, {128: 80, 144: 80}),
    "total_dram_size": (8, False, {112: 72, 128: 88, 144: 88}),
    "total_l1_size": (8, False, {112: 80, 128: 96, 144: 96}),
    "arch_type": (4, False, {112: 88, 128: 104, 144: 104}),
    "num_dram_channels": (4, False, {112: 92, 128: 108, 144: 108}),
    "dram_size_per_channel": (4, False, {112: 96, 128: 112, 144: 112}),
    "l1_size_per_core": (4, False, {112: 100, 128: 116, 144: 116}),
    "is_available": (4, False, {112: 104, 128: 120, 144: 120}),
    "num_devices": (4, False, {112: 108, 128: 124, 144: 124}),
    "ringbuffer_total_size": (4, False, {144: 128}),
    "ringbuffer_used_bytes": (4, False, {144: 132}),
    "ringbuffer_num_programs": (4, False, {144: 136}),
    "pad3": (4, False, {144: 140}),
}
COUNTERS = ("dram", "l1", "l1_small", "trace", "cb", "kernel")
_HEADER = struct.Struct("<B3xiQB3xiQQ")
_TAILS = {size: bytes(size - HEADER_BYTES) for size in SIZES}


def packed(message_bytes: int, **values: int) -> bytes:
    """A message of one of the four sizes; a field that this size does not have is left out, what is not named is 0."""
    message = bytearray(message_bytes)
    for name, value in values.items():
        width, is_signed, offsets = FIELDS[name]
        if message_bytes in offsets:
            at = offsets[message_bytes]
            message[at : at + width] = value.to_bytes(width, "little", signed=is_signed)
    return bytes(message)


def unpacked(message: bytes) -> dict[str, int]:
    """Every field that a message of this size has."""
    values = {}
    for name, (width, is_signed, offsets) in FIELDS.items():
        if len(message) in offsets:
            at = offsets[len(message)]
            values[name] = int.from_bytes(message[at : at + width], "little", signed=is_signed)
    return values


@dataclass(frozen=True, slots=True)
class Message:
    """What a client says, before it is cut into one of the four sizes."""

    type: int
    device: int = 0
    size: int = 0
    kind: int = 0  # a buffer's type, or a kernel's
    id: int = 0
    pid: int = field(default_factory=os.getpid)
    timestamp: int = 0

    def to_bytes(self, message_bytes: int = 144) -> bytes:
        header = _HEADER.pack(self.type, self.device, self.size, self.kind, self.pid, self.id, self.timestamp)
        return header + _TAILS[message_bytes]

    def to_bytes_by_the_table(self, message_bytes: int) -> bytes:
        """The same, field by field; too slow for streams."""
        return packed(
            message_bytes,
            type=self.type,
            device_id=self.device,
            size=self.size,
            buffer_type=self.kind,
            process_id=self.pid,
            buffer_id=self.id,
            timestamp=self.timestamp,
        )


def alloc(id: int, size: int, kind: int = 0, device: int = 0) -> Message:
    return Message(Type.ALLOC, device, size, kind, id)


def free(id: int, device: int = 0) -> Message:
    return Message(Type.FREE, device, id=id)


def cb_alloc(id: int, size: int, device: int = 0) -> Message:
    return Message(Type.CB_ALLOC, device, size, id=id)


def cb_free(id: int, size: int = 0, device: int = 0) -> Message:
    return Message(Type.CB_FREE, device, size, id=id)


def kernel_load(id: int, size: int, kind: int = 0, device: int = 0) -> Message:
    return Message(Type.KERNEL_LOAD, device, size, kind, id)


def kernel_unload(id: int, size: int = 0, device: int = 0) -> Message:
    return Message(Type.KERNEL_UNLOAD, device, size, id=id)


def query(device: int = 0) -> Message:
    return Message(Type.QUERY, device)


def device_info(device: int = 0) -> Message:
    return Message(Type.DEVICE_INFO_QUERY, device)


def stream(messages: "list[Message] | tuple[Message, ...]", message_bytes: int = 144) -> bytes:
    return b"".join(message.to_bytes(message_bytes) for message in messages)


def response(message_bytes: int, device: int, counters: Mapping[str, int]) -> bytes:
    """The answer to a QUERY, to the last byte."""
    values = {f"{name}_allocated": value for name, value in counters.items()}
    return packed(message_bytes, type=Type.RESPONSE, device_id=device, **values)
