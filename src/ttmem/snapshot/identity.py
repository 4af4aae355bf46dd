"""Which chip is meant: its index, the driver's file, the PCI address, the board and the chip's own id.

The driver knows the chips on its bus, by their own ids; a chip behind another one (the right one of an n300) is known
to its openers only.
"""

from collections.abc import Sequence
from typing import NamedTuple

from ttmem.devices import Device
from ttmem.snapshot.sights.telemetry import ChipTelemetry

__all__ = ["Identity", "board_of", "chip_of", "identity_of"]

_PAIRED_BOARDS = ("n300",)  # two chips, of which one is on the bus
_SIDES = (" L", " R")  # as tt-smi tells them apart


class Identity(NamedTuple):
    """What the driver adds to a device."""

    board: str | None
    arch: str | None
    dev_node: str | None
    pci_bus_id: str | None
    is_remote: bool | None  # behind another chip; None if the driver cannot be asked


def chip_of(device: Device, telemetry: Sequence[ChipTelemetry]) -> ChipTelemetry | None:
    """The driver's chip that is this device; None for one it does not have."""
    if not device.is_known:
        return None
    return next((chip for chip in telemetry if chip.asic_id == device.unique_id), None)


def identity_of(device: Device, telemetry: Sequence[ChipTelemetry]) -> Identity:
    """What is known of a device by its openers and by the driver."""
    chip = chip_of(device, telemetry)
    is_remote = None
    if device.is_known and any(one.asic_id is not None for one in telemetry):
        is_remote = chip is None
    board = device.board or (chip.card_type if chip else "") or None
    if board in _PAIRED_BOARDS and is_remote is not None:
        board += _SIDES[is_remote]
    return Identity(
        board,
        device.arch or (chip.arch if chip else "") or None,
        chip.dev_node if chip else None,
        chip.pci_bus_id if chip else None,
        is_remote,
    )


def board_of(name: str) -> str:
    """The board without the side of the chip."""
    return name[: -len(_SIDES[0])] if name.endswith(_SIDES) else name
