"""The course of things: nothing that happened is skipped, nothing is made up where nobody looked."""

from collections.abc import Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.simulated.overviews import an_overview
from ttmem.collector.history import PLACES, HistoryRecorder
from ttmem.devices import Pool
from ttmem.snapshot.counters import ReadChip
from ttmem.snapshot.history import History, Series
from ttmem.snapshot.usage import DeviceUsage, Snapshot
from ttmem.snapshot.values import Device, TimeNs, replace

SECOND_NS = 1_000_000_000
BEGIN = 1_700_000_000 // 3600 * 3600
GIB = 1 << 30


class World:
    """A clock and a ledger that say what a test wants."""

    def __init__(self) -> None:
        self.second = BEGIN
        self.chips: list[tuple[Any, ...]] = []
        self.read: list[ReadChip] = []
        self.processes: list[tuple[Any, ...]] = []
        self.happenings: list[tuple[Any, ...]] = []
        self.sample_count = 0
        self.usages: list[DeviceUsage] = []
        self.course = HistoryRecorder(
            self._sample, lambda: self.read, lambda: self.second * SECOND_NS + 7, self._overview
        )

    def holds(self, used_bytes: int, *, chip: int = 5, pool: Pool = Pool.DRAM, number: int = 0) -> None:
        self.chips = [(number, chip, "", ((int(pool), used_bytes, used_bytes, 12 * GIB),))]

    def at(self, second: int) -> None:
        """Looks at so many seconds after the beginning."""
        self.second = BEGIN + second
        self.course.take_due()

    def _overview(self) -> Snapshot:
        return replace(an_overview(0, 0), time_ns=TimeNs(self.second * SECOND_NS), devices=tuple(self.usages))

    def _sample(self) -> tuple[Any, ...]:
        self.sample_count += 1
        happenings, self.happenings = self.happenings, []
        return self.second * SECOND_NS, self.chips, self.processes, happenings


def series(history: History, pool: Pool = Pool.DRAM) -> Series:
    [found] = [one for one in history.series if one.pool is pool]
    return found


def told(samples: Sequence[int | None]) -> list[int]:
    return [sample for sample in samples if sample is not None]


def test_samples_lie_on_a_grid_of_seconds() -> None:
    world = World()
    for second in range(3):
        world.holds(100 + second)
        world.at(second)

    history = world.course.history(60)

    assert (history.end_ns, history.interval_ns) == ((BEGIN + 3) * SECOND_NS, SECOND_NS)
    assert series(history).samples == (None,) * 57 + (100, 101, 102)
    assert (series(history).capacity_bytes, series(history).uuid) == (12 * GIB, "0x0000000000000005")


def a_usage(fullest_core_bytes: int | None, number: int = 0) -> DeviceUsage:
    device = Device.bare(number, 5, index=0, name="")
    return DeviceUsage(device, (), (), 0, core_bytes=1 << 20, fullest_core_bytes=fullest_core_bytes)


def test_the_fullest_core_has_samples_of_its_own_and_none_where_it_is_unknown() -> None:
    world = World()
    for second, used in enumerate((7, None, 9)):
        world.usages = [a_usage(used, number=second)]
        world.at(second)
    world.usages = []
    world.at(3)

    history = world.course.history(60)
    coarse = world.course.history(3600)

    [found] = history.fullest_cores
    assert found.samples[-4:] == (7, None, 9, None)
    assert (found.capacity_bytes, found.device, found.uuid) == (1 << 20, 2, "0x0000000000000005")
    assert told(coarse.fullest_cores[0].samples) == [9]
    assert history.fullest_core_of(a_usage(0).device.as_name()) is found


def test_samples_of_the_fullest_core_are_forgotten_after_an_hour_and_when_the_clock_is_set_back() -> None:
    for later in (3600, -1):
        world = World()
        world.usages = [a_usage(7)]
        world.at(0)
        world.usages = []
        world.at(later)

        assert world.course.history(3600).fullest_cores == ()


def test_one_second_has_one_sample() -> None:
    world = World()
    world.at(0)
    world.at(0)
    world.course.history(60)

    assert world.sample_count == 1


def test_where_nothing_was_read_there_is_no_sample() -> None:
    world = World()
    world.holds(7)
    world.at(0)
    world.at(4)

    assert series(world.course.history(60)).samples[-5:] == (7, None, None, None, 7)


