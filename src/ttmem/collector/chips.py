"""What chips are, whatever their openers say: by the kernel's driver, and by the tables of the runtime model, which is
not woken for that."""

import os
import time
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec

from ttmem.collector.rows.regions import BankSizes
from ttmem.snapshot.identity import chip_of
from ttmem.snapshot.values import Device

if TYPE_CHECKING:
    from ttmem._native import Ledger
    from ttmem.snapshot.telemetry import ChipTelemetry
    from ttmem.sources.driver import Driver

__all__ = ["DriverFacts", "bank_sizes", "most_memory"]

_TABLES = os.path.join(os.path.dirname(os.path.dirname(__file__)), "metal", "chips")
_AGAIN_SECONDS = 10.0  # what the driver calls chips hardly ever changes


class DriverFacts:
    """Reports to a ledger what the driver says of the chips that processes have named. Any thread may ask for that."""

    def __init__(self, driver: "Driver") -> None:
        self._driver = driver
        self._known: tuple[ChipTelemetry, ...] = ()
        self._due = float("-inf")

    def describe(self, ledger: "Ledger", devices: Iterable[Device]) -> bool:
        """Reports to the ledger what the driver says of these chips. Whether any of that was new to it."""
        if time.monotonic() >= self._due:
            self._known = self._driver.identities()
            self._due = time.monotonic() + _AGAIN_SECONDS
        if not self._known:
            return False
        is_news = False
        for device in devices:
            chip = chip_of(device, self._known)
            if chip is not None:
                arch, card = chip.arch or "", chip.card_type or ""
                is_news |= ledger.describe_by_driver(device.unique_id, arch, card, *most_memory(arch, card))
        return is_news


@cache  # a file of the package, read once
def bank_sizes() -> dict[str, BankSizes]:
    """The banks of every architecture that is known here, by the name tt-metal gives it."""
    rows = _table("architectures").items()
    return {arch: BankSizes(row["dram_bank_bytes"], row["l1_bytes"]) for arch, row in rows}


def most_memory(arch: str, card: str) -> tuple[int, int]:
    """DRAM and L1 of a chip, by the driver's names of its architecture and card; 0 where that is unknown. Some of its
    cores may be switched off: no chip of that card has more."""
    found = [row for name, row in _table("architectures").items() if arch and name.startswith(arch)]
    boards = [row for name, row in _table("boards").items() if card.lower().startswith(name)]
    if len(found) != 1:
        return 0, 0
    [chip] = found
    missing = boards[0].get("harvested_dram_channel_count", 0) if boards else 0
    dram_banks = (chip["dram_channel_count"] - missing) * chip["dram_banks_per_channel"]
    columns, rows = chip["tensix_grid"]
    return dram_banks * chip["dram_bank_bytes"], columns * rows * chip["l1_bytes"]


@cache  # a file of the package, read once
def _table(name: str) -> dict[str, dict[str, Any]]:
    with open(os.path.join(_TABLES, f"{name}.json"), "rb") as table:
        return dict(msgspec.json.decode(table.read()))
