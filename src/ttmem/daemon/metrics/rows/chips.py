"""Rows about chips: what they are, and what is held of their memories."""

from collections.abc import Sequence
from typing import NamedTuple

from ttmem.daemon.metrics import catalogue as metric
from ttmem.daemon.metrics.families import Rows
from ttmem.devices import Kind, Pool
from ttmem.snapshot import DeviceUsage, PoolUsage, identity
from ttmem.snapshot.sights.telemetry import ChipTelemetry

__all__ = ["MEMORIES", "Chip", "add_chip", "add_memory"]

# Where allocations exclude each other. Inventories of programs are told apart from them: see `programs`.
MEMORIES = (Pool.DRAM, Pool.TRACE, Pool.L1, Pool.L1_SMALL)
_WORDS = {pool: pool.word for pool in Pool}  # looked up once: there are thousands of rows
_BUFFERS = Kind.BUFFER.word
_BINARIES = Kind.PROGRAM_BINARY.word


class Chip(NamedTuple):
    """A chip with the labels that all its rows begin with."""

    usage: DeviceUsage
    labels: tuple[str, str]  # device and arch


def add_chip(rows: Rows, chip: Chip, telemetry: ChipTelemetry | None) -> None:
    """What it is, and who has it open."""
    device = chip.usage.device
    rows.add(metric.DEVICE, (*chip.labels, *_identity(chip, telemetry)), 1)
    rows.add(metric.OPEN, chip.labels, device.open_count)
    rows.add(metric.DEVICE_COMPLETE, chip.labels, int(not chip.usage.reason))


def _identity(chip: Chip, telemetry: ChipTelemetry | None) -> Sequence[str]:
    device = chip.usage.device
    grid = f"{device.grid[0]}x{device.grid[1]}" if device.grid else ""
    node, bus = (telemetry.dev_node, telemetry.pci_bus_id or "") if telemetry else ("", "")
    return device.board, device.uuid or "", node, bus, *tray_of(chip, bus), grid


def tray_of(chip: Chip, pci_bus_id: str) -> tuple[str, str]:
    """Tray and chip as tt-telemetry counts them; without trays, no tray and the chip's own label."""
    found = identity.tray_of(chip.usage.device, pci_bus_id)
    return (str(found[0]), str(found[1])) if found else ("", chip.labels[0])


def add_memory(rows: Rows, chip: Chip) -> None:
    """Every memory it has, or has something in."""
    usages = {usage.pool: usage for usage in chip.usage.pools if not usage.is_planned}
    binaries = sum(usage.used_bytes for usage in chip.usage.kinds if usage.kind is Kind.PROGRAM_BINARY)
    for pool in MEMORIES:
        capacity = chip.usage.device.capacity(pool)
        if pool in usages:
            _add_pool(rows, (*chip.labels, _WORDS[pool]), usages.pop(pool), binaries if pool is Pool.DRAM else 0)
        elif capacity and chip.usage.used_bytes(pool) is not None:
            _add_untouched(rows, (*chip.labels, _WORDS[pool]), capacity)
    for pool, usage in usages.items():  # host memory, and what nobody knows the type of
        _add_pool(rows, (*chip.labels, _WORDS[pool]), usage)


def _add_pool(rows: Rows, labels: tuple[str, ...], usage: PoolUsage, binary_bytes: int = 0) -> None:
    """One memory; `binary_bytes`: of what is used, what holds programs."""
    rows.add(metric.CAPACITY, labels, usage.capacity_bytes)
    rows.add(metric.STALE, labels, usage.stale_bytes)
    if usage.is_read:  # another quantity, of another source: never one series with what was counted
        rows.add(metric.READ, labels, usage.used_bytes)
        return
    rows.add(metric.READ, labels, usage.read_bytes)
    binaries = min(binary_bytes, usage.used_bytes)
    rows.add(metric.USED, (*labels, _BUFFERS), None if usage.known_bytes is None else usage.used_bytes - binaries)
    rows.add(metric.USED, (*labels, _BINARIES), binaries or None)
    rows.add(metric.PEAK, labels, usage.peak_bytes)
    rows.add(metric.ALIVE, labels, usage.count)
    rows.add(metric.UNATTRIBUTED, labels, usage.unattributed_bytes)
    if not usage.read_bytes:  # others hold some of it, too: nobody knows what is left
        rows.add(metric.LARGEST, labels, usage.largest_free_bytes)
        rows.add(metric.FREE, labels, usage.free_bytes)


def _add_untouched(rows: Rows, labels: tuple[str, ...], capacity: int) -> None:
    """A memory of which nothing was ever taken since somebody looked."""
    rows.add(metric.CAPACITY, labels, capacity)
    rows.add(metric.USED, (*labels, _BUFFERS), 0)
    rows.add(metric.FREE, labels, capacity)
    rows.add(metric.ALIVE, labels, 0)
