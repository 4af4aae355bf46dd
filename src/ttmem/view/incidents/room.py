"""Without an incident: how much room there is on each chip."""

from collections.abc import Sequence

from ttmem.devices import Pool
from ttmem.snapshot import DeviceUsage
from ttmem.view.device_tables import device_title
from ttmem.view.table import Cell, Column, Line, Role, cell, table
from ttmem.view.texts import UNKNOWN, signed_text, size_text

__all__ = ["room_table"]


def room_table(devices: Sequence[DeviceUsage], *, width: int | None) -> list[Line]:
    """By chip: the fullest core now and planned, headroom of L1, largest blocks."""
    columns = [
        Column("CHIP", least=8),
        Column("PLANNED", is_right=True),
        Column("HEADROOM", is_right=True),
        Column("L1 BLOCK", is_right=True),
        Column("DRAM BLOCK", is_right=True),
        Column("FULLEST CORE"),
    ]
    rows: list[list[Cell]] = []
    for usage in devices:
        rows.append(
            [
                device_title([usage.device]),
                cell(size_text(usage.planned_core_bytes)),
                cell(signed_text(usage.headroom_bytes)),
                cell(size_text(_block(usage, Pool.L1, is_of_bank=True))),
                cell(size_text(_block(usage, Pool.DRAM))),
                cell(_fullest(usage), Role.PLAIN),
            ]
        )
    return table(columns, rows, width=width)


def _block(usage: DeviceUsage, pool: Pool, *, is_of_bank: bool = False) -> int | None:
    found = next((one for one in usage.pools if one.pool is pool), None)
    if found is None:
        return None
    return found.largest_free_bank_bytes if is_of_bank else found.largest_free_bytes


def _fullest(usage: DeviceUsage) -> str:
    if usage.fullest_core_bytes is None:
        return UNKNOWN
    of = "" if usage.core_bytes is None else f" of {size_text(usage.core_bytes)}"
    where = "every core" if usage.fullest_core is None else "core {},{}".format(*usage.fullest_core)
    return f"{where}: {size_text(usage.fullest_core_bytes)}{of}"
