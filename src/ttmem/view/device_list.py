"""The list of chips with all names they go by: index, the driver's file, PCI address, board, unique id."""

from collections.abc import Sequence

from ttmem.snapshot import Snapshot
from ttmem.snapshot.identity import identity_of, open_count_of
from ttmem.snapshot.sights.telemetry import ChipTelemetry
from ttmem.view.grid import Cell, Column, cell, grid
from ttmem.view.spans import Line, Role, clean
from ttmem.view.units import UNKNOWN, count_text

__all__ = ["device_list"]


def device_list(snapshot: Snapshot, telemetry: Sequence[ChipTelemetry], *, width: int | None) -> list[Line]:
    """One line per chip. R: behind another chip, not on the bus itself."""
    columns = [
        Column("INDEX", is_right=True),
        Column("DEVICE NODE"),
        Column("PCI BUS ID"),
        Column("BOARD"),
        Column("ARCH"),
        Column("CORES"),
        Column("UNIQUE ID"),
        Column("OPENED BY", is_right=True),
    ]
    rows: list[list[Cell]] = []
    for usage in snapshot.devices:
        device, identity = usage.device, identity_of(usage.device, telemetry)
        grid_text = f"{device.grid[0]}x{device.grid[1]}" if device.grid else None
        texts = (identity.dev_node, identity.pci_bus_id, identity.board, identity.arch, grid_text)
        index = cell(UNKNOWN, Role.DIM) if device.index is None else cell(str(device.index), Role.INDEX)
        name = device.uuid or clean(device.name)
        opened = count_text(open_count_of(usage, telemetry))
        rows.append([index, *map(_maybe, texts), _maybe(name), _maybe(opened)])
    return grid(columns, rows, width=width)


def _maybe(text: str | None) -> Line:
    return cell(clean(text)) if text else cell(UNKNOWN, Role.DIM)
