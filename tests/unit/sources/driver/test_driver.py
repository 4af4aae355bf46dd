"""The driver's figures: in base units, absent where the driver has none, and never read from a device."""

import os
from pathlib import Path
from typing import Any

import pytest

from tests.support.machine.driver_tree import DriverTree
from ttmem.snapshot.telemetry import ChipTelemetry, Sensor
from ttmem.sources.driver import Driver


@pytest.fixture
def tree(tmp_path: Path) -> DriverTree:
    return DriverTree(tmp_path)


def look(tree: DriverTree) -> tuple[ChipTelemetry, ...]:
    return Driver(tree.environ).telemetry()


def only(tree: DriverTree) -> ChipTelemetry:
    [chip] = look(tree)
    return chip


def test_a_blackhole_is_shown_in_base_units(tree: DriverTree) -> None:
    tree.chip(0)
    tree.opened(0, 41, 7)

    chip = only(tree)

    assert (chip.temperature, chip.power) == (Sensor(48.25, 75.0, "asic_temp"), Sensor(30.0, 150.0, "power"))
    assert (chip.current, chip.voltage) == (Sensor(41.0, 240.0, "current"), Sensor(0.72, 0.9, "vcore"))
    assert chip.fan == Sensor(1870.0, None, "fan_rpm")
    assert (chip.aiclk_mhz, chip.axiclk_mhz, chip.arcclk_mhz) == (1350, 900, 800)
    assert (chip.heartbeat, chip.thermal_trip_count, chip.pids) == (1000, 0, (7, 41))


def test_a_chip_has_all_its_names(tree: DriverTree) -> None:
    tree.chip(3, card_type="p300c", asic_id="00000000DEADBEEF", serial="0000010000000007")

    chip = only(tree)

    assert (chip.node, chip.dev_node, chip.pci_bus_id) == (3, "/dev/tenstorrent/3", "0000:04:00.0")
    assert (chip.card_type, chip.serial, chip.asic_id) == ("p300c", "0000010000000007", 0xDEADBEEF)
    assert (chip.firmware, chip.arch) == ("19.6.0.0", "blackhole")


def test_a_wormhole_has_neither_fan_nor_trips(tree: DriverTree) -> None:
    tree.chip(0, "wormhole")

    chip = only(tree)

    assert (chip.arch, chip.fan, chip.thermal_trip_count) == ("wormhole", None, None)
    assert chip.temperature == Sensor(52.5, 75.0, "asic1_temp")


@pytest.mark.parametrize("name", ["aiclk", "heartbeat", "serial", "asic_id", "card_type", "fw_bundle_ver"])
def test_what_the_driver_does_not_have_is_unknown_and_not_zero(tree: DriverTree, name: str) -> None:
    left_out: dict[str, str | None] = {name: None}
    tree.chip(0, "blackhole", **left_out)
    fields = {"aiclk": "aiclk_mhz", "fw_bundle_ver": "firmware"}

    chip = only(tree)

    assert getattr(chip, fields.get(name, name)) is None
    assert chip.notes == ()


@pytest.mark.parametrize("text", ["warm", "0x10", "4294967295", "\x1b[2J"])
def test_what_makes_no_sense_is_absent_and_noted(tree: DriverTree, text: str) -> None:
    tree.chip(0, heartbeat=text)

    chip = only(tree)

    assert chip.heartbeat is None
    [note] = chip.notes
    assert note.startswith("tt_heartbeat: ")
    assert note.isprintable()


def test_a_sensor_without_a_value_is_absent_even_with_a_limit(tree: DriverTree) -> None:
    tree.chip(0)
    (tree.hwmon(0) / "temp1_input").write_text("")

    assert only(tree).temperature is None


def test_a_sensor_may_have_no_limit(tree: DriverTree) -> None:
    tree.chip(0)
    (tree.hwmon(0) / "power1_max").unlink()

    assert only(tree).power == Sensor(30.0, None, "power")


def test_sensors_are_found_by_the_list_of_all_sensors_too(tree: DriverTree) -> None:
    tree.chip(0)
    elsewhere = tree.root / "sys/devices/virtual/hwmon9"
    inside = tree.hwmon(0).resolve()
    (tree.root / "sys/class/hwmon" / inside.name).unlink()
    elsewhere.parent.mkdir(parents=True)
    inside.rename(elsewhere)
    os.symlink(elsewhere, tree.root / "sys/class/hwmon/hwmon9")

    assert only(tree).temperature == Sensor(48.25, 75.0, "asic_temp")


