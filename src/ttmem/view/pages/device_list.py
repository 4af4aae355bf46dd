"""The list of chips with all names they go by: index, the driver's file, PCI address, board, unique id."""

from collections.abc import Sequence

from ttmem.snapshot import Snapshot
from ttmem.snapshot.identity import identity_of, open_count_of, tray_of
from ttmem.snapshot.telemetry import ChipTelemetry
from ttmem.view.table import Cell, Column, Line, Role, Span, cell, clean, table
from ttmem.view.texts import UNKNOWN, count_text

__all__ = ["device_list"]


def device_list(
    snapshot: Snapshot, telemetry: Sequence[ChipTelemetry], nameless: Sequence[ChipTelemetry] = (), *, width: int | None
) -> list[Line]:
    """One line per chip. R: behind another chip, not on the bus itself. Below: chips of the driver that may be any of
    them."""
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
        tray = tray_of(device, identity.pci_bus_id or "")
        board = f"{identity.board} {tray[0]}:{tray[1]}" if tray else identity.board
        texts = (identity.dev_node, identity.pci_bus_id, board, identity.arch, grid_text)
        index = cell(UNKNOWN, Role.DIM) if device.index is None else cell(str(device.index), Role.INDEX)
        name = device.uuid or clean(device.name)
        opened = count_text(open_count_of(usage, telemetry))
        rows.append([index, *map(_maybe, texts), _maybe(name), _maybe(opened)])
    lines = table(columns, rows, width=width)
    return [*lines, *([()] if nameless else []), *(_nameless_line(chip) for chip in nameless)]


def _nameless_line(chip: ChipTelemetry) -> Line:
    card = clean(f"{chip.card_type or chip.arch or 'chip'} at {chip.pci_bus_id or UNKNOWN}")
    return (Span(f" {chip.dev_node} ({card}) is one of these; the driver does not say which.", Role.DIM),)


def _maybe(text: str | None) -> Line:
    return cell(clean(text)) if text else cell(UNKNOWN, Role.DIM)
