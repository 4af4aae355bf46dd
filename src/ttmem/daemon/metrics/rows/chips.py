"""Rows about chips: what they are, and what is held of their memories."""

from collections.abc import Sequence

from ttmem.daemon.metrics import catalogue as metric
from ttmem.daemon.metrics.families import Labels
from ttmem.daemon.metrics.rows.kept import Chip, Item, Subject, Told
from ttmem.devices import PLANNED_POOLS, Device, Kind, Pool
from ttmem.snapshot import DeviceUsage, PoolUsage, identity
from ttmem.snapshot.sights.telemetry import ChipTelemetry

__all__ = ["MEMORIES", "SUBJECTS", "tray_of"]

# Where allocations exclude each other. Inventories of programs are told apart from them: see `programs`.
MEMORIES = (Pool.DRAM, Pool.TRACE, Pool.L1, Pool.L1_SMALL)
# Looked up once: there are thousands of rows.
_MEMORY_WORDS = tuple((pool, pool.word) for pool in MEMORIES)
_DRAM, _PROGRAM_BINARY = Pool.DRAM, Kind.PROGRAM_BINARY
_BUFFERS = Kind.BUFFER.word
_BINARIES = Kind.PROGRAM_BINARY.word
_TRACES = Kind.TRACE_BUFFER.word
_NOTHING = (0, 0)


def _chips(chips: Sequence[Chip]) -> list[Item]:
    return [(chip.labels, (chip.usage.device, not chip.usage.reason, chip.telemetry)) for chip in chips]


def _chip_rows(labels: tuple[str, str], device: Device, is_whole: bool, telemetry: ChipTelemetry | None) -> Told:
    return [
        (metric.DEVICE, (*labels, *_identity(device, labels[0], telemetry)), 1),
        (metric.OPEN, labels, device.open_count),
        (metric.DEVICE_COMPLETE, labels, int(is_whole)),
    ]


def _identity(device: Device, label: str, telemetry: ChipTelemetry | None) -> Sequence[str]:
    grid = f"{device.grid[0]}x{device.grid[1]}" if device.grid else ""
    node, bus = (telemetry.dev_node, telemetry.pci_bus_id or "") if telemetry else ("", "")
    return device.board, device.uuid or "", node, bus, *tray_of(device, label, bus), grid


def tray_of(device: Device, label: str, pci_bus_id: str) -> tuple[str, str]:
    """Tray and chip as tt-telemetry counts them; without trays, no tray and the chip's own label."""
    found = identity.tray_of(device, pci_bus_id)
    return (str(found[0]), str(found[1])) if found else ("", label)


def _memories(chips: Sequence[Chip]) -> list[Item]:
    """Every memory a chip has, or has something in."""
    items: list[Item] = []
    for usage, labels, *_ in chips:
        pools = {pool.pool: pool for pool in usage.pools if pool.pool not in PLANNED_POOLS}
        is_counted = usage.launch_count is not None and not usage.doubt  # what nobody tells of is then 0
        for pool, word in _MEMORY_WORDS:
            if pool in pools:
                items.append(((*labels, word), (pools.pop(pool), _apart(usage) if pool is _DRAM else _NOTHING)))
            elif is_counted and usage.used_bytes(pool) == 0 and (capacity := usage.device.capacity(pool)):
                items.append(((*labels, word), (None, (capacity,))))
        # host memory, and what nobody knows the type of
        items += [((*labels, pool.word), (held, _NOTHING)) for pool, held in pools.items()]
    return items


def _apart(usage: DeviceUsage) -> tuple[int, int]:
    """Of what is used of DRAM, what holds programs, and what holds traces."""
    binaries = sum([kind.used_bytes for kind in usage.kinds if kind.kind is _PROGRAM_BINARY])
    return binaries, usage.trace_bytes


def _memory_rows(labels: Labels, usage: PoolUsage | None, sizes: tuple[int, ...]) -> Told:
    """One memory; `sizes`: of what is used, programs and traces, or all there is if nothing was ever taken."""
    return _pool_rows(labels, usage, *sizes) if usage else _untouched_rows(labels, *sizes)


def _pool_rows(labels: Labels, usage: PoolUsage, binary_bytes: int, trace_bytes: int) -> Told:
    rows: Told = [(metric.CAPACITY, labels, usage.capacity_bytes), (metric.STALE, labels, usage.stale_bytes)]
    if usage.is_read:  # another quantity, of another source: never one series with what was counted
        return [*rows, (metric.READ, labels, usage.used_bytes)]
    binaries = min(binary_bytes, usage.used_bytes)
    traces = min(trace_bytes, usage.used_bytes - binaries)
    buffers = usage.used_bytes - binaries - traces
    rows += [
        (metric.READ, labels, usage.read_bytes),
        (metric.USED, (*labels, _BUFFERS), None if usage.known_bytes is None else buffers),
        (metric.USED, (*labels, _BINARIES), binaries or None),
        (metric.USED, (*labels, _TRACES), traces or None),
        (metric.PEAK, labels, usage.peak_bytes),
        (metric.ALIVE, labels, usage.count),
        (metric.UNATTRIBUTED, labels, usage.unattributed_bytes),
    ]
    if not usage.read_bytes:  # others hold some of it, too: nobody knows what is left
        rows += [(metric.LARGEST, labels, usage.largest_free_bytes), (metric.FREE, labels, usage.free_bytes)]
    return rows


def _untouched_rows(labels: Labels, capacity: int) -> Told:
    """A memory of which nothing was ever taken since somebody looked."""
    return [
        (metric.CAPACITY, labels, capacity),
        (metric.USED, (*labels, _BUFFERS), 0),
        (metric.FREE, labels, capacity),
        (metric.ALIVE, labels, 0),
    ]


SUBJECTS = (Subject(metric.CHIPS, _chips, _chip_rows), Subject(metric.MEMORY, _memories, _memory_rows))
