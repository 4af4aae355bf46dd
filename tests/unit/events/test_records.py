"""Records of a journal: every event survives the way into 64 bytes and back, at the places the layout draws."""

import struct
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ttmem import events
from ttmem.devices import BinaryStatus, BufferLayout, Kind, Pool, Word
from ttmem.errors import RecordDamaged
from ttmem.events import Event, decode_record, decode_records, encode_record
from ttmem.events.bits import HEAD, Bits
from ttmem.tracking import CoreType, FoundBy, Stall

CLASSES = [
    made
    for name in events.__all__
    if isinstance(made := getattr(events, name), type) and issubclass(made, Event) and made.TYPE
]
WORDS: dict[str, type[Word]] = {
    "kind": Kind,
    "pool": Pool,
    "status": BinaryStatus,
    "layout": BufferLayout,
    "core_type": CoreType,
    "found_by": FoundBy,
    "stall": Stall,
}


def record(*words: int) -> bytes:
    return struct.pack("<8Q", *words)


def tag(number: int, kind: int = 0, pool: int = 0, flags: int = 0, site: int = 0) -> int:
    return number | kind << 8 | pool << 16 | flags << 24 | site << 32


def kinds_of(made: type[Event]) -> list[Kind]:
    """Kinds that lead back to the same class."""
    default = {field.name: field.default for field in fields(made)}["kind"]
    return {
        "AllocationMade": [Kind.UNKNOWN],
        "KernelLoaded": [kind for kind in Kind if kind.is_kernel],
        "CircularBufferAllocated": [Kind.CIRCULAR_BUFFER, Kind.DATAFLOW_BUFFER, Kind.SCRATCHPAD],
    }.get(made.__name__, [default if isinstance(default, Kind) else Kind.UNKNOWN])


def value_for(name: str, bits: Bits, made: type[Event]) -> st.SearchStrategy[Any]:
    if name == "kind":
        return st.sampled_from(kinds_of(made))
    if name in WORDS:
        return st.sampled_from(list(WORDS[name]))
    return st.integers(0, (1 << bits.width) - 1)


@st.composite
def some_event(draw: st.DrawFn) -> Event:
    made = draw(st.sampled_from(CLASSES))
    bits = {**HEAD, **made.BITS}
    return made(**{name: draw(value_for(name, where, made)) for name, where in bits.items()})


@given(some_event())
def test_an_event_survives_the_way_into_bytes_and_back(event: Event) -> None:
    assert decode_record(encode_record(event)) == event


@pytest.mark.parametrize("made", CLASSES)
def test_no_two_fields_of_an_event_share_a_bit(made: type[Event]) -> None:
    taken: set[tuple[int, int]] = {(2, bit) for bit in range(8)}  # the type itself
    for bits in {**HEAD, **made.BITS}.values():
        mine = {(bits.word, bits.shift + bit) for bit in range(bits.width)}
        assert not taken & mine
        taken |= mine


def test_a_buffer_lies_where_the_layout_draws_it() -> None:
    place, per_bank = 0x1000 | 4 << 48 | 0x800 << 52, 64 | 1 << 48
    words = (18, 7, tag(1, kind=1, pool=2, flags=32, site=5), 11, place, 4096 | 3 << 48, 4000 | 9 << 48, per_bank)

    event = decode_record(record(*words))

    assert event == events.BufferAllocated(
        sequence=9,
        time_ticks=7,
        pool=Pool.L1,
        flags=32,
        site=5,
        id=11,
        address=0x1000,
        reserved_bytes=4096,
        target=3,
        requested_bytes=4000,
        thread=9,
        per_bank_bytes=64,
        layout=BufferLayout.WIDTH_SHARDED,
        page_low=0x800,
        page_high=1,
    )
    assert isinstance(event, events.BufferAllocated)
    assert event.page_bytes == 4096 + 2048


