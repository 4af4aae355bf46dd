"""What a process takes per second: growth is of DRAM, over a minute, and of a young process all it holds."""

from tests.support.simulated.figures import NOON_NS
from tests.support.simulated.overviews import a_pool, a_row, an_overview
from ttmem.collector.rates import RatesRecorder
from ttmem.devices import Pool
from ttmem.snapshot.usage import Snapshot
from ttmem.snapshot.values import TimeNs, replace

MIB = 1 << 20
SECOND_NS = 10**9


def seen(second: int, dram_bytes: int, started_second: int) -> Snapshot:
    pools = (a_pool(Pool.DRAM, dram_bytes), a_pool(Pool.L1, 90 * MIB))
    row = replace(a_row(1), pools=pools, start_time_ns=TimeNs(NOON_NS + started_second * SECOND_NS))
    return replace(an_overview(1, 1), time_ns=TimeNs(NOON_NS + second * SECOND_NS), processes=(row,))


def growth(recorder: RatesRecorder) -> int | None:
    [rates] = recorder.processes
    return rates.growth_bytes


def test_a_process_that_began_within_the_minute_has_grown_by_all_the_dram_it_holds() -> None:
    recorder = RatesRecorder(lambda pid: None)

    recorder.take(0, seen(0, 10 * MIB, started_second=-5))
    assert growth(recorder) == 10 * MIB
    recorder.take(1, seen(1, 15 * MIB, started_second=-5))
    assert growth(recorder) == 15 * MIB


def test_an_older_process_has_grown_since_it_was_first_seen_or_since_a_minute_ago() -> None:
    recorder = RatesRecorder(lambda pid: None)

    recorder.take(0, seen(0, 10 * MIB, started_second=-500))
    assert growth(recorder) is None
    for second in range(1, 70):
        recorder.take(second, seen(second, (10 + second) * MIB, started_second=-500))
    assert growth(recorder) == 60 * MIB
