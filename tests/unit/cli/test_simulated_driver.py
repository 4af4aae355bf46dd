"""What a demo's driver tells is what a driver tells of such chips, and it tells of no others."""

import os
from pathlib import Path

from tests.support.simulated.figures import a_busy_snapshot
from ttmem.cli.demonstration.directories import apart_from
from ttmem.cli.demonstration.driver_tree import write_tree
from ttmem.snapshot.identity import chip_of
from ttmem.sources.driver import Driver


def test_chips_on_the_bus_are_known_by_their_ids_with_all_a_driver_knows(tmp_path: Path) -> None:
    snapshot = a_busy_snapshot()
    write_tree(str(tmp_path), snapshot)

    telemetry = Driver(apart_from({}, str(tmp_path))).telemetry()

    first, second, *_ = [usage.device for usage in snapshot.devices]
    chip = chip_of(first, telemetry)
    assert chip is not None
    assert chip_of(second, telemetry) is None  # of an n300 the one behind the other
    assert (chip.dev_node, chip.pci_bus_id, chip.card_type, chip.arch) == (
        "/dev/tenstorrent/0",
        "0000:01:00.0",
        "n300",
        "wormhole",
    )
    assert None not in (chip.temperature, chip.power, chip.current, chip.voltage, chip.heartbeat, chip.aiclk_mhz)
    assert (chip.fan, chip.thermal_trip_count) == (None, None)  # no Wormhole has them
    assert chip.pids == tuple(sorted({process.pid for process in snapshot.live if process.devices} - {os.getpid()}))
    assert not chip.notes


def test_a_tree_that_was_named_goes_before_the_simulated_one(tmp_path: Path) -> None:
    assert apart_from({"TTMEM_SYSFS_ROOT": "/there", "TTMEM_DIR": "/x"}, "/own") == {
        "TTMEM_SYSFS_ROOT": "/there",
        "TTMEM_DIR": "/own",
        "TTMEM_STOCK_SHM_DIR": "/own",
    }