def test_sensors_of_something_else_on_the_bus_are_not_the_chips(tree: DriverTree) -> None:
    tree.chip(0)
    (tree.hwmon(0) / "name").write_text("nvme\n")

    chip = only(tree)

    assert (chip.arch, chip.temperature, chip.power) == (None, None, None)


def test_chips_come_in_the_order_of_their_numbers(tree: DriverTree) -> None:
    for node in (10, 2, 0):
        tree.chip(node)

    assert [chip.node for chip in look(tree)] == [0, 2, 10]


def test_without_a_driver_there_is_no_chip(tree: DriverTree) -> None:
    assert look(tree) == ()


def test_who_has_a_chip_open_is_unknown_without_the_drivers_list(tree: DriverTree) -> None:
    tree.chip(0)

    assert only(tree).pids is None


def test_no_opener_is_not_unknown(tree: DriverTree) -> None:
    tree.chip(0)
    tree.opened(0)

    assert only(tree).pids == ()


def test_we_are_never_among_those_who_have_a_chip_open(tree: DriverTree) -> None:
    tree.chip(0)
    tree.opened(0, 12, os.getpid(), "junk", 0)

    assert only(tree).pids == (12,)


def test_those_who_have_a_chip_open_are_named(tree: DriverTree) -> None:
    tree.chip(0)
    tree.opened(0, 12, 13)
    (tree.root / "proc/12").mkdir()
    (tree.root / "proc/12/cmdline").write_bytes(b"python\0serve.py\0")

    assert only(tree).commands == ("python serve.py", "")


def test_a_chip_that_is_reset_goes_and_comes_back_as_what_it_is_then(tree: DriverTree) -> None:
    driver = Driver(tree.environ)
    tree.chip(0)
    tree.chip(1, serial="00000000000000AA")
    before = driver.telemetry()

    tree.reset(1)
    meanwhile = driver.telemetry()
    tree.chip(1, serial="00000000000000BB")
    after = driver.telemetry()

    assert [len(before), len(meanwhile), len(after)] == [2, 1, 2]
    assert (before[1].serial, after[1].serial) == ("00000000000000AA", "00000000000000BB")


def test_attributes_that_come_late_are_found(tree: DriverTree) -> None:
    driver = Driver(tree.environ)
    directory = tree.chip(0, serial=None)
    before = driver.telemetry()

    (directory / "tt_serial").write_text("0000000000000007\n")

    assert (before[0].serial, driver.telemetry()[0].serial) == (None, "0000000000000007")


def test_a_chip_that_vanishes_under_our_hands_is_no_error(tree: DriverTree) -> None:
    tree.chip(0)
    link = tree.classes / "tenstorrent!0"
    target = os.readlink(link)
    link.unlink()
    os.symlink(target + "-gone", link)

    assert look(tree) == ()


def test_names_are_read_once_and_sensors_every_time(tree: DriverTree, monkeypatch: pytest.MonkeyPatch) -> None:
    tree.chip(0)
    driver = Driver(tree.environ)
    driver.telemetry()
    opened = opened_files(monkeypatch)

    driver.telemetry()

    names = [os.path.basename(path) for path in opened]
    assert "tt_serial" not in names
    assert {"tt_heartbeat", "temp1_input", "power1_max"} <= set(names)


def test_nothing_but_sysfs_and_procfs_is_ever_opened(tree: DriverTree, monkeypatch: pytest.MonkeyPatch) -> None:
    tree.chip(0)
    tree.opened(0, 12)
    (tree.root / "dev/tenstorrent").mkdir(parents=True)
    (tree.root / "dev/tenstorrent/0").touch()
    opened = opened_files(monkeypatch)

    look(tree)

    assert len(opened) > 20
    assert {Path(path).relative_to(tree.root).parts[0] for path in opened} == {"sys", "proc"}


def opened_files(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """From now on, the paths of all files that are opened."""
    opened: list[str] = []
    real_open, real_low_open = open, os.open

    def noted(path: Any, *rest: Any, **more: Any) -> Any:
        opened.append(os.fspath(path))
        return real_open(path, *rest, **more)

    def low_noted(path: Any, *rest: Any, **more: Any) -> int:
        opened.append(os.fspath(path))
        return real_low_open(path, *rest, **more)

    monkeypatch.setattr("builtins.open", noted)
    monkeypatch.setattr("io.open", noted)
    monkeypatch.setattr("os.open", low_noted)
    return opened
