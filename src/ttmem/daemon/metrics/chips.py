"""Rows about chips: what they are, and what is held of their memories."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ttmem.daemon.metrics import catalogue as metric
from ttmem.daemon.metrics.families import ChipLifetime, Labels, Page
from ttmem.devices import BANKED_POOLS, PLANNED_POOLS, Kind, Pool
from ttmem.snapshot import DeviceUsage, PoolUsage, identity
from ttmem.snapshot.telemetry import ChipTelemetry
from ttmem.snapshot.values import Device

__all__ = ["ExportedChip", "add_chips", "device_labels", "tray_of"]


class ExportedChip(NamedTuple):
    """A chip with the labels that all its rows begin with, what the driver says of it, and what happened there."""

    usage: DeviceUsage
    labels: tuple[str, str]  # device and arch
    telemetry: ChipTelemetry | None = None
    happened: ChipLifetime | None = None


def device_labels(devices: Iterable[Device]) -> dict[int, str]:
    """The label of every device, by its number: its index as the runtime counts, or what it is known by instead. Of two
    chips that different processes call by the same index, the one known first keeps it; the other has its unique id."""
    labels: dict[int, str] = {}
    taken: set[str] = set()
    for device in sorted(devices, key=lambda device: device.number):
        word = _word(device)
        label = _own_word(device) if word in taken else word
        taken.add(label)
        labels[device.number] = label
    return labels


def _word(device: Device) -> str:
    if device.index is not None and not device.is_server_chip:
        return str(device.index)
    return device.name or _own_word(device)


def _own_word(device: Device) -> str:
    return device.uuid or f"{device.name or 'unknown'}#{device.number}"


def add_chips(page: Page, chips: Iterable[ExportedChip]) -> None:
    for chip in chips:
        device, labels = chip.usage.device, chip.labels
        page.add(metric.DEVICE, (*labels, *_identity(device, labels[0], chip.telemetry)), 1)
        page.add(metric.OPEN, labels, device.open_count)
        page.add(metric.DEVICE_COMPLETE, labels, int(not chip.usage.reason))
        _add_memories(page, chip.usage, labels)


def _identity(device: Device, label: str, telemetry: ChipTelemetry | None) -> Sequence[str]:
    grid = f"{device.grid[0]}x{device.grid[1]}" if device.grid else ""
    node, bus = (telemetry.dev_node, telemetry.pci_bus_id or "") if telemetry else ("", "")
    return device.board, device.uuid or "", node, bus, *tray_of(device, label, bus), grid


def tray_of(device: Device, label: str, pci_bus_id: str) -> tuple[str, str]:
    """Tray and chip as tt-telemetry counts them; without trays or an address, no tray and the chip's own label."""
    found = identity.tray_of(device, pci_bus_id) if pci_bus_id else None
    return (str(found[0]), str(found[1])) if found else ("", label)


def _add_memories(page: Page, usage: DeviceUsage, labels: Labels) -> None:
    """Every memory a chip has, or has something in; at last host memory, and what has no known type."""
    pools = {pool.pool: pool for pool in usage.pools if pool.pool not in PLANNED_POOLS and not pool.is_untouched}
    is_counted = usage.launch_count is not None and not usage.doubt  # what nobody tells of is then 0
    for pool in BANKED_POOLS:
        if pool in pools:
            binaries, traces = _apart(usage) if pool is Pool.DRAM else (0, 0)
            _add_pool(page, (*labels, pool.word), pools.pop(pool), binaries, traces)
        elif is_counted and usage.used_bytes(pool) == 0 and (capacity := usage.device.capacity(pool)):
            _add_untouched(page, (*labels, pool.word), capacity)
    for pool, held in pools.items():
        _add_pool(page, (*labels, pool.word), held, 0, 0)


def _apart(usage: DeviceUsage) -> tuple[int, int]:
    """Of what is used of DRAM, what holds programs, and what holds traces."""
    binaries = sum(kind.used_bytes or 0 for kind in usage.kinds if kind.kind is Kind.PROGRAM_BINARY)
    return binaries, usage.trace_bytes


def _add_pool(page: Page, labels: Labels, usage: PoolUsage, binary_bytes: int, trace_bytes: int) -> None:
    page.add(metric.CAPACITY, labels, usage.capacity_bytes)
    page.add(metric.STALE, labels, usage.stale_bytes)
    if usage.is_read:  # another quantity, of another source: never one series with what was counted
        page.add(metric.READ, labels, usage.used_bytes)
        return
    binaries = min(binary_bytes, usage.used_bytes)
    traces = min(trace_bytes, usage.used_bytes - binaries)
    buffers = usage.used_bytes - binaries - traces
    page.add(metric.READ, labels, usage.read_bytes)
    page.add(metric.USED, (*labels, Kind.BUFFER.word), None if usage.known_bytes is None else buffers)
    page.add(metric.USED, (*labels, Kind.PROGRAM_BINARY.word), binaries or None)
    page.add(metric.USED, (*labels, Kind.TRACE_BUFFER.word), traces or None)
    page.add(metric.PEAK, labels, usage.peak_bytes)
    page.add(metric.ALIVE, labels, usage.count)
    page.add(metric.UNATTRIBUTED, labels, usage.unattributed_bytes)
    if not usage.read_bytes:  # others hold some of it, too: nobody knows what is left
        page.add(metric.LARGEST, labels, usage.largest_free_bytes)
        page.add(metric.FREE, labels, usage.free_bytes)


def _add_untouched(page: Page, labels: Labels, capacity: int) -> None:
    """A memory of which nothing was ever taken while it was watched."""
    page.add(metric.CAPACITY, labels, capacity)
    page.add(metric.USED, (*labels, Kind.BUFFER.word), 0)
    page.add(metric.FREE, labels, capacity)
    page.add(metric.ALIVE, labels, 0)