def test_a_spike_of_one_second_is_seen_in_the_hour() -> None:
    world = World()
    for second in range(400):
        world.holds(9 * GIB if second == 200 else 1000)
        world.at(second)

    history = world.course.history(3600)

    assert len(series(history).samples) == PLACES
    assert (history.interval_ns, series(history).highest_bytes) == (12 * SECOND_NS, 9 * GIB)
    assert told(series(history).samples).count(9 * GIB) == 1


def test_samples_older_than_the_span_are_not_reported() -> None:
    world = World()
    world.holds(5)
    world.at(0)
    world.holds(6)
    world.at(70)

    assert told(series(world.course.history(60)).samples) == [6]
    assert told(series(world.course.history(300)).samples) == [5, 6]


def test_after_an_hour_a_chip_that_is_gone_is_forgotten() -> None:
    world = World()
    world.holds(5)
    world.at(0)
    world.chips = []
    world.at(1)
    assert series(world.course.history(3600))

    world.at(3601)

    assert world.course.history(3600).series == ()


def test_a_pool_that_was_empty_before_was_empty_and_not_unknown() -> None:
    world = World()
    world.holds(5)
    world.at(0)
    world.at(2)
    world.holds(8, pool=Pool.TRACE)
    world.at(3)

    history = world.course.history(60)

    assert series(history, Pool.TRACE).samples[-4:] == (0, None, 0, 8)
    assert series(history, Pool.DRAM).samples[-4:] == (5, None, 5, 0)


def test_dram_and_l1_of_an_empty_chip_are_known_to_be_empty() -> None:
    world = World()
    world.chips = [(0, 5, "", ())]
    world.at(0)

    assert {one.pool: one.latest_bytes for one in world.course.history(60).series} == {Pool.DRAM: 0, Pool.L1: 0}


def test_what_was_read_stands_where_nothing_was_counted() -> None:
    world = World()
    world.read = [ReadChip(5, "", 0, "", {Pool.DRAM: 77}, {}, ())]
    world.at(0)

    only = series(world.course.history(60))

    assert (only.latest_bytes, only.origin, only.uuid) == (77, "read", "0x0000000000000005")


def test_what_was_read_is_never_added_to_what_was_counted() -> None:
    world = World()
    world.holds(50)
    world.read = [ReadChip(5, "", 0, "", {Pool.DRAM: 77}, {}, ())]
    world.at(0)

    only = series(world.course.history(60))

    assert (only.latest_bytes, only.origin) == (50, "counted")


def test_a_clock_that_is_set_back_starts_again() -> None:
    world = World()
    world.holds(5)
    world.at(100)
    world.holds(6)
    world.at(50)

    assert told(series(world.course.history(300)).samples) == [6]


def test_sums_over_programs_that_share_memory_have_no_course() -> None:
    world = World()
    world.holds(9, pool=Pool.CB)
    world.read = [ReadChip(6, "", 0, "", {Pool.CB: 77}, {}, ())]
    world.at(0)

    assert Pool.CB not in {one.pool for one in world.course.history(60).series}


def test_unknown_chips_by_the_thousand_take_no_memory() -> None:
    world = World()
    world.chips = [(number, None, f"unknown:{number}", ()) for number in range(2000)]
    world.at(0)

    assert len(world.course.history(60).series) == 2 * 256


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 400), st.integers(0, 99)), min_size=1, max_size=30),
    st.sampled_from([60, 300, 3600]),
)
def test_every_sample_is_the_highest_of_its_seconds(looks: list[tuple[int, int]], seconds: int) -> None:
    world = World()
    seen: dict[int, int] = {}
    second = 0
    for pause, used in looks:
        second += pause
        world.holds(used)
        world.at(second)
        seen[second] = used

    history = world.course.history(seconds)

    step = history.interval_ns // SECOND_NS
    samples = series(history).samples
    first = history.begin_ns // SECOND_NS - BEGIN
    bins = [
        [seen[at] for at in range(first + place * step, first + (place + 1) * step) if at in seen]
        for place in range(len(samples))
    ]
    assert samples == tuple(max(found, default=None) for found in bins)
    assert first <= second < first + len(samples) * step
