"""What a demo's driver tells is what a driver tells of such chips, and it tells of no others."""

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.support.simulated.figures import a_busy_snapshot
from ttmem.cli.demonstration import driver_tree
from ttmem.cli.demonstration.directories import apart_from
from ttmem.cli.demonstration.driver_tree import beat, write_tree
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


def test_heartbeats_go_on_from_one_demo_to_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    beats = []
    for at, name in ((1000.0, "first"), (1003.5, "second")):
        monkeypatch.setattr(driver_tree, "time", SimpleNamespace(monotonic=lambda at=at: at))
        driver_tree.write_tree(str(tmp_path / name), a_busy_snapshot())
        files = sorted((tmp_path / name).glob("sys/devices/*/*/tenstorrent/*/tt_heartbeat"))
        beats += [int(path.read_text()) for path in files]

    first, second = beats[: len(beats) // 2], beats[len(beats) // 2 :]
    assert first
    assert [after - before for before, after in zip(first, second, strict=True)] == [3] * len(first)


def test_heartbeats_that_move_are_not_marked_and_one_that_stands_still_is(tmp_path: Path) -> None:
    now = 100.0
    write_tree(str(tmp_path), a_busy_snapshot())
    driver = Driver(apart_from({}, str(tmp_path)), clock=lambda: now)
    before = driver.telemetry()

    now = 104.0
    beat(str(tmp_path))
    moved = driver.telemetry()
    now = 108.0
    quiet = driver.telemetry()
    now = 110.0
    still = driver.telemetry()
    beat(str(tmp_path))
    again = driver.telemetry()

    assert [chip.heartbeat for chip in moved] == [(chip.heartbeat or 0) + 1 for chip in before]
    assert {chip.heartbeat_still_seconds for chip in (*before, *moved, *quiet, *again)} == {None}
    assert {chip.heartbeat_still_seconds for chip in still} == {6}


def test_a_tree_that_was_named_goes_before_the_simulated_one(tmp_path: Path) -> None:
    assert apart_from({"TTMEM_SYSFS_ROOT": "/there", "TTMEM_DIR": "/x"}, "/own") == {
        "TTMEM_SYSFS_ROOT": "/there",
        "TTMEM_DIR": "/own",
        "TTMEM_STOCK_SHM_DIR": "/own",
    }
