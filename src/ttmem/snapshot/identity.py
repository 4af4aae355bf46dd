"""Which chip is meant: its index, the driver's file, the PCI address, the board and the chip's own id.

The driver knows the chips on its bus; a chip behind another one (the right one of an n300) is known to its openers
only. The runtime's unique id (UMD's TopologyDiscovery) is what the driver calls tt_asic_id, but for cards whose
ethernet links are up: there it is made of the board's serial number and the chip's place on the board, which the driver
does not say. Hence cards with one chip are known by their serial number, and of others nothing is guessed.

    Blackhole    serial << 5 | place
    Wormhole     lower half: serial >> 4 & 0xf0000000 | serial & 0x0fffffff
"""

from collections.abc import Sequence
from typing import NamedTuple

from ttmem.snapshot.telemetry import ChipTelemetry
from ttmem.snapshot.usage import DeviceUsage
from ttmem.snapshot.values import Device

__all__ = ["TRAYS", "Identity", "board_of", "chip_of", "identity_of", "nameless_chips", "open_count_of", "tray_of"]

_SINGLE_BLACKHOLES = ("p100", "p150")
_SINGLE_WORMHOLES = ("n150",)
_PAIRED_BOARDS = ("n300",)  # two chips, of which one is on the bus
_SIDES = (" L", " R")  # as tt-smi distinguishes them
# The bus numbers of a Galaxy begin with its tray's, by tt-metal's get_ubb_id; the rest is the chip's place in it.
TRAYS = {
    "wormhole": {0xC0: 1, 0x80: 2, 0x00: 3, 0x40: 4},
    "blackhole": {0x00: 1, 0x40: 2, 0xC0: 3, 0x80: 4},
}


class Identity(NamedTuple):
    """What the driver adds to a device."""

    board: str | None
    arch: str | None
    dev_node: str | None
    pci_bus_id: str | None


def chip_of(device: Device, telemetry: Sequence[ChipTelemetry]) -> ChipTelemetry | None:
    """The driver's chip that is this device; None for one it does not have, or that may be one of several."""
    if not device.is_known:
        return None
    for chip in telemetry:
        if chip.asic_id == device.unique_id:
            return chip
    alike = [chip for chip in telemetry if _has_serial_of(chip, device.unique_id)]
    return alike[0] if len(alike) == 1 else None


def _has_serial_of(chip: ChipTelemetry, unique_id: int) -> bool:
    """Whether a unique id was made of the serial number of this card, which has one chip."""
    card = chip.card_type or ""
    try:
        serial = int(chip.serial or "", 16)
    except ValueError:
        return False
    if card.startswith(_SINGLE_BLACKHOLES):
        return unique_id >> 5 == serial
    mangled = serial >> 4 & 0xF000_0000 | serial & 0x0FFF_FFFF
    return card.startswith(_SINGLE_WORMHOLES) and unique_id & 0xFFFF_FFFF == mangled


def nameless_chips(devices: Sequence[Device], telemetry: Sequence[ChipTelemetry]) -> list[ChipTelemetry]:
    """Chips of the driver that may be one of these devices, though it is not known which."""
    known = [chip_of(device, telemetry) for device in devices]
    unknown = [device for device, chip in zip(devices, known, strict=True) if chip is None]
    return [chip for chip in telemetry if chip not in known and any(_may_be(chip, device) for device in unknown)]


def _may_be(chip: ChipTelemetry, device: Device) -> bool:
    """Not if they are of another make, or if one of them is open and the other is not."""
    pairs = ((chip.arch, device.arch), (chip.card_type, device.board))
    if any(one and other and not other.startswith(one) and not one.startswith(other) for one, other in pairs):
        return False
    return chip.pids is None or bool(chip.pids) == bool(device.open_count)


def differs(one: str, other: str) -> bool:
    """Whether two names of a board or an architecture cannot be of one: n300 may be n300 L."""
    one, other = one.lower(), other.lower()
    return not one.startswith(other) and not other.startswith(one)


def _believed(opener: str, driver: str | None) -> str:
    """The driver's word, where an opener contradicts it; else the opener's, which says more."""
    return driver if driver and (not opener or differs(opener, driver)) else opener


def identity_of(device: Device, telemetry: Sequence[ChipTelemetry]) -> Identity:
    """What is known of a device by its openers and by the driver."""
    chip = chip_of(device, telemetry)
    board = _believed(device.board, chip.card_type if chip else None) or None
    if chip and board in _PAIRED_BOARDS:
        board += _SIDES[0]  # what cannot be distinguished from others may be either
    return Identity(
        board,
        _believed(device.arch, chip.arch if chip else None) or None,
        chip.dev_node if chip else None,
        chip.pci_bus_id if chip else None,
    )


def tray_of(device: Device, pci_bus_id: str) -> tuple[int, int] | None:
    """Tray and place of a chip of a Galaxy, as tt-telemetry counts them; None for others, or if unknown."""
    parts = pci_bus_id.split(":")
    if "galaxy" not in device.board.lower() or len(parts) < 2:
        return None
    try:
        bus = int(parts[-2], 16)
    except ValueError:
        return None
    tray = TRAYS.get(device.arch.partition("_")[0], {}).get(bus & 0xF0)
    return (tray, bus & 0x0F) if tray else None


def open_count_of(usage: DeviceUsage, telemetry: Sequence[ChipTelemetry]) -> int | None:
    """How many have a chip open, by those who report and by the driver's list; None if neither says."""
    chip = chip_of(usage.device, telemetry)
    listed = len(chip.pids) if chip and chip.pids is not None else None if usage.launch_count is None else 0
    return usage.device.open_count or None if listed is None else max(listed, usage.device.open_count)


def board_of(name: str) -> str:
    """The board without the side of the chip."""
    return name[: -len(_SIDES[0])] if name.endswith(_SIDES) else name
