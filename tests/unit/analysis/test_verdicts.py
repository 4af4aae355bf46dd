"""Which chips would take more, and which hold too much: the largest block decides; unknown is neither yes nor no."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.machine.driver_chips import a_driver_chip
from tests.support.simulated.figures import GIB, HOST, KIB, MIB, NOON_NS, a_busy_snapshot
from tests.support.simulated.overviews import a_device_usage, a_pool
from ttmem.analysis.fit import Candidate, Need, Room, candidates, chosen
from ttmem.analysis.limits import Amount, Limit, Verdict, growths, judged
from ttmem.devices import Pool
from ttmem.snapshot import DeviceUsage, Foreign, PoolUsage, Snapshot, TimeNs, replace

SIZES = st.integers(0, 1 << 40)
MAYBE = SIZES | st.none()


def a_snapshot_of(*devices: DeviceUsage, time_ns: int = NOON_NS) -> Snapshot:
    return Snapshot(
        time_ns=TimeNs(time_ns),
        source="a test",
        places=(),
        host=HOST,
        devices=devices,
        processes=(),
        foreign=(),
        findings=(),
    )


def a_chip_with(*pools: PoolUsage, number: int = 0, **changes: Any) -> DeviceUsage:
    return a_device_usage(number, pools=pools, **changes)


def dram(used_bytes: int, **changes: Any) -> PoolUsage:
    return a_pool(Pool.DRAM, used_bytes, **{"capacity_bytes": 12 * GIB, **changes})


def fits(usage: DeviceUsage, **need: Any) -> bool | None:
    [candidate] = candidates(a_snapshot_of(usage), Need(**need))
    return candidate.fits


def test_the_largest_block_decides_and_not_what_is_free_in_all() -> None:
    usage = a_chip_with(dram(6 * GIB, largest_free_bytes=2 * GIB))

    assert fits(usage, dram_bytes=2 * GIB) is True
    assert fits(usage, dram_bytes=2 * GIB + 1) is False


def test_a_block_that_are_unknown_does_not_fit_and_is_not_refused() -> None:
    usage = a_chip_with(dram(6 * GIB))

    assert fits(usage, dram_bytes=1) is None
    assert fits(usage, dram_bytes=6 * GIB + 1) is False  # there is not so much in all


def test_a_chip_on_which_nothing_ever_lay_is_one_block() -> None:
    assert fits(a_chip_with(), dram_bytes=12 * GIB) is True
    assert fits(a_chip_with(), dram_bytes=12 * GIB + 1) is False


def test_what_others_hold_who_do_not_report_is_not_free() -> None:
    usage = a_chip_with(dram(GIB, largest_free_bytes=11 * GIB, read_bytes=10 * GIB))

    assert fits(usage, dram_bytes=GIB) is None
    assert fits(usage, dram_bytes=GIB + 1) is False


@pytest.mark.parametrize(
    ("hole_bytes", "headroom_bytes", "most_bytes"),
    [(100 * KIB, 300 * KIB, 300 * KIB), (300 * KIB, 100 * KIB, 300 * KIB), (64 * KIB, -4 * KIB, 64 * KIB)],
)
def test_l1_fits_a_hole_above_the_lowest_buffer_or_the_headroom(
    hole_bytes: int, headroom_bytes: int, most_bytes: int
) -> None:
    usage = a_chip_with(a_pool(Pool.L1, 20 * MIB), l1_hole_bytes=hole_bytes, headroom_bytes=headroom_bytes)

    assert fits(usage, l1_core_bytes=most_bytes) is True
    assert fits(usage, l1_core_bytes=most_bytes + 1) is False


def test_nothing_fits_l1_whose_programs_already_reach_into_buffers_without_a_hole() -> None:
    usage = a_chip_with(a_pool(Pool.L1, 20 * MIB), l1_hole_bytes=0, headroom_bytes=-64)

    assert fits(usage, l1_core_bytes=1) is False


def test_l1_with_an_allocation_at_an_unknown_address_is_unknown_or_too_full() -> None:
    l1 = a_pool(Pool.L1, 20 * MIB)
    usage = a_chip_with(l1, core_bytes=1400 * KIB, planned_core_bytes=1000 * KIB)
    stranger = a_chip_with(replace(l1, read_bytes=1), l1_hole_bytes=0, headroom_bytes=300 * KIB)

    assert fits(usage, l1_core_bytes=400 * KIB) is None
    assert fits(usage, l1_core_bytes=400 * KIB + 1) is False
    assert fits(stranger, l1_core_bytes=1) is None


def test_a_chip_of_which_the_driver_says_nothing_may_be_open_for_an_unreporting_opener_of_another() -> None:
    usage = a_chip_with(dram(0, largest_free_bytes=12 * GIB), number=1)
    card = a_driver_chip(0, pids=(77,))

    [candidate] = candidates(a_snapshot_of(usage), Need(dram_bytes=1), [card])

    assert (candidate.fits, candidate.doubt) == (None, "pid 77 does not report and may have it open")


def test_a_chip_may_be_held_by_a_process_whose_journal_may_not_be_read() -> None:
    usage = a_chip_with(dram(0, largest_free_bytes=12 * GIB))
    closed = replace(a_snapshot_of(usage), foreign=(Foreign("/dev/shm/ttmem-7", 7, "ada"),))

    [unlisted] = candidates(closed, Need(dram_bytes=1))
    [listed] = candidates(closed, Need(dram_bytes=1), [a_driver_chip(0, pids=())])

    assert (unlisted.fits, unlisted.doubt) == (None, "journals of ada may not be read")
    assert listed.fits is True  # the driver says that nobody has it open


def test_a_chip_that_an_unreporting_process_has_open_is_not_known() -> None:
    usage = a_chip_with(dram(0, largest_free_bytes=12 * GIB))
    stranger = a_driver_chip(0, pids=(77,))

    [candidate] = candidates(a_snapshot_of(usage), Need(dram_bytes=1), [stranger])

    assert (candidate.fits, candidate.doubt) == (None, "pid 77 has it open and does not report")


def test_incomplete_figures_are_not_relied_on() -> None:
    usage = a_chip_with(dram(0, largest_free_bytes=12 * GIB, reason="restored"))

    assert fits(usage, dram_bytes=1) is None


@given(st.lists(st.tuples(MAYBE, MAYBE), max_size=6), SIZES, st.integers(1, 4))
def test_only_chips_that_surely_fit_are_chosen(
    rooms: list[tuple[int | None, int | None]], need: int, count: int
) -> None:
    judged_chips = [
        Candidate(a_device_usage(number).device, (Room("DRAM", need, free, block),))
        for number, (free, block) in enumerate(rooms)
    ]
    taken = chosen(judged_chips, count)
    sure = [
        at
        for at, (free, block) in enumerate(rooms)
        if free is not None and block is not None and min(free, block) >= need
    ]

    if len(sure) < count:
        assert taken is None
        return
    assert taken is not None
    indexes = [candidate.device.index for candidate in taken]
    assert (len(indexes), set(indexes) <= set(sure), indexes == sorted(indexes, key=lambda at: at or 0)) == (
        count,
        True,
        True,
    )
    least = min(candidate.rooms[0].block_bytes or 0 for candidate in taken)
    left = [rooms[at][1] or 0 for at in sure if at not in indexes]
    assert max(left, default=0) <= least  # the emptiest were taken


def verdicts(limit: Limit, *watched: Snapshot) -> list[Verdict]:
    return list(judged([limit], watched))


@pytest.mark.parametrize(
    ("limit", "figure"),
    [
        (Limit("dram", Amount(9 * GIB)), 9 * GIB),
        (Limit("dram", Amount(fraction=0.75)), 9 * GIB),
        (Limit("free", Amount(3 * GIB)), 3 * GIB),
        (Limit("free", Amount(fraction=0.25)), 3 * GIB),
        (Limit("largest_free", Amount(2 * GIB)), 2 * GIB),
        (Limit("core", Amount(700 * KIB)), 700 * KIB),
        (Limit("core", Amount(fraction=0.5)), 700 * KIB),
    ],
)
def test_what_is_exactly_at_a_limit_is_within_it_and_a_byte_further_is_not(limit: Limit, figure: int) -> None:
    def verdict(more_bytes: int) -> Verdict:
        pool = dram(9 * GIB + more_bytes, largest_free_bytes=2 * GIB - more_bytes)
        usage = a_chip_with(pool, core_bytes=1400 * KIB, fullest_core_bytes=700 * KIB + more_bytes)
        return verdicts(limit, a_snapshot_of(usage))[0]

    assert (verdict(0).figure_bytes, verdict(0).is_crossed, verdict(1).is_crossed) == (figure, False, True)


def test_a_share_of_something_unknown_is_unknown() -> None:
    usage = a_chip_with(core_bytes=None, fullest_core_bytes=5)

    [verdict] = verdicts(Limit("core", Amount(fraction=0.9)), a_snapshot_of(usage))

    assert verdict.is_crossed is None


def test_what_others_hold_besides_makes_within_unknown_and_crossed_no_less_so() -> None:
    snapshot = a_snapshot_of(a_chip_with(dram(9 * GIB, read_bytes=1)))

    assert [verdicts(Limit("dram", Amount(size)), snapshot)[0].is_crossed for size in (8 * GIB, 10 * GIB)] == [
        True,
        None,
    ]


def test_the_top_holder_is_the_process_that_holds_most_of_that_pool() -> None:
    by_device = {verdict.device.index: verdict for verdict in verdicts(Limit("dram", Amount(1)), a_busy_snapshot())}

    holder = by_device[0].holder
    assert holder is not None
    assert (holder[0].pid, holder[1]) == (4001, 6 * GIB)


def test_growth_is_that_of_the_low_mark() -> None:
    second = 1_000_000_000

    assert growths([(at * second, at * MIB) for at in range(12)]) == MIB
    assert growths([(at * second, 512 * MIB * (at % 2)) for at in range(12)]) == 0  # comes and goes
    assert growths([(at * second, (at % 2) * GIB + at * MIB) for at in range(12)]) == MIB
    assert growths([(0, 5), (second, None)]) is None
    assert growths([(0, 5)]) is None


@given(st.integers(0, 1 << 30), st.integers(0, 1 << 24), st.integers(2, 20))
def test_steady_growth_is_measured_exactly(start: int, rate: int, count: int) -> None:
    assert growths([(at * 1_000_000_000, start + at * rate) for at in range(count)]) == rate


def test_growth_is_judged_by_pool_and_chip() -> None:
    watched = [a_snapshot_of(a_chip_with(dram(GIB + at * MIB)), time_ns=NOON_NS + at * 250_000_000) for at in range(8)]

    def crossed(size_bytes: int) -> list[tuple[str, bool | None]]:
        return [(one.what, one.is_crossed) for one in verdicts(Limit("growth", Amount(size_bytes)), *watched)]

    assert crossed(4 * MIB) == [("dram growth", False)]
    assert crossed(4 * MIB - 1) == [("dram growth", True)]


def test_growth_beside_a_process_that_does_not_report_is_not_known_to_be_small() -> None:
    def at(seconds: int) -> Snapshot:
        usage = a_chip_with(dram(GIB, read_bytes=MIB))
        return a_snapshot_of(usage, time_ns=NOON_NS + seconds * 1_000_000_000)

    assert [verdict.is_crossed for verdict in verdicts(Limit("growth", Amount(1)), at(0), at(1))] == [None]