def test_a_buffer_by_core_has_a_core_set_where_others_have_a_page() -> None:
    place, per_core = 0x1000 | (8 | 3) << 48 | 0x7FF << 52, 2048 | 5 << 27 | 3 << 48
    words = (18, 7, tag(1, kind=1, pool=2, flags=64), 11, place, 8192 | 3 << 48, 8000 | 9 << 48, per_core)

    event = decode_record(record(*words))

    assert event == events.CoreBufferAllocated(
        sequence=9,
        time_ticks=7,
        pool=Pool.L1,
        flags=64,
        id=11,
        address=0x1000,
        layout=BufferLayout.HEIGHT_SHARDED,
        reserved_bytes=8192,
        target=3,
        requested_bytes=8000,
        thread=9,
        size_per_core_bytes=2048,
        next_part=5,
        core_set_low=0x7FF,
        core_set_high=3,
    )
    assert isinstance(event, events.CoreBufferAllocated)
    assert (event.core_set, event.core_count, event.is_further) == (3 << 12 | 0x7FF, 4, True)


@pytest.mark.parametrize(("code", "page"), [((1 << 27) - 1, (1 << 27) - 1), (1 << 27, 0), (1 << 27 | 3, 100 << 20)])
def test_a_large_page_is_known_by_the_number_of_pages(code: int, page: int) -> None:
    event = events.BufferAllocated(id=1, requested_bytes=300 << 20, page_low=code & 0xFFF, page_high=code >> 12)

    assert event.page_bytes == page


def test_a_clash_names_program_end_and_buffer() -> None:
    event = decode_record(record(2, 0, tag(14), 77, 0x9_0000, 0x8_F000 | 3 << 48, 5 << 48, 0))

    assert event == events.BuffersClashed(
        sequence=1, program=77, cb_end_address=0x9_0000, buffer_address=0x8_F000, target=3, thread=5
    )


def test_a_kernel_keeps_its_program_and_both_of_its_sizes() -> None:
    event = decode_record(record(2, 0, tag(1, kind=6, pool=6), 4, 77, 16_384, 57_344, 3_584 | 16 << 48))

    assert isinstance(event, events.KernelLoaded)
    assert event.kind is Kind.KERNEL_FABRIC
    assert (event.program, event.reserved_bytes, event.binary_times_cores_bytes, event.core_count) == (
        77,
        16_384,
        57_344,
        16,
    )


def test_a_circular_buffer_packs_address_and_core_set_into_one_word() -> None:
    event = decode_record(record(2, 0, tag(1, kind=2, pool=4), 4, 105_664 | 12 << 32, 8192, 77, 128 | 64 << 48))

    assert isinstance(event, events.CircularBufferAllocated)
    assert (event.address, event.core_set, event.program, event.core_count) == (105_664, 12, 77, 64)


def test_a_program_binary_carries_launches_and_status_in_one_word() -> None:
    event = decode_record(record(2, 0, tag(1, kind=8), 77, 0, 24_576, 0, 1_000_000 | 2 << 46))

    assert isinstance(event, events.BinaryStored)
    assert (event.launch_count, event.status) == (1_000_000, BinaryStatus.COMMITTED)


def test_a_free_names_the_record_that_made_what_it_ends() -> None:
    event = decode_record(record(40, 0, tag(2, kind=1), 11, 9, 4096, 4000, 0))

    assert isinstance(event, events.AllocationFreed)
    assert (event.maker_sequence, event.kind, event.id) == (9, Kind.BUFFER, 11)


def test_a_record_of_an_unknown_type_is_stored_whole() -> None:
    raw = record(2, 3, tag(200, kind=1), 4, 5, 6, 7, 8)

    event = decode_record(raw)

    assert isinstance(event, events.UnknownRecorded)
    assert event.type == 200
    assert encode_record(event) == raw


def test_an_allocation_of_an_unknown_kind_is_still_an_allocation() -> None:
    event = decode_record(record(2, 0, tag(1, kind=99), 4, 5, 6, 7, 8))

    assert isinstance(event, events.AllocationMade)
    assert (event.kind, event.reserved_bytes) == (Kind.UNKNOWN, 6)


@given(st.binary(min_size=64, max_size=64))
def test_any_64_bytes_decode_to_something(raw: bytes) -> None:
    assert isinstance(decode_record(raw), Event)


def test_records_that_lie_one_after_the_other_decode_in_order() -> None:
    made = [events.LabelChanged(label=number, sequence=number) for number in (1, 2, 3)]

    assert list(decode_records(b"".join(map(encode_record, made)))) == made


@pytest.mark.parametrize("length", [0, 63, 65])
def test_bytes_of_another_length_are_refused(length: int) -> None:
    with pytest.raises(RecordDamaged, match=f"64 bytes, this one has {length}"):
        decode_record(bytes(length))
