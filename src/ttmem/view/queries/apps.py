"""What `--query-apps` can be asked: one row per process and chip."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ttmem.devices import BANKED_POOLS, PLANNED_POOLS, POOL_TOTALS, Pool, PoolTotal
from ttmem.snapshot import ProcessDevice, ProcessUsage, Snapshot
from ttmem.snapshot.identity import Identity, identity_of
from ttmem.snapshot.telemetry import ChipTelemetry
from ttmem.snapshot.values import Device
from ttmem.view.queries.fields import Field
from ttmem.view.queries.memory import timestamp

__all__ = ["APP_FIELDS", "AppRow", "app_rows", "held_bytes"]


class AppRow(NamedTuple):
    """A process on one of its chips."""

    time_ns: int
    process: ProcessUsage
    held: ProcessDevice
    identity: Identity


def app_rows(
    snapshot: Snapshot, processes: Sequence[ProcessUsage], telemetry: Sequence[ChipTelemetry]
) -> Iterator[AppRow]:
    """Some processes of a snapshot, on every chip they hold something on."""
    devices = {usage.device.number: usage.device for usage in snapshot.devices}
    for process in processes:
        for held in process.devices:
            chip = held.device
            device = devices.get(chip.number) or Device(
                chip.number, chip.unique_id, chip.index, chip.is_known, chip.name
            )
            yield AppRow(snapshot.time_ns, process, held, identity_of(device, telemetry))


def held_bytes(process: ProcessUsage, held: ProcessDevice, *pools: Pool) -> int | None:
    """What a process holds of some pools of a chip; None if that is not known of one of them. Of circular buffers what
    cores give up for them: those of several programs lie on top of each other."""
    used, shown = 0, {usage.pool: usage.used_bytes for usage in held.shown_pools}
    is_silent = any(usage.pool not in shown for usage in held.pools if usage.pool in pools)
    for pool in pools:
        if pool not in shown and (
            is_silent or process.origin == "unknown" or (process.source == "runtime" and pool not in BANKED_POOLS)
        ):
            return None
        used += shown.get(pool, 0)
    return used


def _held(*pools: Pool) -> Callable[[AppRow], int | None]:
    return lambda row: held_bytes(row.process, row.held, *pools)


def _unit(pool: Pool) -> str:
    return "MiB" if pool in (Pool.DRAM, Pool.TRACE, Pool.HOST) else "KiB"


def _pool_field(pool: Pool) -> Field[AppRow]:
    word = pool.word
    planned = ", planned: programs share it" if pool in PLANNED_POOLS else ""
    return Field(word, f"held in pool {word}{planned}", _held(pool), _unit(pool), (f"{word}.used",))


def _total_field(pool: Pool, total: PoolTotal) -> Field[AppRow]:
    def value(row: AppRow) -> int | None:
        return next((getattr(usage, total.field) for usage in row.held.shown_pools if usage.pool is pool), None)

    return Field(f"{pool.word}.{total.word}", f"of pool {pool.word}: {total.meaning}", value, _unit(pool))


APP_FIELDS: tuple[Field[AppRow], ...] = (
    Field("timestamp", "when the figures were taken, local time", lambda row: timestamp(row.time_ns)),
    Field("pid", "process id as seen from here", lambda row: row.process.pid if row.process.is_visible else None),
    Field("process_name", "the program, without its arguments", lambda row: _program(row.process), aliases=("name",)),
    Field("user", "whose it is", lambda row: row.process.user),
    Field("label", "TTMEM_LABEL, what it called itself, or its command", lambda row: row.process.label),
    Field("command", "the command line", lambda row: row.process.command),
    Field("state", "live, stale (figures not of now) or ended", lambda row: row.process.state),
    Field("index", "logical index of the chip", lambda row: row.held.device.index),
    Field("uuid", "the chip's own id", lambda row: row.held.device.uuid, aliases=("gpu_uuid",)),
    Field("dev_node", "the driver's device file", lambda row: row.identity.dev_node),
    Field("pci.bus_id", "PCI address", lambda row: row.identity.pci_bus_id, aliases=("gpu_bus_id",)),
    Field("used_memory", "dram, trace, l1 and l1_small together", _held(*BANKED_POOLS), "MiB", ("used_gpu_memory",)),
    *(_pool_field(pool) for pool in Pool if pool is not Pool.UNKNOWN),
    *(_total_field(pool, total) for total in POOL_TOTALS for pool in Pool if pool is not Pool.UNKNOWN),
    Field("source", "counted, counter, read or unknown", lambda row: row.process.origin),
    Field("workload", "its job, pod, unit or run", lambda row: _workload(row.process)),
)


def _program(process: ProcessUsage) -> str:
    return process.command.split(" ", 1)[0] or process.label


def _workload(process: ProcessUsage) -> str | None:
    return process.workload.id if process.workload else None
