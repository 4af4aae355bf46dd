"""The older protocol's message: every field where the documented table has it, in every size, both directions."""

import dataclasses
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ttmem.errors import MessageMalformed, TtmemError
from ttmem.wire import DEFAULT_SOCKET, LAYOUTS, SIZES, Message, MessageType, WireKernelType

# The documented table, in messages of 72, 112, 128 and 144 bytes.
OFFSETS = {
    "type": (0, 0, 0, 0),
    "device_id": (4, 4, 4, 4),
    "size": (8, 8, 8, 8),
    "buffer_type": (16, 16, 16, 16),
    "process_id": (20, 20, 20, 20),
    "buffer_id": (24, 24, 24, 24),
    "timestamp": (32, 32, 32, 32),
    "dram_allocated": (40, 40, 40, 40),
    "l1_allocated": (48, 48, 48, 48),
    "l1_small_allocated": (56, 56, 56, 56),
    "trace_allocated": (64, 64, 64, 64),
    "cb_allocated": (None, None, 72, 72),
    "kernel_allocated": (None, None, 80, 80),
    "total_dram_size": (None, 72, 88, 88),
    "total_l1_size": (None, 80, 96, 96),
    "arch_type": (None, 88, 104, 104),
    "num_dram_channels": (None, 92, 108, 108),
    "dram_size_per_channel": (None, 96, 112, 112),
    "l1_size_per_core": (None, 100, 116, 116),
    "is_available": (None, 104, 120, 120),
    "num_devices": (None, 108, 124, 124),
    "ringbuffer_total_size": (None, None, None, 128),
    "ringbuffer_used_bytes": (None, None, None, 132),
    "ringbuffer_num_programs": (None, None, None, 136),
}
WIDTHS = {"type": 1, "buffer_type": 1, "device_id": 4, "process_id": 4} | {
    name: 4 if places[3] is not None and places[3] >= 104 else 8
    for name, places in OFFSETS.items()
    if name not in ("type", "buffer_type", "device_id", "process_id")
}
SIGNED = {"device_id", "process_id"}

# One message of each kind that an application sends, as the older client filled it, and its first 40 bytes.
GOLDEN = {
    Message(MessageType.ALLOC, 3, 0x1000, 1, 77, 0xABCDEF, 5): (
        "01000000 03000000 0010000000000000 01000000 4d000000 efcdab0000000000 0500000000000000"
    ),
    Message(MessageType.FREE, -1, process_id=-2, buffer_id=1 << 63): (
        "02000000 ffffffff 0000000000000000 00000000 feffffff 0000000000000080 0000000000000000"
    ),
    Message(MessageType.KERNEL_LOAD, 0, 917504, WireKernelType.FABRIC, 77, 9): (
        "0a000000 00000000 00000e0000000000 01000000 4d000000 0900000000000000 0000000000000000"
    ),
}


def numbers(name: str) -> st.SearchStrategy[int]:
    bits = 8 * WIDTHS[name]
    return st.integers(-(1 << bits - 1), (1 << bits - 1) - 1) if name in SIGNED else st.integers(0, (1 << bits) - 1)


MESSAGES = st.builds(Message, **{name: numbers(name) for name in OFFSETS})


@pytest.mark.parametrize("size", SIZES)
def test_every_field_lies_where_the_table_has_it(size: int) -> None:
    column = SIZES.index(size)
    expected = {name: places[column] for name, places in OFFSETS.items() if places[column] is not None}

    assert {name: place.offset_bytes for name, place in LAYOUTS[size].fields.items()} == expected
    assert {name: place.size_bytes for name, place in LAYOUTS[size].fields.items()} == {
        name: WIDTHS[name] for name in expected
    }
    assert LAYOUTS[size].packed.size == size


def test_the_longest_packs_as_the_documented_format_does() -> None:
    message = Message(*range(1, 25))

    assert message.pack(144) == struct.pack("<B3xiQB3xiQQ6Q2Q6I3I4x", *range(1, 25))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("message", GOLDEN)
def test_a_request_has_its_golden_bytes_and_zeros_behind_them(message: Message, size: int) -> None:
    expected = bytes.fromhex(GOLDEN[message]) + bytes(size - 40)

    assert message.pack(size) == expected
    assert Message.unpack(expected) == message


@pytest.mark.parametrize("size", SIZES)
@given(message=MESSAGES)
def test_what_is_packed_comes_back_and_what_has_no_place_is_left_out(size: int, message: Message) -> None:
    left_out = {name: 0 for name in OFFSETS if name not in LAYOUTS[size].fields}

    packed = message.pack(size)

    assert len(packed) == size
    assert Message.unpack(packed) == dataclasses.replace(message, **left_out)


@given(data=st.sampled_from(SIZES).flatmap(lambda size: st.binary(min_size=size, max_size=size)))
def test_any_bytes_of_a_known_size_are_a_message_and_only_pads_are_forgotten(data: bytes) -> None:
    fields = LAYOUTS[len(data)].fields.values()
    kept = {at for place in fields for at in range(place.offset_bytes, place.offset_bytes + place.size_bytes)}

    packed = Message.unpack(data).pack(len(data))

    assert packed == bytes(byte if at in kept else 0 for at, byte in enumerate(data))


@pytest.mark.parametrize("type", MessageType)
def test_a_known_type_comes_back_by_its_name(type: MessageType) -> None:
    assert isinstance(Message.unpack(Message(type).pack()).type, MessageType)
    assert 1 <= type <= 12


@pytest.mark.parametrize("type", [0, 13, 255])
def test_an_unknown_type_comes_back_as_a_number(type: int) -> None:
    message = Message.unpack(Message(type).pack(72))

    assert message.type == type
    assert not isinstance(message.type, MessageType)


def test_there_are_twelve_types_and_three_kernel_types() -> None:
    assert [int(type) for type in MessageType] == list(range(1, 13))
    assert {type.name: int(type) for type in WireKernelType} == {"APPLICATION": 0, "FABRIC": 1, "DISPATCH": 2}
    assert DEFAULT_SOCKET == "/tmp/tt_allocation_server.sock"


@pytest.mark.parametrize("length", [0, 1, 71, 73, 127, 143, 145, 288])
def test_another_number_of_bytes_is_an_error_that_says_what_was_expected(length: int) -> None:
    with pytest.raises(MessageMalformed, match=rf"expected .* 72, 112, 128, 144 bytes, found {length};") as caught:
        Message.unpack(bytes(length))

    assert isinstance(caught.value, TtmemError)
    assert "\n" not in str(caught.value)


def test_an_unknown_size_cannot_be_asked_for() -> None:
    with pytest.raises(MessageMalformed, match="72, 112, 128, 144 bytes, asked for 40;"):
        Message(MessageType.QUERY).pack(40)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("device_id", 1 << 31, "a signed number of 32 bits"),
        ("size", -1, "an unsigned number of 64 bits"),
        ("buffer_type", 256, "an unsigned number of 8 bits"),
        ("num_devices", 1 << 32, "an unsigned number of 32 bits"),
        ("buffer_id", "seven", "an unsigned number of 64 bits"),
    ],
)
def test_a_number_that_does_not_fit_is_named(name: str, value: int, expected: str) -> None:
    with pytest.raises(MessageMalformed, match=f"field {name}: expected {expected}, found {value!r}"):
        dataclasses.replace(Message(MessageType.ALLOC), **{name: value}).pack(144)


def test_a_number_without_a_place_need_not_fit() -> None:
    assert Message(MessageType.QUERY, num_devices=1 << 40).pack(72) == Message(MessageType.QUERY).pack(72)
