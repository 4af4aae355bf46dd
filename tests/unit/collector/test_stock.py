"""The stock runtime's counters are noticed when they come; until then they are not read."""

from pathlib import Path

from tests.support.machine.stock_regions import Slot, a_region, put
from tests.support.timing.waiting import wait_until
from ttmem.collector import Collector
from ttmem.sources import Places


def collector(directory: Path) -> Collector:
    return Collector(Places(uid=0, directory=str(directory), stock_directory=str(directory)))


def test_a_region_that_comes_later_is_read(tmp_path: Path) -> None:
    collected = collector(tmp_path)
    collected.tick()
    assert collected.snapshot().devices == ()
    put(tmp_path, 0x55, a_region(Slot(1 << 22, (64, 0, 0, 0, 0))))  # of a process that is over

    wait_until(lambda: collected.tick() or collected.snapshot().devices)

    assert [usage.device.unique_id for usage in collected.snapshot().devices] == [0x55]


def test_a_file_with_another_name_is_no_region(tmp_path: Path) -> None:
    (tmp_path / "tt_device_x_memory").touch()

    collected = collector(tmp_path)
    collected.tick()

    assert collected.snapshot().findings == ()
