"""What `--query-mem` can be asked: one row per chip."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from ttmem.devices import Pool
from ttmem.snapshot import DeviceUsage, PoolUsage, Snapshot
from ttmem.snapshot.identity import Identity, chip_of, identity_of
from ttmem.snapshot.telemetry import ChipTelemetry, Sensor
from ttmem.view.queries.fields import Field

__all__ = ["MEMORY_FIELDS", "UTILIZATION", "MemoryRow", "memory_rows", "timestamp"]

UTILIZATION = "utilization.gpu"  # a field that scripts for nvidia-smi ask for, and that has no honest value here


class MemoryRow(NamedTuple):
    """One chip, and when its figures were true."""

    time_ns: int
    usage: DeviceUsage
    identity: Identity
    app_count: int
    chip: ChipTelemetry | None = None  # what the driver says of it

    def pool(self, pool: Pool) -> PoolUsage | None:
        return next((usage for usage in self.usage.pools if usage.pool is pool), None)

    def used_bytes(self, pool: Pool) -> int | None:
        return self.usage.used_bytes(pool)


def memory_rows(snapshot: Snapshot, telemetry: Sequence[ChipTelemetry]) -> Iterator[MemoryRow]:
    """Every chip of a snapshot."""
    for usage in snapshot.devices:
        number = usage.device.number
        apps = sum(any(held.device.number == number for held in process.devices) for process in snapshot.live)
        identity, chip = identity_of(usage.device, telemetry), chip_of(usage.device, telemetry)
        yield MemoryRow(snapshot.time_ns, usage, identity, apps, chip)


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


def _planned(row: MemoryRow) -> int | None:
    """What cores give up for circular buffers; where that was not followed, only what was read is known."""
    footprint = row.usage.activity.footprint
    if footprint:
        return footprint.planned_bytes
    used = row.used_bytes(Pool.CB)
    usage = row.pool(Pool.CB)
    return used if not used or (usage and usage.is_read) else None


def _resident(row: MemoryRow) -> int | None:
    footprint = row.usage.activity.footprint
    return footprint.resident_bytes if footprint else None if row.used_bytes(Pool.CB) else _planned(row)


def _kernels(row: MemoryRow) -> int | None:
    if row.usage.launch_count is None:
        return None
    return sum(kernel.used_bytes or 0 for kernel in row.usage.kernels)


def _sensor(
    of: Callable[[ChipTelemetry], Sensor | None], *, is_limit: bool = False
) -> Callable[[MemoryRow], float | None]:
    def value(row: MemoryRow) -> float | None:
        sensor = of(row.chip) if row.chip else None
        return None if sensor is None else sensor.limit if is_limit else sensor.value

    return value


def _degrees(of: Callable[[MemoryRow], float | None]) -> Callable[[MemoryRow], int | None]:
    """Whole ones, without a unit, as nvidia-smi writes them."""

    def value(row: MemoryRow) -> int | None:
        degrees = of(row)
        return None if degrees is None else round(degrees)

    return value


def _of_chip(of: Callable[[ChipTelemetry], int | None]) -> Callable[[MemoryRow], int | None]:
    return lambda row: of(row.chip) if row.chip else None


_CORE_CLOCKS = ("clocks.sm", "clocks.gr", "clocks.current.sm", "clocks.current.graphics")
_SENSORS: tuple[Field[MemoryRow], ...] = (
    Field(
        "temperature.gpu",
        "of the chip, in whole degrees Celsius",
        _degrees(_sensor(lambda chip: chip.temperature)),
        aliases=("temperature",),
    ),
    Field(
        "temperature.limit",
        "the highest it may reach",
        _degrees(_sensor(lambda chip: chip.temperature, is_limit=True)),
    ),
    Field("power.draw", "power drawn now", _sensor(lambda chip: chip.power), "W", ("power.draw.instant",)),
    Field("power.limit", "the most it may draw", _sensor(lambda chip: chip.power, is_limit=True), "W"),
    Field("voltage", "core voltage", _sensor(lambda chip: chip.voltage), "V"),
    Field("current", "core current", _sensor(lambda chip: chip.current), "A"),
    Field("clocks.ai", "clock of the Tensix cores", _of_chip(lambda chip: chip.aiclk_mhz), "MHz", _CORE_CLOCKS),
    Field("clocks.axi", "clock of the AXI bus", _of_chip(lambda chip: chip.axiclk_mhz), "MHz"),
    Field("clocks.arc", "clock of the management processor", _of_chip(lambda chip: chip.arcclk_mhz), "MHz"),
    Field("fan.rpm", "turns of the fan per minute", _sensor(lambda chip: chip.fan), "rpm"),
    Field("heartbeat", "counts up while the firmware runs", _of_chip(lambda chip: chip.heartbeat)),
    Field("thermal_trips", "times it was stopped by heat", _of_chip(lambda chip: chip.thermal_trip_count)),
    Field("launches", "programs launched so far by processes that run", lambda row: row.usage.launch_count),
    Field(UTILIZATION, "always [N/A]: nothing here measures it; launches says whether it works", lambda row: None),
)

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
    Field("dram.peak", "highest use that was seen", _of_pool(Pool.DRAM, lambda u: u.peak_bytes), "MiB"),
    Field(
        "dram.largest_free",
        "the largest block that is still free",
        _of_pool(Pool.DRAM, lambda u: u.largest_free_bytes),
        "MiB",
    ),
    Field("l1.total", "banks x bank size", _total(Pool.L1), "KiB"),
    Field("l1.used", "L1 buffers and nothing else", _used(Pool.L1), "KiB", ("l1.buffers",)),
    Field("l1.free", "total - used", _free(Pool.L1), "KiB"),
    Field("l1.peak", "highest use that was seen", _of_pool(Pool.L1, lambda u: u.peak_bytes), "KiB"),
    Field(
        "l1.largest_free",
        "the largest block that is still free",
        _of_pool(Pool.L1, lambda u: u.largest_free_bytes),
        "KiB",
    ),
    Field("l1_small.used", "small buffers (L1_SMALL)", _used(Pool.L1_SMALL), "KiB", ("l1.small",)),
    Field("l1.kernel", "code of all loaded kernels; they share the ring, so it may exceed it", _kernels, "KiB"),
    Field(
        "core.used",
        "the fullest core now: buffers, resident circular buffers, kernel ring",
        lambda row: row.usage.fullest_core_bytes,
        "KiB",
        ("fullest_core", "l1.peak_core"),
    ),
    Field("core.total", "what a core has: kernel ring and L1 bank", lambda row: row.usage.core_bytes, "KiB"),
    Field(
        "core.planned",
        "the fullest core with circular buffers of all loaded programs",
        lambda row: row.usage.planned_core_bytes,
        "KiB",
    ),
    Field(
        "headroom",
        "lowest L1 buffer less end of all circular buffers; below 0 a program would be refused",
        lambda row: row.usage.headroom_bytes,
        "KiB",
    ),
    Field(
        "cb.planned",
        "what cores give up for circular buffers of all loaded programs: their union",
        _planned,
        "KiB",
        ("l1.cb",),
    ),
    Field("cb.resident", "the same of the programs that ran last", _resident, "KiB"),
    Field("trace.used", "trace buffers, in the region set aside for them", _used(Pool.TRACE), "MiB"),
    *_SENSORS,
    Field("apps.count", "live processes on the chip", lambda row: row.app_count),
    Field("source", "counted, counter, read, sample or unknown", lambda row: source_of(row.usage)),
    Field("age", "how much older than timestamp at most", lambda row: row.usage.age_ms, "ms"),
)


def source_of(usage: DeviceUsage) -> str:
    """Where the figures of a chip come from; several where they differ."""
    told = [pool for pool in usage.pools if not pool.is_untouched]
    if usage.doubt and not told:
        return "unknown"
    origins = dict.fromkeys(pool.origin for pool in told)
    return "+".join(origins) or ("counted" if usage.launch_count is not None else "unknown")
