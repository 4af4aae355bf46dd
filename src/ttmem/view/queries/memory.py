"""What `--query-mem` can be asked: one row per chip."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from ttmem.devices import Pool
from ttmem.snapshot import DeviceUsage, PoolUsage, Snapshot
from ttmem.snapshot.identity import Identity, identity_of
from ttmem.snapshot.telemetry import ChipTelemetry
from ttmem.view.queries.fields import Field

__all__ = ["MEMORY_FIELDS", "MemoryRow", "memory_rows", "timestamp"]


class MemoryRow(NamedTuple):
    """One chip, and when its figures were true."""

    time_ns: int
    usage: DeviceUsage
    identity: Identity
    app_count: int

    def pool(self, pool: Pool) -> PoolUsage | None:
        return next((usage for usage in self.usage.pools if usage.pool is pool), None)

    def used_bytes(self, pool: Pool) -> int | None:
        return self.usage.used_bytes(pool)


def memory_rows(snapshot: Snapshot, telemetry: Sequence[ChipTelemetry]) -> Iterator[MemoryRow]:
    """Every chip of a snapshot."""
    for usage in snapshot.devices:
        number = usage.device.number
        apps = sum(any(held.device.number == number for held in process.devices) for process in snapshot.live)
        yield MemoryRow(snapshot.time_ns, usage, identity_of(usage.device, telemetry), apps)


def timestamp(time_ns: int) -> str:
    """As nvidia-smi writes it: local time, to the millisecond."""
    moment = datetime.fromtimestamp(time_ns // 1_000_000 / 1000)
    return f"{moment:%Y/%m/%d %H:%M:%S}.{moment.microsecond // 1000:03}"


def _of_pool(pool: Pool, figure: Callable[[PoolUsage], int | None]) -> Callable[[MemoryRow], int | None]:
    def value(row: MemoryRow) -> int | None:
        usage = row.pool(pool)
        return None if usage is None else figure(usage)

    return value


def _total(pool: Pool) -> Callable[[MemoryRow], int | None]:
    return lambda row: row.usage.device.capacity(pool)


def _used(pool: Pool) -> Callable[[MemoryRow], int | None]:
    return lambda row: row.used_bytes(pool)


def _free(pool: Pool) -> Callable[[MemoryRow], int | None]:
    def value(row: MemoryRow) -> int | None:
        total, used = row.usage.device.capacity(pool), row.used_bytes(pool)
        return None if total is None or used is None else max(0, total - used)

    return value


def _circular_buffers(row: MemoryRow) -> int | None:
    """What cores give up for them; the sum over programs, of which some overlap, only where it was read."""
    footprint = row.usage.activity.footprint
    if footprint:
        return footprint.planned_bytes
    used = row.used_bytes(Pool.CB)
    usage = row.pool(Pool.CB)
    return used if not used or (usage and usage.is_read) else None


def _kernels(row: MemoryRow) -> int | None:
    if row.usage.launch_count is None:
        return None
    return sum(kernel.used_bytes for kernel in row.usage.kernels)


MEMORY_FIELDS: tuple[Field[MemoryRow], ...] = (
    Field("timestamp", "when the figures were taken, local time", lambda row: timestamp(row.time_ns)),
    Field("index", "logical index of the chip", lambda row: row.usage.device.index),
    Field("name", "board; L: of two chips the one on the bus", lambda row: row.identity.board, aliases=("gpu_name",)),
    Field("arch", "architecture", lambda row: row.usage.device.arch or row.identity.arch),
    Field("uuid", "the chip's own id", lambda row: row.usage.device.uuid, aliases=("gpu_uuid",)),
    Field("pci.bus_id", "PCI address", lambda row: row.identity.pci_bus_id, aliases=("gpu_bus_id",)),
    Field("dev_node", "the driver's device file", lambda row: row.identity.dev_node),
    Field("dram.total", "capacity of all DRAM banks", _total(Pool.DRAM), "MiB", ("memory.total",)),
    Field("dram.used", "what all banks give up for buffers", _used(Pool.DRAM), "MiB", ("memory.used",)),
    Field("dram.free", "total - used", _free(Pool.DRAM), "MiB", ("memory.free",)),
    Field("dram.reserved", "kept back by the runtime", lambda row: None, "MiB", ("memory.reserved",)),
    Field("dram.peak", "highest use while somebody watched", _of_pool(Pool.DRAM, lambda u: u.peak_bytes), "MiB"),
    Field(
        "dram.largest_free",
        "the largest block that is still free",
        _of_pool(Pool.DRAM, lambda u: u.largest_free_bytes),
        "MiB",
    ),
    Field("l1.total", "L1 of all worker cores that programs may use", lambda row: row.usage.l1_total_bytes, "KiB"),
    Field("l1.used", "buffers, small buffers and the kernel ring", lambda row: row.usage.l1_used_bytes, "KiB"),
    Field("l1.buffers", "buffers alone", _used(Pool.L1), "KiB"),
    Field("l1.cb", "what cores give up for circular buffers of all loaded programs", _circular_buffers, "KiB"),
    Field("l1.kernel", "code of all loaded kernels; they share the ring, so it may exceed it", _kernels, "KiB"),
    Field("l1.small", "small buffers (L1_SMALL)", _used(Pool.L1_SMALL), "KiB"),
    Field("l1.peak_core", "the fullest core: buffers, CBs and ring", lambda r: r.usage.worst_core_bytes, "KiB"),
    Field("trace.used", "trace buffers in DRAM", _used(Pool.TRACE), "MiB"),
    Field("apps.count", "live processes on the chip", lambda row: row.app_count),
    Field("source", "counted, counter, read, sample or unknown", lambda row: source_of(row.usage)),
    Field("age", "at most so much older than timestamp", lambda row: row.usage.age_ms, "ms"),
)


def source_of(usage: DeviceUsage) -> str:
    """Where the figures of a chip come from; several where they differ."""
    told = [pool for pool in usage.pools if not pool.is_untouched]
    if usage.doubt and not told:
        return "unknown"
    origins = dict.fromkeys(pool.origin for pool in told)
    return "+".join(origins) or ("counted" if usage.launch_count is not None else "unknown")
