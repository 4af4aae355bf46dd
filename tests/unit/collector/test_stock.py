"""The stock runtime's counters are noticed when they come, and cost nothing before."""

from pathlib import Path

from tests.support.machine.stock_regions import Slot, a_region, put
from tests.support.simulated.figures import a_snapshot
from ttmem.collector.stock import Stock
from ttmem.snapshot.counters import NO_READINGS


def test_a_region_that_comes_later_is_read(tmp_path: Path) -> None:
    stock = Stock(lambda: [str(tmp_path)])
    assert stock.read() is NO_READINGS
    put(tmp_path, 0x55, a_region(Slot(1 << 22, (64, 0, 0, 0, 0))))  # of a process that is over

    readings = stock.read()

    assert [chip.unique_id for chip in readings.chips] == [0x55]
    assert stock.joined(a_snapshot(), readings).places[-1] == str(tmp_path)
    assert stock.counters is stock.counters


def test_without_regions_a_snapshot_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "tt_device_x_memory").touch()
    stock = Stock(lambda: [str(tmp_path), str(tmp_path / "gone")])
    snapshot = a_snapshot()

    assert stock.joined(snapshot, stock.read()) is snapshot
