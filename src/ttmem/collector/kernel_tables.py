"""From the ledger's rows about the kernels of one chip to a table of them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ttmem.devices import BinaryStatus, Kind
from ttmem.snapshot import DeviceUsage, Hex, ProcessUsage, TimeNs
from ttmem.snapshot.kernel_table import KernelRow, KernelTable
from ttmem.tracking import CoreType, FoundBy

__all__ = ["kernel_table_of"]

_ESTIMATED = 64  # a flag of a row: charged as binary size x cores


def kernel_table_of(
    usage: DeviceUsage, processes: Iterable[ProcessUsage], found: tuple[int, Sequence[Sequence[Any]], int]
) -> KernelTable:
    """The table that the rows of `Ledger.kernels` make."""
    time_ns, rows, count = found
    pids = {process.key: process.pid for process in processes}
    return KernelTable(
        time_ns=TimeNs(time_ns),
        device=usage.device,
        rows=tuple(_row(row, pids) for row in rows),
        more_count=count - len(rows),
        activity=usage.activity,
        launch_count=usage.launch_count,
        reason=usage.reason,
    )


def _row(row: Sequence[Any], pids: Mapping[int, int]) -> KernelRow:
    key, program, identity, kind, flags, charged, binary_times_cores, binary, cores, core_type, found_by, *rest = row
    is_program_known, status, launches, time_ns, packed, name, operation = rest
    return KernelRow(
        pid=pids.get(key, 0),
        program=program,
        id=Hex(identity),
        name=name,
        operation=operation,
        kind=Kind.numbered(kind),
        found_by=FoundBy.numbered(found_by),
        core_type=CoreType.numbered(core_type),
        binary_bytes=binary or None,
        packed_bytes=packed,
        core_count=cores or None,
        exact_bytes=None if flags & _ESTIMATED else charged,
        binary_times_cores_bytes=binary_times_cores or (charged if flags & _ESTIMATED else None) or None,
        status=BinaryStatus.numbered(status) if is_program_known else None,
        launch_count=launches if is_program_known else None,
        time_ns=TimeNs(time_ns) if time_ns else None,
    )
