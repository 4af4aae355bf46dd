"""Stored traces: pages, padding, the region, and the marks a trace in DRAM must stay above."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ttmem import metal
from ttmem.devices import BufferType
from ttmem.metal.state.trace_storage import (
    DramActivity,
    TraceMisplaced,
    TraceRegionFull,
    TraceStorage,
    trace_page_bytes,
    trace_region_bank_bytes,
)


def in_dram() -> TraceStorage:
    return TraceStorage(region_bytes=0, bank_count=12)


def test_a_region_is_the_total_over_banks_in_pages() -> None:
    assert trace_region_bank_bytes(50_000_000, 12) == 4_169_728
    assert trace_region_bank_bytes(0, 12) == 0


# Asked of the runtime's own function.
@pytest.mark.parametrize(
    ("stream_bytes", "bank_count", "page_bytes"),
    [
        (1, 12, 1_024),
        (5_000, 8, 1_024),
        (12_288, 12, 1_024),
        (12_288, 8, 2_048),
        (24_576, 12, 2_048),
        (24_576, 8, 1_024),
        (196_608, 12, 8_192),
        (1_000_000, 8, 8_192),
    ],
)
def test_pages_are_chosen_as_the_runtime_does(stream_bytes: int, bank_count: int, page_bytes: int) -> None:
    assert trace_page_bytes(stream_bytes, bank_count) == page_bytes


@given(st.integers(1, 1 << 28), st.sampled_from([7, 8, 12]))
def test_padding_is_less_than_a_page_and_large_streams_have_large_pages(stream_bytes: int, bank_count: int) -> None:
    stored = TraceStorage(region_bytes=1 << 30, bank_count=bank_count).store(1, stream_bytes)

    assert stored.padded_bytes % stored.page_bytes == 0
    assert 0 <= stored.padded_bytes - stream_bytes < stored.page_bytes
    assert stored.page_bytes == 8_192 or stream_bytes < 2 * 8_192 * bank_count


def test_an_empty_capture_takes_a_page_of_the_region() -> None:
    stored = TraceStorage(region_bytes=1 << 20, bank_count=12).store(1, 64)

    assert (stored.buffer_type, stored.padded_bytes, stored.is_bottom_up) == (BufferType.TRACE, 1_024, None)


def test_without_a_region_traces_lie_in_dram_from_the_top() -> None:
    stored = in_dram().store(1, 64)

    assert (stored.buffer_type, stored.is_bottom_up) == (BufferType.DRAM, False)


def test_a_full_region_says_what_was_needed_and_what_there_is() -> None:
    storage = TraceStorage(region_bytes=4_096, bank_count=12, mesh_id=3)
    storage.store(1, 3_000)

    with pytest.raises(TraceRegionFull) as refusal:
        storage.store(2, 2_000)

    assert str(refusal.value) == (
        "Creating trace buffers of size 5120B on MeshDevice 3, but only 4096B is allocated for trace region."
    )
    assert (refusal.value.requested_bytes, refusal.value.region_bytes) == (2_048, 4_096)
    assert storage.used_bytes == 3_072


def test_a_released_trace_gives_its_bytes_back() -> None:
    storage = TraceStorage(region_bytes=4_096, bank_count=12)
    storage.store(1, 3_000)
    storage.release(1)

    assert storage.used_bytes == 0
    assert storage.store(2, 4_096).padded_bytes == 4_096


def activity(*, allocated: int = 0, freed: int = 0) -> DramActivity:
    seen = DramActivity()
    for end in (allocated, allocated // 2):
        seen.note_allocated(end)
    for end in (freed, freed // 2):
        seen.note_freed(end)
    return seen


@pytest.mark.parametrize(
    ("seen", "words"),
    [
        (activity(allocated=2_000), "buffers allocated during trace capture (allocation high water mark: 2000)"),
        (activity(freed=2_000), "buffers deallocated during trace capture (deletion high water mark: 2000)"),
        (
            activity(allocated=2_000, freed=3_000),
            "DRAM activity during trace capture. Allocation high water mark: 2000, Deletion high water mark: 3000",
        ),
    ],
)
def test_a_trace_below_what_its_capture_touched_is_refused(seen: DramActivity, words: str) -> None:
    with pytest.raises(TraceMisplaced) as refusal:
        in_dram().check(1, 1_999, seen)

    assert str(refusal.value).startswith(f"Trace buffer at address 1999 overlaps with {words}")


def test_a_trace_right_above_the_mark_is_accepted() -> None:
    in_dram().check(1, 2_000, activity(allocated=2_000, freed=1_000))


def test_a_trace_below_what_a_live_trace_touched_is_refused_until_that_one_is_released() -> None:
    storage = in_dram()
    storage.check(1, 9_000, activity(allocated=5_000))

    with pytest.raises(TraceMisplaced, match="maximum live trace high water mark: 5000"):
        storage.check(2, 4_000, activity())
    storage.release(1)
    storage.check(2, 4_000, activity())


def test_with_a_region_nothing_in_dram_can_be_hit() -> None:
    TraceStorage(region_bytes=1 << 20, bank_count=12).check(1, 0, activity(allocated=2_000))


# The same captures were made by the stock runtime on a mock n150; addresses and words are its own.
BANKS, BANK_BYTES = 12, 1_072_693_184
TOP_TRACE = 1_073_740_800


def dram(device: metal.MeshDevice, bank_bytes: int) -> metal.Buffer:
    return device.create_buffer(metal.BufferSpec(BANKS * bank_bytes, 2_048))


def captured(device: metal.MeshDevice, work: Callable[[], object] = lambda: None) -> tuple[int, int]:
    """The trace, and where it is stored."""
    trace = device.begin_trace()
    work()
    return trace, device.end_trace(trace).buffer.address


def test_a_capture_that_fills_dram_and_frees_it_leaves_room_for_its_trace() -> None:
    with metal.open_device("n150") as device:
        whole = BANK_BYTES // 2_048 * 2_048

        assert captured(device, lambda: dram(device, whole).deallocate())[1] == TOP_TRACE


def test_a_refused_trace_stays_counted_whatever_is_released() -> None:
    with metal.open_device("n150", trace_region_bytes=2_048) as device:
        (first, address), _ = captured(device), captured(device)
        assert address == 1_073_733_632
        for counted_bytes in (3_072, 4_096):
            with pytest.raises(TraceRegionFull, match=f"trace buffers of size {counted_bytes}B"):
                captured(device)
        device.release_trace(first)
        for counted_bytes in (4_096, 5_120):
            with pytest.raises(TraceRegionFull, match=f"trace buffers of size {counted_bytes}B"):
                captured(device)


def test_freeing_what_lay_there_before_makes_a_trace_unsafe() -> None:
    with metal.open_device("n150") as device:
        captured(device)
        before = dram(device, BANK_BYTES // 2_048 * 2_048)

        with pytest.raises(TraceMisplaced) as refusal:
            captured(device, before.deallocate)

    assert str(refusal.value) == (
        "Trace buffer at address 1073739776 overlaps with buffers deallocated during trace capture "
        "(deletion high water mark: 1073739840). "
        "Avoid deallocating DRAM buffers during trace capture or set a non-zero trace_region_size."
    )


def test_what_an_older_trace_touched_stays_out_of_bounds_while_it_lives() -> None:
    with metal.open_device("n150") as device:
        gap, middle = dram(device, 300 << 20), dram(device, 300 << 20)
        gap.deallocate()
        high: list[metal.Buffer] = []
        older, address = captured(device, lambda: high.append(dram(device, 443_543_552)))
        assert (high[0].address, address) == (630_194_240, TOP_TRACE)
        high[0].deallocate()
        assert [captured(device)[1] for _ in range(2)] == [TOP_TRACE - 1_024, TOP_TRACE - 2_048]

        with pytest.raises(TraceMisplaced) as refusal:
            captured(device)
        device.release_trace(older)
        assert captured(device)[1] == TOP_TRACE
        middle.deallocate()

    assert str(refusal.value) == (
        "Trace buffer at address 1073737728 overlaps with DRAM activity captured by another live trace "
        "(maximum live trace high water mark: 1073737792). "
        "Release the existing trace before capturing this trace or set a non-zero trace_region_size."
    )
