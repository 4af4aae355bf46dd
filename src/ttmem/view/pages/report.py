"""Everything as text in sections, the form of `nvidia-smi -q`: names to the left, values behind a colon.

Device 0
    Board                             : n300
    DRAM
        Used                          : 9.00 GiB
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ttmem.devices import Kind, Pool
from ttmem.snapshot import DeviceUsage, KindUsage, PoolUsage, ProcessUsage, Snapshot
from ttmem.snapshot.identity import identity_of, open_count_of
from ttmem.snapshot.telemetry import ChipTelemetry
from ttmem.view.queries.apps import held_bytes
from ttmem.view.queries.memory import source_of, timestamp
from ttmem.view.table import Line, Role, Span, clean
from ttmem.view.texts import UNKNOWN, count_text, device_word, pid_text, share_text, signed_text, size_text

__all__ = ["SECTIONS", "report"]

SECTIONS = ("MEMORY", "L1", "PIDS")
_INDENT = 4
_VALUE_AT = 40
_MEMORY_POOLS = (Pool.DRAM, Pool.TRACE, Pool.HOST)
_L1_POOLS = (Pool.L1, Pool.L1_SMALL)
_KERNELS = (Kind.KERNEL_APPLICATION, Kind.KERNEL_FABRIC, Kind.KERNEL_DISPATCH)


class _Item(NamedTuple):
    """One line; without a value a heading."""

    depth: int
    name: str
    value: str | None = None


def report(
    snapshot: Snapshot,
    processes: Sequence[ProcessUsage],
    telemetry: Sequence[ChipTelemetry],
    sections: Sequence[str] = SECTIONS,
) -> list[Line]:
    """All chips, and of each what was asked for."""
    lines: list[Line] = [(Span("============== ttmem ==============", Role.TITLE),), ()]
    lines += [_line(item) for item in _heading(snapshot)]
    for usage in snapshot.devices:
        lines.append(())
        lines += [_line(item) for item in _device(snapshot, usage, telemetry)]
        if "MEMORY" in sections:
            lines += [_line(item) for item in _memory(usage)]
        if "L1" in sections:
            lines += [_line(item) for item in _l1(usage)]
        if "PIDS" in sections:
            lines += [_line(item) for item in _processes(usage, processes)]
    return lines


def _line(item: _Item) -> Line:
    name = " " * (_INDENT * item.depth) + item.name
    if item.value is None:
        return (Span(name, Role.INDEX if item.depth == 0 else Role.HEAD),)
    value = clean(item.value)
    return (Span(f"{name:{_VALUE_AT}}: "), Span(value, Role.DIM if value == UNKNOWN else Role.PLAIN))


def _heading(snapshot: Snapshot) -> Iterator[_Item]:
    yield _Item(0, "Timestamp", timestamp(snapshot.time_ns))
    yield _Item(0, "Source", snapshot.source)
    yield _Item(0, "Complete", "Yes" if snapshot.is_complete else f"No ({snapshot.reason})")
    yield _Item(0, "Driver Version", snapshot.host.driver or UNKNOWN)
    yield _Item(0, "Attached Devices", str(len(snapshot.devices)))


def _device(snapshot: Snapshot, usage: DeviceUsage, telemetry: Sequence[ChipTelemetry]) -> Iterator[_Item]:
    device, identity = usage.device, identity_of(usage.device, telemetry)
    grid = f"{device.grid[0]} x {device.grid[1]}" if device.grid else UNKNOWN
    yield _Item(0, f"Device {device_word(device)}")
    yield _Item(1, "Index", UNKNOWN if device.index is None else str(device.index))
    yield _Item(1, "Board", identity.board or UNKNOWN)
    yield _Item(1, "Architecture", identity.arch or UNKNOWN)
    yield _Item(1, "Unique ID", device.uuid or UNKNOWN)
    yield _Item(1, "Device Node", identity.dev_node or UNKNOWN)
    yield _Item(1, "Bus ID", identity.pci_bus_id or UNKNOWN)
    yield _Item(1, "Worker Cores", grid)
    opened = open_count_of(usage, telemetry)
    yield _Item(1, "Opened By", UNKNOWN if opened is None else f"{opened} live")
    yield _Item(1, "Figures Are", source_of(usage))
    yield _Item(1, "Age", UNKNOWN if usage.age_ms is None else f"{usage.age_ms} ms")
    yield _Item(1, "Complete", "Yes" if not usage.reason else f"No ({usage.reason})")


def _memory(usage: DeviceUsage) -> Iterator[_Item]:
    found = {pool.pool: pool for pool in usage.pools}
    for pool in _MEMORY_POOLS:
        if pool in found or pool is Pool.DRAM:
            yield _Item(1, f"{pool.word.upper()} Memory Usage")
            yield from _pool(usage, pool, found.get(pool))


def _pool(usage: DeviceUsage, pool: Pool, found: PoolUsage | None) -> Iterator[_Item]:
    total = usage.device.capacity(pool)
    if found is None:
        is_counted = usage.used_bytes(pool) is not None
        yield _Item(2, "Total", size_text(total))
        yield _Item(2, "Used", size_text(0 if is_counted else None))
        yield _Item(2, "Free", size_text(total if is_counted else None))
        return
    yield _Item(2, "Total", size_text(total))
    yield _Item(2, "Reserved", UNKNOWN)
    used = usage.used_bytes(pool)
    yield _Item(2, "Used", size_text(used) + (_share(found.share) if used is not None else ""))
    yield _Item(2, "Free", size_text(found.free_bytes if used is not None else None))
    yield _Item(2, "Largest Free", size_text(found.largest_free_bytes))
    yield _Item(2, "Requested", size_text(found.requested_bytes))
    yield _Item(2, "Peak", ("at least " if found.is_lower_bound else "") + size_text(found.peak_bytes))
    yield _Item(2, "Allocations", count_text(found.count))
    if found.read_bytes is not None:
        yield _Item(2, "Read Beside It", size_text(found.read_bytes))
    if found.stale_bytes:
        yield _Item(2, "Stale, Left Out", size_text(found.stale_bytes))


def _l1(usage: DeviceUsage) -> Iterator[_Item]:
    yield _Item(1, "Fullest Core")
    yield _Item(2, "Total", size_text(usage.core_bytes))
    yield _Item(2, "Used", size_text(usage.fullest_core_bytes) + _share(usage.fullest_core_share))
    core = usage.fullest_core
    yield _Item(2, "Core", f"{core[0]}-{core[1]}" if core else UNKNOWN)
    yield _Item(2, "Planned", size_text(usage.planned_core_bytes))
    yield _Item(2, "Headroom", signed_text(usage.headroom_bytes))
    yield _Item(1, "Kernel Ring, All Cores", size_text(usage.kernel_ring_bytes))
    found = {pool.pool: pool for pool in usage.pools}
    for pool in _L1_POOLS:
        if pool in found or pool is Pool.L1:
            yield _Item(1, f"{pool.word.upper()} Buffers")
            yield from _pool(usage, pool, found.get(pool))
    yield from _programs(usage)


def _programs(usage: DeviceUsage) -> Iterator[_Item]:
    footprint = usage.activity.footprint
    sampled = next((pool.used_bytes for pool in usage.pools if pool.pool is Pool.CB and pool.is_read), None)
    yield _Item(1, "Circular Buffers")
    if footprint is None and sampled is not None:
        yield _Item(2, "Sampled", size_text(sampled))
    is_none = usage.launch_count is not None and not usage.doubt and all(one.pool is not Pool.CB for one in usage.pools)
    without = 0 if is_none else None
    yield _Item(2, "Planned", size_text(footprint.planned_bytes if footprint else without))
    yield _Item(2, "Resident", size_text(footprint.resident_bytes if footprint else without))
    yield _Item(1, "Kernels (planned: programs share the ring)")
    found = {kernel.kind: kernel for kernel in usage.kernels}
    for kind in (*_KERNELS, *(kind for kind in found if kind not in _KERNELS)):
        kernel = found.get(kind, KindUsage(kind, 0, 0, is_estimated=False))
        mark = "~" if kernel.is_estimated else ""
        text = f"{mark}{size_text(kernel.used_bytes)} ({kernel.count:,})"
        yield _Item(2, kind.kernel_word.capitalize(), UNKNOWN if usage.launch_count is None else text)
    yield _Item(2, "Launches", count_text(usage.launch_count))


def _processes(usage: DeviceUsage, processes: Sequence[ProcessUsage]) -> Iterator[_Item]:
    holders = [
        (process, held)
        for process in processes
        for held in process.devices
        if held.device.number == usage.device.number
    ]
    yield _Item(1, "Processes", None if holders else "None")
    for process, held in holders:
        yield _Item(2, "Process ID", pid_text(process.pid, is_visible=process.is_visible))
        yield _Item(3, "User", process.user)
        yield _Item(3, "Name", process.label)
        yield _Item(3, "State", process.state)
        yield _Item(3, "Figures Are", process.origin + (f" ({process.reason})" if process.reason else ""))
        for pool in [Pool.DRAM, *(one.pool for one in held.pools if one.pool is not Pool.DRAM)]:
            yield _Item(3, f"Used {pool.word.upper()}", size_text(held_bytes(process, held, pool)))
        for one in held.shown_pools:
            for total, size_bytes in one.totals:
                if size_bytes is not None:
                    yield _Item(3, f"{total.word.capitalize()} {one.pool.word.upper()}", size_text(size_bytes))


def _share(fraction: float | None) -> str:
    return "" if fraction is None else f" ({share_text(fraction)})"
