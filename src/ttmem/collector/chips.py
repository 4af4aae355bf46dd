"""What chips are, whatever their openers say: by the kernel's driver, and by the tables of the runtime model, which is
not woken for that."""

import os
import time
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import msgspec

from ttmem.collector.rows.regions import BankSizes
from ttmem.snapshot.identity import chip_of
from ttmem.snapshot.values import Device

if TYPE_CHECKING:
    from ttmem._native import Ledger
    from ttmem.snapshot.telemetry import ChipTelemetry
    from ttmem.sources.driver import Driver

__all__ = ["BANK_SIZES", "DriverFacts", "most_memory"]

_TABLES = os.path.join(os.path.dirname(os.path.dirname(__file__)), "metal", "chips")
_AGAIN_SECONDS = 10.0  # what the driver calls chips hardly ever changes


def _table(name: str) -> dict[str, dict[str, Any]]:
    with open(os.path.join(_TABLES, f"{name}.json"), "rb") as table:
        return dict(msgspec.json.decode(table.read()))


_ARCHITECTURES, _BOARDS = _table("architectures"), _table("boards")
# The banks of every architecture that is known here, by the name tt-metal gives it.
BANK_SIZES = {arch: BankSizes(row["dram_bank_bytes"], row["l1_bytes"]) for arch, row in _ARCHITECTURES.items()}


class DriverFacts:
    """What the driver says of its chips, and which of those that processes have named the ledger knows it of."""

    def __init__(self, driver: "Driver", ledger: "Ledger") -> None:
        self._driver = driver
        self._ledger = ledger
        self._due = float("-inf")
        self.chips: tuple[ChipTelemetry, ...] = ()
        self.described: frozenset[int] = frozenset()  # unique ids

    def look(self) -> None:
        """Asks the driver again if it is time: for one thread at a time."""
        if time.monotonic() >= self._due:
            self.chips, self.described = self._driver.identities(), frozenset()
            self._due = time.monotonic() + _AGAIN_SECONDS

    def describe(self, devices: Collection[Device]) -> bool:
        """Reports to the ledger what the driver says of these chips. Whether any of that was new to it. Any thread may
        call this: at worst two report the same."""
        is_news = False
        for device in devices:
            chip = chip_of(device, self.chips)
            if chip is not None:
                arch, card = chip.arch or "", chip.card_type or ""
                is_news |= self._ledger.describe_by_driver(device.unique_id, arch, card, *most_memory(arch, card))
        self.described |= {device.unique_id for device in devices}
        return is_news


def most_memory(arch: str, card: str) -> tuple[int, int]:
    """DRAM and L1 of a chip, by the driver's names of its architecture and card; 0 where that is unknown. Some of its
    cores may be switched off: no chip of that card has more."""
    found = [row for name, row in _ARCHITECTURES.items() if arch and name.startswith(arch)]
    boards = [row for name, row in _BOARDS.items() if card.lower().startswith(name)]
    if len(found) != 1:
        return 0, 0
    [chip] = found
    missing = boards[0].get("harvested_dram_channel_count", 0) if boards else 0
    dram_banks = (chip["dram_channel_count"] - missing) * chip["dram_banks_per_channel"]
    columns, rows = chip["tensix_grid"]
    return dram_banks * chip["dram_bank_bytes"], columns * rows * chip["l1_bytes"]
