"""What a finished run held at its highest, and what it left: the few lines `ttmem run` leaves behind.

Chips of a mesh on which a process held the same share a row; its figures are those of each.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

from ttmem.devices import POOL_TOTALS, Kind, Pool
from ttmem.snapshot import OutOfMemory, PoolUsage, ProcessDevice, ProcessUsage
from ttmem.snapshot.usage import kinds_shown
from ttmem.snapshot.values import ChipName, Device, replace
from ttmem.view.table import Column, Line, Role, Span, cell, clean, clipped, table
from ttmem.view.texts import clock_text, count_text, devices_word, label_text, share_text, size_text

_LABEL_MOST = 40  # the heading has the whole command
_Thing = TypeVar("_Thing")


def summary(processes: Sequence[ProcessUsage], devices: Sequence[Device] = ()) -> list[Line]:
    """Per process, chips and pool the peak, how much of the chip that is, and when that was; of every phase too; what
    is left; what was refused. `devices`: what is known of the chips."""
    lines = _peaks(processes, {device.number: device for device in devices})
    lines += _left(processes)
    lines += _living(processes)
    for process in processes:
        lines += _refusals(process)
    return lines


def _peaks(processes: Sequence[ProcessUsage], devices: Mapping[int, Device]) -> list[Line]:
    rows = []
    held = [usage for process in processes for one in process.devices for usage in one.pools]
    known = [total for total in POOL_TOTALS if any(getattr(usage, total.field) is not None for usage in held)]
    for process in processes:
        name = _name(process)
        for group in grouped(process.devices, _highest):
            for usage in group[0].shown_pools:
                if usage.pool is Pool.CB and not usage.used_bytes:
                    continue  # how high their union was is not watched
                where = _where(held.device for held in group)
                word, peak, *rest = _peak(usage, is_live=process.is_live)
                share = _share(usage.peak_bytes, usage.pool, devices.get(group[0].device.number))
                sizes = [getattr(usage, total.field) for total in known]
                totals = [() if size is None else cell(size_text(size)) for size in sizes]
                rows.append([_pid(process), name, where, word, peak, *totals, share, *rest])
        listed = sorted(
            (one for one in process.phases if one.pool is not Pool.CB), key=lambda phase: phase.time_ns or 0
        )
        for phases in grouped(listed, lambda phase: (phase.name, phase.pool, phase.peak_bytes, phase.run_count)):
            phase = phases[0]
            in_phase = cell(f"phase {clean(phase.name)}", Role.NOTICE)
            share = _share(phase.peak_bytes, phase.pool, devices.get(phase.device.number))
            figures = (
                cell(size_text(phase.peak_bytes)),
                *[() for _ in known],
                share,
                cell(clock_text(phase.time_ns), Role.DIM),
            )
            runs = cell(f"{count_text(phase.run_count)} run{'' if phase.run_count == 1 else 's'}", Role.DIM)
            where = _where(phase.device for phase in phases)
            rows.append([_pid(process), in_phase, where, cell(phase.pool.word), *figures, runs])
    columns = [*_WHO, Column("POOL"), Column("PEAK", is_right=True)]
    columns += [Column(total.word.upper(), is_right=True) for total in known]
    columns += [Column("OF A CHIP"), Column("AT"), Column("")]
    return table(columns, rows, width=None) if rows else []


def _left(processes: Sequence[ProcessUsage]) -> list[Line]:
    """By kind, what was not freed when the process ended; of programs, only if they have binaries in DRAM."""
    rows = []
    for process in processes:
        for group in grouped(process.devices, lambda held: held.kinds):
            for usage in kinds_shown(group[0].kinds):
                if usage.used_bytes or (usage.count and usage.kind is not Kind.PROGRAM_BINARY):
                    mark = "~" if usage.is_estimated else ""
                    size = () if usage.used_bytes is None else cell(mark + size_text(usage.used_bytes))
                    figures = cell(count_text(usage.count)), size
                    where = _where(held.device for held in group)
                    kind = cell(usage.kind.word.replace("_", " "))
                    rows.append([_pid(process), _name(process), where, kind, *figures])
    if not rows:
        return []
    columns = [*_WHO, Column("STILL ALIVE"), Column("COUNT", is_right=True), Column("SIZE", is_right=True)]
    return [(), *table(columns, rows, width=None)]


def _living(processes: Sequence[ProcessUsage]) -> list[Line]:
    """Those that outlived the program: what they hold now, they may free yet."""
    live = [process for process in processes if process.is_live]
    words = Span("still runs; its figures are those of now", Role.DIM)
    lines: list[Line] = [(Span(f" pid {process.pid} ({_label(process)}) "), words) for process in live]
    return [(), *lines] if lines else []


def _refusals(process: ProcessUsage) -> list[Line]:
    """How often memory ran out, and the last time, where no incident says so; a refusal on a mesh was one."""
    lines: list[Line] = []
    if process.incidents:
        return lines
    if process.refusal_count:
        newest = process.out_of_memory[-1:]
        last = [one for one in process.out_of_memory if replace(one, device=newest[0].device) == newest[0]]
        more = f"last {_refusal_text(last)}" if last else "what was asked for is not known any more"
        lines.append(_told(process, f"ran out of memory {_times(process.refusal_count)}", more))
    if process.clash_count:
        text = f"had circular buffers refused {_times(process.clash_count)}"
        lines.append(_told(process, text, "they met an L1 buffer"))
    return [(), *lines] if lines else []


def _told(process: ProcessUsage, what: str, more: str) -> Line:
    return (Span(f" pid {process.pid} ({_label(process)}) "), Span(what, Role.FULL), Span(f"; {more}", Role.DIM))


def _refusal_text(group: Sequence[OutOfMemory]) -> str:
    refused = group[0]
    free = f"free {size_text(refused.free_bytes)}, largest {size_text(refused.largest_free_bytes)}"
    where = f"device {devices_word(refused.device for refused in group)} {refused.pool.word}"
    return f"{where}: asked {size_text(refused.requested_bytes)}, {free}"


def grouped(things: Iterable[_Thing], what: Callable[[_Thing], Hashable]) -> list[list[_Thing]]:
    """Things of which the same can be said, together."""
    groups: dict[Hashable, list[_Thing]] = {}
    for thing in things:
        groups.setdefault(what(thing), []).append(thing)
    return list(groups.values())


def _highest(held: ProcessDevice) -> Hashable:
    return tuple((usage.pool, usage.peak_bytes, usage.used_bytes, usage.totals) for usage in held.shown_pools)


def _pid(process: ProcessUsage) -> Line:
    return cell(str(process.pid))


def _name(process: ProcessUsage) -> Line:
    return cell(_label(process))


def _label(process: ProcessUsage) -> str:
    return clipped(label_text(clean(process.label)), _LABEL_MOST, is_ascii=True)


def _share(peak_bytes: int, pool: Pool, device: Device | None) -> Line:
    """75% of 12.0 GiB; nothing where the capacity is not known, or not of one chip."""
    capacity = device.capacity(pool) if device else None
    return cell(f"{share_text(peak_bytes / capacity)} of {size_text(capacity)}", Role.DIM) if capacity else ()


def _where(devices: Iterable[ChipName]) -> Line:
    return cell(devices_word(devices), Role.INDEX)


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count_text(count)} times"


def _peak(usage: PoolUsage, *, is_live: bool) -> tuple[Line, ...]:
    left = f"{size_text(usage.used_bytes)} {'held now' if is_live else 'never freed'}" if usage.used_bytes else ""
    word, peak = cell(usage.pool.word), cell(size_text(usage.peak_bytes))
    if usage.pool is Pool.CB and not usage.is_read:
        return word, peak, (), cell(f"planned {'now' if is_live else 'at the end'}", Role.DIM)
    mark = "planned" if usage.is_planned else left
    return word, peak, cell(clock_text(usage.peak_time_ns), Role.DIM), cell(mark, Role.DIM)


_WHO = (Column("PID", is_right=True), Column("LABEL"), Column("DEV"))
