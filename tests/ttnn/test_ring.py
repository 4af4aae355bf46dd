"""The kernel ring against the wheel's WorkerConfigBufferMgr: same random launches, every address and every stall."""

import random
from collections.abc import Mapping

import pytest

from tests.support.metal import ring_recordings
from tests.support.ttnn.judges import Library, StockRing
from tests.support.ttnn.stock import Stock
from ttmem.devices import BinaryStatus
from ttmem.metal.state.ring import MULTICAST_SLOTS, UNICAST_SLOTS, RingRequest, RingState
from ttmem.tracking import CoreType, Stall

STEPS = 12_000
WORMHOLE = {CoreType.TENSIX: (35_168, 70_656), CoreType.ACTIVE_ETH: (258_336, 640), CoreType.IDLE_ETH: (32_368, 25_600)}
BLACKHOLE = {
    CoreType.TENSIX: (41_088, 70_656),
    CoreType.ACTIVE_ETH: (62_256, 26_624),
    CoreType.IDLE_ETH: (64_944, 26_624),
    CoreType.DRAM: (4_096, 2_048),
}
NARROW = {CoreType.TENSIX: (16, 64), CoreType.ACTIVE_ETH: (0, 16), CoreType.IDLE_ETH: (32, 48)}
Places = Mapping[CoreType, tuple[int, int]]


class Pair:
    """The model's ring and the wheel's, told the same."""

    def __init__(self, library: Library, places: Places) -> None:
        self.places = places
        self.model = RingState(places)
        self.stock = StockRing(library, [*places.values(), (0, MULTICAST_SLOTS), (0, UNICAST_SLOTS)])

    def reserve(self, request: RingRequest) -> int | None:
        found = self.model.reserve(request)
        assert (found.addresses, found.stall_count) == self.stock.reserve(self._sizes(request))
        assert (found.stall is Stall.NONE) == (found.stall_count is None)
        return found.stall_count

    def free(self, count: int) -> None:
        self.model.free(count)
        self.stock.free(count)

    def alloc(self, count: int) -> None:
        self.model.alloc(count)
        self.stock.alloc(count)

    def mark_completely_full(self, count: int) -> None:
        self.model.mark_completely_full(count)
        self.stock.mark_completely_full(count)

    def launch(self, request: RingRequest, *, expected_count: int, worker_count: int, is_in_flight: bool) -> None:
        ours = self.model.launch(
            request, expected_count=expected_count, worker_count=worker_count, is_in_flight=is_in_flight
        )
        status = (BinaryStatus.IN_FLIGHT if is_in_flight else BinaryStatus.COMMITTED).number
        theirs = self.stock.launch(
            self._sizes(request), status=status, worker_count=worker_count, expected_count=expected_count
        )
        assert ours.addresses[: len(self.places)] == theirs.addresses
        assert (ours.stall_count or 0) == theirs.sync_count
        assert ours.is_stalled_first == theirs.is_stalled_first
        assert (ours.stall is not Stall.NONE) == (theirs.is_stalled_first or theirs.is_stalled_before_program)

    def agree(self) -> None:
        live = [
            [(entry.address, entry.size, entry.sync_count) for entry in lane.entries] for lane in self.model.all_lanes()
        ]
        assert live == self.stock.live()

    def _sizes(self, request: RingRequest) -> list[int]:
        sizes = [request.slot_bytes.get(core_type, 0) for core_type in self.places]
        return [*sizes, int(request.is_multicast), int(request.is_unicast)]


def a_request(choose: random.Random, places: Places) -> RingRequest:
    """Small, large, none, all of it, and multiples of a seventh and an eighth, which end exactly at the end."""

    def size(core_type: CoreType) -> int:
        whole = places[core_type][1]
        kind = choose.randrange(8)
        if kind < 2:
            return choose.randrange(whole + 1)
        if kind < 4:
            return choose.randrange(whole // 6 + 1)
        return (0, whole, whole // 8 * choose.randrange(9), whole // 7 * choose.randrange(8))[kind - 4]

    has_ethernet = choose.random() < 0.2
    slot_bytes = {
        core_type: size(core_type)
        for core_type in places
        if core_type is CoreType.TENSIX or choose.random() < (0.9 if has_ethernet else 0.1)
    }
    return RingRequest(slot_bytes, is_multicast=choose.random() < 0.9, is_unicast=has_ethernet)


@pytest.fixture(scope="module")
def library(stock: Stock) -> Library:
    return Library(stock.metal_library)


@pytest.mark.parametrize("places", [WORMHOLE, BLACKHOLE, NARROW], ids=["wormhole", "blackhole", "narrow"])
@pytest.mark.parametrize("seed", range(2))
def test_random_launches_get_the_same_places_and_stalls(library: Library, places: Places, seed: int) -> None:
    choose = random.Random(f"ring {seed} {len(places)}")
    pair = Pair(library, places)
    launched = 0
    for _ in range(STEPS):
        what = choose.random()
        workers = choose.choice((1, 56, 64, 110))
        if what < 0.45:
            stall = pair.reserve(a_request(choose, places))
            if stall is not None:
                pair.free(stall)
            pair.alloc(launched := launched + workers)
        elif what < 0.85:
            is_in_flight = choose.random() < 0.05
            request = a_request(choose, places)
            pair.launch(request, expected_count=launched, worker_count=workers, is_in_flight=is_in_flight)
            launched += workers
        elif what < 0.93:
            pair.reserve(a_request(choose, places))
        elif what < 0.99:
            pair.free(choose.randint(max(0, launched - 500), launched))
        else:
            pair.mark_completely_full(launched)
        pair.agree()
    reasons = {Stall.SPACE, Stall.IN_FLIGHT, Stall.ORDER, Stall.FULL}
    assert reasons <= pair.model.stall_counts.keys(), "the random launches do not reach every reason to wait"


def test_small_launches_run_out_of_entries_as_the_runtime_says(library: Library) -> None:
    choose = random.Random("entries")
    pair = Pair(library, WORMHOLE)
    for launched in range(0, 64 * STEPS, 64):
        request = RingRequest({CoreType.TENSIX: choose.choice((16, 4_000, 9_000))}, is_multicast=choose.random() < 0.8)
        pair.launch(request, expected_count=launched, worker_count=64, is_in_flight=False)
        pair.agree()
    assert pair.model.stall_counts[Stall.ENTRIES] > 0


def test_launches_without_bytes_wait_for_launch_messages_alone(library: Library) -> None:
    pair = Pair(library, WORMHOLE)
    for launched in range(0, 64 * 40, 64):
        pair.launch(RingRequest({}), expected_count=launched, worker_count=64, is_in_flight=False)
        pair.agree()
    assert set(pair.model.stall_counts) == {Stall.LAUNCH_SLOTS}


def test_the_recorded_launches_are_the_wheels(library: Library) -> None:
    pair = Pair(library, ring_recordings.ring_places())
    for step in ring_recordings.launches():
        launch = pair.stock.launch(
            step.sizes,
            status=BinaryStatus.IN_FLIGHT.number if step.is_in_flight else BinaryStatus.COMMITTED.number,
            worker_count=step.worker_count,
            expected_count=step.expected_count,
        )
        assert (launch.addresses, launch.sync_count) == (step.addresses, step.sync_count)
        assert launch.is_stalled_first == step.is_stalled_first
        assert launch.is_stalled_before_program == step.is_stalled_before_program
