"""The chips of `-i LIST`: indexes, unique ids, device files or PCI addresses, one kind at a time as tt-smi has it."""

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ttmem.errors import SelectionError
from ttmem.snapshot.device import Device

if TYPE_CHECKING:
    from ttmem.snapshot.telemetry import ChipTelemetry

__all__ = ["device_words"]

# Compiled when they are used, as all patterns of the table: mostly they are not.
_NODE = r"/dev/tenstorrent/(\d+)"
_BUS_ID = r"(?i)(?:[0-9a-f]{4}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]"
_PCI_DOMAIN = "0000:"
_BY_DRIVER = {"device files", "PCI addresses"}


def device_words(
    text: str | None, telemetry: Callable[[], Sequence["ChipTelemetry"]], devices: Sequence[Device] = ()
) -> tuple[str, ...]:
    """Words as a selection takes them: files and addresses become unique ids, for which the driver is asked; of the
    devices that are known, the ids their openers gave. What is not there, or of several kinds, is a SelectionError."""
    words = [word.strip() for word in (text or "").split(",") if word.strip()]
    if text is not None and not words:  # such as a variable of a script that is not set
        raise SelectionError(f"expected names of devices, found {text!r}")
    kinds = {_kind(word) for word in words}
    if len(kinds) > 1:
        raise SelectionError(f"{', '.join(words)}: expected names of one kind, found {' and '.join(sorted(kinds))}")
    if not kinds & _BY_DRIVER:
        return tuple(words)
    chips = telemetry()
    return tuple(_unique_id(word, chips, devices) for word in words)


def _kind(word: str) -> str:
    if re.fullmatch(_NODE, word):
        return "device files"
    if re.fullmatch(_BUS_ID, word):
        return "PCI addresses"
    if word.startswith(("seed:", "unknown:")):
        return "names"
    return "unique ids" if word.lower().startswith("0x") else "indexes"


def _unique_id(word: str, chips: Sequence["ChipTelemetry"], devices: Sequence[Device]) -> str:
    full = word.lower() if word.startswith("/") or word.count(":") == 2 else _PCI_DOMAIN + word.lower()
    chip = next((one for one in chips if full in (one.dev_node, (one.pci_bus_id or "").lower())), None)
    if chip is None:
        known = ", ".join(f"{one.dev_node} ({one.pci_bus_id})" for one in chips)
        raise SelectionError(f"no device {word} here; the driver has {known or 'none'}")
    from ttmem.snapshot.identity import chip_of

    opened = next((device.uuid for device in devices if chip_of(device, chips) is chip), None)
    if opened is None and chip.asic_id is None:
        raise SelectionError(f"{word}: the driver does not say which chip that is; give its index or unique id")
    return opened or f"{chip.asic_id:#018x}"
