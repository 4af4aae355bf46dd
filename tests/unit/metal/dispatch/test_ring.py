"""The kernel ring: the runtime's vectors, its reasons to wait, and what lies in it, byte by byte."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.metal import ring_recordings
from ttmem.metal.state.layout.lane import LIVE_ENTRIES
from ttmem.metal.state.ring import Launch, Occupancy, RingRequest, RingState
from ttmem.tracking import CoreType, Stall

WORKERS = 64


def a_ring(
    base: int = 35_008, size: int = 70_656, *, ethernet: tuple[int, int] = (258_336, 640), idle: int = 25_600
) -> RingState:
    return RingState({CoreType.TENSIX: (base, size), CoreType.ACTIVE_ETH: ethernet, CoreType.IDLE_ETH: (32_368, idle)})


def launched(ring: RingState, sizes: list[int]) -> list[tuple[int, int | None]]:
    """Address and stall count of each launch."""
    found = []
    for number, size in enumerate(sizes):
        launch = one_launch(ring, size, number)
        found.append((launch.addresses[0], launch.stall_count))
    return found


def one_launch(ring: RingState, size: int, number: int, *, is_in_flight: bool = False) -> Launch:
    return ring.launch(
        RingRequest({CoreType.TENSIX: size}),
        expected_count=number * WORKERS,
        worker_count=WORKERS,
        is_in_flight=is_in_flight,
    )


def test_two_programs_of_24000_fit_and_never_three() -> None:
    ring = a_ring()

    assert launched(ring, [24_000] * 4) == [(35_008, None), (59_008, None), (35_008, 64), (59_008, 128)]
    assert ring.stall_counts == {Stall.SPACE: 2}


def test_the_eighth_small_program_waits_for_a_table_entry() -> None:
    ring = a_ring()

    *seven, eighth = launched(ring, [4_000] * 8)

    assert seven == [(35_008 + 4_000 * place, None) for place in range(LIVE_ENTRIES)]
    assert eighth == (63_008, 64)
    assert ring.stall_counts == {Stall.ENTRIES: 1}


def test_launches_wrap_wait_and_start_over_as_in_the_runtime() -> None:
    found = launched(a_ring(base=40_960), [40_000, 20_000, 30_000, 10_000, 60_000])

    assert found == [(40_960, None), (80_960, None), (40_960, 64), (70_960, None), (40_960, 256)]


def test_a_program_may_end_exactly_at_the_end_of_the_ring() -> None:
    found = launched(a_ring(base=0, size=100), [60, 40, 60])

    assert found == [(0, None), (60, None), (0, 64)]


def test_a_program_may_take_the_whole_ring() -> None:
    assert launched(a_ring(base=0, size=100), [100, 100]) == [(0, None), (0, 64)]


def test_a_program_larger_than_the_ring_is_refused() -> None:
    with pytest.raises(ValueError, match="a launch of 101 does not fit a ring of 100"):
        a_ring(base=0, size=100).reserve(RingRequest({CoreType.TENSIX: 101}))


def test_a_core_type_without_a_ring_is_refused() -> None:
    with pytest.raises(ValueError, match="no ring for dram cores"):
        a_ring().reserve(RingRequest({CoreType.DRAM: 16}))


def test_reserving_alone_changes_nothing() -> None:
    ring = a_ring()
    first = ring.reserve(RingRequest({CoreType.TENSIX: 1_000}))

    assert ring.reserve(RingRequest({CoreType.TENSIX: 1_000})) == first
    assert ring.occupancy(CoreType.TENSIX) == Occupancy(0, 0, 70_656, 0)


def test_a_place_is_taken_once() -> None:
    ring = a_ring()
    ring.reserve(RingRequest({CoreType.TENSIX: 1_000}))
    ring.alloc(WORKERS)

    with pytest.raises(ValueError, match="nothing is reserved"):
        ring.alloc(2 * WORKERS)


def test_ignoring_the_wait_for_an_entry_is_noticed() -> None:
    ring = a_ring()
    launched(ring, [4_000] * LIVE_ENTRIES)
    assert ring.reserve(RingRequest({CoreType.TENSIX: 4_000})).stall is Stall.ENTRIES

    with pytest.raises(ValueError, match="all 7 entries are live"):
        ring.alloc(8 * WORKERS)


def test_ethernet_programs_lie_at_the_base_and_wait_for_each_other() -> None:
    ring = a_ring()
    request = RingRequest({CoreType.ACTIVE_ETH: 64}, is_multicast=False, is_unicast=True)
    first = ring.launch(request, expected_count=0, worker_count=4)
    second = ring.launch(request, expected_count=4, worker_count=4)

    assert (first.addresses[1], first.stall) == (258_336, Stall.NONE)
    assert (second.addresses[1], second.stall, second.stall_count) == (258_336, Stall.ORDER, 4)
    assert ring.occupancy(CoreType.ACTIVE_ETH).entry_count == 1


def test_programs_without_bytes_wait_for_launch_messages_only_before_their_go() -> None:
    ring = a_ring()
    *seven, eighth = [one_launch(ring, 0, number) for number in range(8)]

    assert {launch.stall for launch in seven} == {Stall.NONE}
    assert (eighth.stall, eighth.stall_count, eighth.is_stalled_first) == (Stall.LAUNCH_SLOTS, 64, False)


def test_a_workload_in_flight_waits_for_all_and_frees_the_ring() -> None:
    ring = a_ring()
    launched(ring, [1_000] * 3)

    launch = one_launch(ring, 1_000, 3, is_in_flight=True)

    assert (launch.stall, launch.stall_count, launch.is_stalled_first) == (Stall.IN_FLIGHT, 3 * WORKERS, True)
    assert ring.occupancy(CoreType.TENSIX) == Occupancy(1_000, 3_000, 66_656, 1)


def test_after_a_replayed_trace_the_next_launch_waits_and_starts_at_the_base() -> None:
    ring = a_ring()
    launched(ring, [1_000] * 3)
    ring.mark_completely_full(500)
    assert ring.occupancy(CoreType.TENSIX) == Occupancy(70_656, 0, 0, 1)

    launch = ring.launch(RingRequest({CoreType.TENSIX: 1_000}), expected_count=500, worker_count=WORKERS)

    assert (launch.addresses[0], launch.stall, launch.stall_count) == (35_008, Stall.FULL, 500)
    assert ring.occupancy(CoreType.TENSIX) == Occupancy(1_000, 0, 69_656, 1)


def test_finished_programs_stay_in_the_table_until_their_place_is_needed() -> None:
    ring = a_ring()
    launched(ring, [24_000, 24_000])
    assert ring.occupancy(CoreType.TENSIX) == Occupancy(48_000, 0, 22_656, 2)

    ring.free(WORKERS)
    assert ring.occupancy(CoreType.TENSIX) == Occupancy(24_000, 24_000, 22_656, 1)

    ring.reserve(RingRequest({CoreType.TENSIX: 23_000}))
    ring.alloc(3 * WORKERS)
    assert ring.occupancy(CoreType.TENSIX) == Occupancy(47_000, 0, 23_656, 2), "the finished one is written over"


def test_a_finished_program_right_behind_a_new_one_stays_intact() -> None:
    ring = a_ring()
    launched(ring, [24_000, 24_000])
    ring.free(2 * WORKERS)

    ring.reserve(RingRequest({CoreType.TENSIX: 24_000}))
    ring.alloc(3 * WORKERS)

    assert ring.occupancy(CoreType.TENSIX) == Occupancy(24_000, 24_000, 22_656, 1)


def test_a_launch_waits_for_the_ring_that_is_free_last() -> None:
    ring = a_ring(idle=100)
    ring.launch(RingRequest({CoreType.IDLE_ETH: 100}), expected_count=0, worker_count=1)
    ring.launch(RingRequest({CoreType.TENSIX: 70_000, CoreType.ACTIVE_ETH: 8}), expected_count=1, worker_count=1)

    both = RingRequest({CoreType.TENSIX: 70_000, CoreType.IDLE_ETH: 100})

    assert ring.reserve(RingRequest({CoreType.IDLE_ETH: 100})).stall_count == 1
    assert ring.reserve(both).stall_count == 2


def test_recorded_launches_go_where_the_runtime_put_them() -> None:
    places = ring_recordings.ring_places()
    ring = RingState(places)

    for step in ring_recordings.launches():
        launch = ring.launch(
            step.request,
            expected_count=step.expected_count,
            worker_count=step.worker_count,
            is_in_flight=step.is_in_flight,
        )
        assert launch.addresses[: len(places)] == step.addresses
        assert (launch.stall_count or 0, launch.is_stalled_first) == (step.sync_count, step.is_stalled_first)
        assert (launch.stall is Stall.NONE) == (not step.is_stalled_first and not step.is_stalled_before_program)
    assert {Stall.SPACE, Stall.ENTRIES, Stall.ORDER, Stall.IN_FLIGHT} <= ring.stall_counts.keys()


SIZES = st.one_of(st.integers(0, 64), st.sampled_from([8, 16, 32]))
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("launch"), SIZES, st.booleans()),
        st.tuples(st.just("free"), st.integers(0, 10), st.just(False)),
        st.tuples(st.just("fill"), st.just(0), st.just(False)),
    ),
    max_size=60,
)


@given(STEPS)
def test_no_two_live_programs_share_a_byte_and_all_lie_inside(steps: list[tuple[str, int, bool]]) -> None:
    ring = a_ring(base=16, size=64)
    bytes_of = ByteMap(16, 64)
    count = 0
    for what, number, is_in_flight in steps:
        if what == "launch":
            launch = ring.launch(
                RingRequest({CoreType.TENSIX: number}), expected_count=count, worker_count=1, is_in_flight=is_in_flight
            )
            if launch.stall_count is not None:
                bytes_of.retire(launch.stall_count)
            count += 1
            bytes_of.write(launch.addresses[0], number, count)
        elif what == "free":
            ring.free(max(0, count - number))
            bytes_of.retire(max(0, count - number))
        else:
            ring.mark_completely_full(count)
            bytes_of.fill(count)
        assert ring.occupancy(CoreType.TENSIX) == bytes_of.occupancy()


class ByteMap:
    """A ring as one owner per byte: what the occupancy must come out as, worked out the long way."""

    def __init__(self, base: int, size: int) -> None:
        self.base = base
        self.owners: list[int | None] = [None] * size
        self.live: dict[int, int] = {}  # sync count by owner
        self.sizes: dict[int, int] = {}
        self.next_owner = 0

    def write(self, address: int, size: int, sync_count: int) -> None:
        start = address - self.base
        if not size:
            return
        assert 0 <= start <= start + size <= len(self.owners), "outside the ring"
        assert not set(self.owners[start : start + size]) & self.live.keys(), "a live program is written over"
        self._own(start, size, sync_count)

    def fill(self, sync_count: int) -> None:
        self.live.clear()
        self._own(0, len(self.owners), sync_count)
        self.sizes.clear()  # nobody's program: it never counts as intact

    def retire(self, sync_count: int) -> None:
        for owner, needed in sorted(self.live.items()):
            if needed > sync_count:
                break
            del self.live[owner]

    def occupancy(self) -> Occupancy:
        live = sum(1 for owner in self.owners if owner in self.live)
        retired = sum(
            size for owner, size in self.sizes.items() if owner not in self.live and self.owners.count(owner) == size
        )
        return Occupancy(live, retired, len(self.owners) - live - retired, len(self.live))

    def _own(self, start: int, size: int, sync_count: int) -> None:
        self.owners[start : start + size] = [self.next_owner] * size
        self.live[self.next_owner] = sync_count
        self.sizes[self.next_owner] = size
        self.next_owner += 1
