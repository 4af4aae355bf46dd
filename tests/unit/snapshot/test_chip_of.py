"""Which of the driver's chips a device is: by its id, by the serial number of a card with one chip, or not at all."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.machine.driver_chips import a_driver_chip
from tests.support.machine.driver_tree import DriverTree
from tests.support.simulated.figures import a_snapshot
from tests.support.simulated.overviews import a_chip
from ttmem.snapshot import DeviceUsage, replace
from ttmem.snapshot.identity import chip_of, nameless_chips, tray_of
from ttmem.snapshot.telemetry import ChipTelemetry
from ttmem.sources.driver import Driver
from ttmem.view import plain
from ttmem.view.pages.device_list import device_list

SEEN_ID = 0x8066_3228_3760  # of a p150a, in the runtime's own shared memory
SEEN_SERIAL = "00000403319141BB"  # of the same card


def chips(directory: Path, *cards: dict[str, str]) -> tuple[ChipTelemetry, ...]:
    tree = DriverTree(directory)
    for node, card in enumerate(cards):
        tree.chip(node, **card)
    return Driver(tree.environ).telemetry()


def test_a_chip_is_known_by_the_drivers_own_id(tmp_path: Path) -> None:
    telemetry = chips(tmp_path, {"asic_id": "0000000000000001"}, {"asic_id": "0000000000000002"})

    assert chip_of(a_chip(unique_id=2), telemetry) == telemetry[1]


def test_a_card_with_one_chip_is_known_by_its_serial_number(tmp_path: Path) -> None:
    telemetry = chips(tmp_path, {}, {"card_type": "p150a", "serial": SEEN_SERIAL})

    assert chip_of(a_chip(unique_id=SEEN_ID), telemetry) == telemetry[1]


def test_an_n150_is_known_by_the_part_of_its_serial_number_that_the_runtime_keeps(tmp_path: Path) -> None:
    telemetry = chips(tmp_path, {"card_type": "n150", "serial": "0100018511732099"})

    assert chip_of(a_chip(unique_id=0x2_5173_2099), telemetry) == telemetry[0]


@pytest.mark.parametrize("card", ["p300c", "n300", "unknown"])
def test_of_cards_with_several_chips_nothing_is_guessed(tmp_path: Path, card: str) -> None:
    telemetry = chips(tmp_path, {"card_type": card, "serial": SEEN_SERIAL})

    assert chip_of(a_chip(unique_id=SEEN_ID), telemetry) is None


def test_two_chips_that_fit_are_none_that_does(tmp_path: Path) -> None:
    telemetry = chips(tmp_path, {"card_type": "p150a", "serial": SEEN_SERIAL})
    twin = replace(telemetry[0], node=1)

    assert chip_of(a_chip(unique_id=SEEN_ID), (*telemetry, twin)) is None


def test_a_device_without_an_id_of_its_own_is_none_of_the_drivers(tmp_path: Path) -> None:
    telemetry = chips(tmp_path, {"asic_id": "0000000000000000"})

    assert chip_of(a_chip(unique_id=0, is_known=False), telemetry) is None


@pytest.mark.parametrize(
    ("card", "opened", "is_one_of_them"),
    [
        ({}, 1, True),
        ({"pids": ""}, 1, False),  # nobody has it open, and the device is
        ({"pids": ""}, 0, True),
        ({"card_type": "n150"}, 1, False),
        ({"arch": "blackhole", "card_type": "p150a"}, 1, False),
    ],
)
def test_a_chip_that_may_be_a_reported_one_is_distinguished_from_one_that_cannot(
    card: dict[str, str], opened: int, is_one_of_them: bool
) -> None:
    told: dict[str, Any] = {
        "card_type": "n300",
        "arch": "wormhole",
        "pids": (7,),
        "asic_id": None,
        "serial": None,
    } | card
    chip = a_driver_chip(3, **(told | {"pids": told["pids"] or ()}))
    device = replace(a_chip(unique_id=99), open_count=opened)

    assert nameless_chips([device], [chip]) == ([chip] if is_one_of_them else [])
    assert nameless_chips([], [chip]) == []


@pytest.mark.parametrize(
    ("arch", "board", "bus", "tray"),
    [
        ("wormhole_b0", "galaxy", "0000:c3:00.0", (1, 3)),
        ("wormhole_b0", "galaxy", "0000:08:00.0", (3, 8)),
        ("blackhole", "galaxy", "0000:41:00.0", (2, 1)),
        ("wormhole_b0", "n300", "0000:c3:00.0", None),
        ("wormhole_b0", "galaxy", "0000:33:00.0", None),
        ("wormhole_b0", "galaxy", "", None),
        ("wormhole_b0", "galaxy", "0000:zz:00.0", None),
    ],
)
def test_a_chip_of_a_galaxy_is_named_by_tray_and_place(
    arch: str, board: str, bus: str, tray: tuple[int, int] | None
) -> None:
    assert tray_of(replace(a_chip(), arch=arch, board=board), bus) == tray


def test_the_list_of_chips_names_tray_and_place(tmp_path: Path) -> None:
    chip = a_driver_chip(0, card_type="galaxy", pci_bus_id="0000:85:00.0", asic_id=77)
    usage = DeviceUsage(replace(a_chip(unique_id=77), board="galaxy", arch="wormhole_b0"), (), (), 0)

    assert " galaxy 2:5 " in plain(device_list(replace(a_snapshot(), devices=(usage,)), [chip], width=None))
