"""Tables about programs, for `ttmem ps --kernels`: kernels by core type, circular buffers per core, the kernel ring and
why launches waited for it, what came of asking the caches, and the programs that were launched most.
"""

from collections.abc import Iterator, Sequence
from functools import partial

from ttmem.devices import BinaryStatus, Cache, CoreType
from ttmem.snapshot import CacheUsage, CoreUsage, ProcessUsage, Program, RingUsage
from ttmem.view.device_tables import Group, device_title
from ttmem.view.table import Cell, Column, Line, Role, Span, broken, cell, clean, clipped, table
from ttmem.view.texts import UNKNOWN, count_text, devices_word, pid_text, share_text, size_text

__all__ = ["cache_table", "core_table", "footprint_table", "program_table", "ring_table"]

_MOST_PROGRAMS = 20
_OPERATION_MOST = 28
_WIDE = 100  # from here on there is room for the columns that matter less
_RARE = ("BYPASS", "EMPTIED")
_CORES = (CoreType.TENSIX, CoreType.ACTIVE_ETH, CoreType.IDLE_ETH, CoreType.DRAM, CoreType.UNKNOWN)


def core_table(groups: Sequence[Group], *, width: int | None) -> list[Line]:
    """Device x core type: bytes of kernels on all cores of that type, and how many kernels."""
    found = {usage.core_type for group in groups for usage in group[0].activity.cores}
    types = [core for core in _CORES if core in found]
    if not types:
        return []
    columns = [Column("KERNELS ON", least=13), *(Column(core.word.upper(), is_right=True, least=13) for core in types)]
    rows: list[list[Cell]] = []
    for group in groups:
        by_type = {usage.core_type: usage for usage in group[0].activity.cores}
        if by_type:
            rows.append([_title(group), *(_core_cell(by_type.get(core)) for core in types)])
    return table(columns, rows, width=width)


def footprint_table(groups: Sequence[Group], *, width: int | None) -> list[Line]:
    """Device: L1 that circular buffers take, of all cores and of the fullest one."""
    columns = [
        Column("CIRCULAR BUFFERS", least=13),
        *(Column(title, is_right=True, least=10) for title in ("RESIDENT", "PLANNED", "FULLEST CORE", "ITS PLAN")),
    ]
    rows: list[list[Cell]] = []
    for group in groups:
        footprint = group[0].activity.footprint
        if footprint is None:
            continue
        mark = "~" if footprint.is_estimated else ""
        sizes = (
            footprint.resident_bytes,
            footprint.planned_bytes,
            footprint.worst_resident_bytes,
            footprint.worst_planned_bytes,
        )
        rows.append([_title(group), *(_size(size, mark) for size in sizes)])
    return table(columns, rows, width=width) if rows else []


def ring_table(groups: Sequence[Group], *, width: int | None) -> list[Line]:
    """Device x core type: what each core's kernel ring holds, and why launches waited."""
    columns = [
        Column("KERNEL RING", least=13),
        Column("CORES", least=8),
        *(Column(title, is_right=True, least=8) for title in ("LIVE", "RETIRED", "FREE", "ENTRIES", "LAUNCHES")),
    ]
    shown = [group for group in groups if group[0].activity.rings]
    rows: list[list[Cell]] = []
    for group in shown:
        rings = group[0].activity.rings
        for ring in rings:
            rows.append([_title(group) if ring is rings[0] else (), *_ring_cells(ring)])
    if not rows:
        return []
    head, *body = table(columns, rows, width=width)
    lines = [head]
    for group in shown:
        count = len(group[0].activity.rings)
        lines += body[:count]
        body = body[count:]
        lines += _stall_lines(group, width)
    return lines


def _stall_lines(group: Group, width: int | None) -> Iterator[Line]:
    """Why launches waited for the ring, below it."""
    stalls = ", ".join(f"{reason.word} {count_text(count)}" for reason, count in group[0].activity.stalls)
    for part in broken(f"launches waited: {stalls}", width and max(1, width - 4)) if stalls else ():
        yield (Span(f"   {part}", Role.DIM),)


def cache_table(groups: Sequence[Group], *, width: int | None) -> list[Line]:
    """Device x cache: hits, misses and what is held."""
    titles = ("HITS", "MISSES", "RATE", "EVICTED", *_RARE, "ENTRIES", "HELD", "TWICE")
    columns = [
        Column("CACHES", least=13),
        Column("", least=10),
        *(Column(title, is_right=True, least=5, wide_from=_WIDE if title in _RARE else 0) for title in titles),
    ]
    rows: list[list[Cell]] = []
    for group in groups:
        for usage in group[0].activity.caches:
            title = _title(group) if usage is group[0].activity.caches[0] else ()
            rows.append([title, cell(usage.cache.word), *_cache_cells(usage)])
    return table(columns, rows, width=width, gap=1) if rows else []


def program_table(processes: Sequence[ProcessUsage], *, width: int | None, is_ascii: bool) -> list[Line]:
    """The programs that were launched most: what became of their binaries, and where those are."""
    programs = sorted(_programs(processes), key=lambda found: -found[1].launch_count)
    shown = programs[:_MOST_PROGRAMS]
    has_operations = any(program.operation for _, program, _ in shown)
    columns = [
        Column("PROGRAM", is_right=True),
        Column("PID", is_right=True),
        Column("DEVICES", least=8),
        Column("BINARIES", least=9),
        Column("IN DRAM", is_right=True, least=8),
        Column("LAUNCHES", is_right=True),
        *([Column("OPERATION")] if has_operations else []),
        Column("LABEL", least=8, most=40),
    ]
    rows: list[list[Cell]] = [
        [
            cell(UNKNOWN if program.program is None else str(program.program)),
            cell(pid_text(process.pid, is_visible=process.is_visible)),
            cell(devices_word(chip.device for chip in chips)),
            _status_cell(program.status),
            cell(size_text(program.dram_bytes)),
            cell(count_text(program.launch_count)),
            *([cell(_operation(program, is_ascii))] if has_operations else []),
            partial(_label, clean(process.label), is_ascii),
        ]
        for process, program, chips in shown
    ]
    if not rows:
        return []
    lines = table(columns, rows, width=width)
    if len(programs) > _MOST_PROGRAMS:
        lines.append((Span(f" ... and {len(programs) - _MOST_PROGRAMS:,} more programs (all in --json)", Role.DIM),))
    return lines


def _operation(program: Program, is_ascii: bool) -> str:
    return clipped(clean(program.operation), _OPERATION_MOST, is_ascii=is_ascii)


def _programs(processes: Sequence[ProcessUsage]) -> Iterator[tuple[ProcessUsage, Program, list[Program]]]:
    """Each program once, with its rows on all chips."""
    for process in processes:
        by_number: dict[tuple[int | None, int, BinaryStatus], list[Program]] = {}
        for program in process.programs:
            by_number.setdefault((program.program, program.launch_count, program.status), []).append(program)
        for chips in by_number.values():
            yield process, chips[0], chips


def _title(group: Group) -> Line:
    return device_title([usage.device for usage in group])


def _label(text: str, is_ascii: bool, width: int) -> Line:
    return cell(clipped(text, width, is_ascii=is_ascii), Role.DIM)


def _core_cell(usage: CoreUsage | None) -> Line:
    if usage is None:
        return cell("none", Role.DIM)
    mark = "~" if usage.is_estimated else ""
    return (Span(f"{mark}{size_text(usage.used_bytes)} "), Span(f"({usage.count:,})", Role.DIM))


def _size(size_bytes: int | None, mark: str = "") -> Line:
    text = size_text(size_bytes)
    return cell(text, Role.DIM) if text == UNKNOWN else cell(mark + text)


def _ring_cells(ring: RingUsage) -> list[Line]:
    return [
        cell(ring.core_type.word),
        cell(size_text(ring.live_bytes)),
        cell(size_text(ring.retired_bytes)),
        _size(ring.free_bytes),
        cell(count_text(ring.entry_count)),
        cell(count_text(ring.launch_count)),
    ]


def _cache_cells(usage: CacheUsage) -> list[Line]:
    counts = (usage.evicted_count, usage.bypassed_count, usage.emptied_count, usage.entry_count)
    is_counted_apart = usage.cache is Cache.IMAGE
    mark = "~" if usage.cache.is_estimate else ""
    return [
        cell(mark + count_text(usage.hit_count)),
        cell(mark + count_text(usage.miss_count)),
        cell(share_text(usage.hit_fraction) if usage.hit_fraction is None else mark + share_text(usage.hit_fraction)),
        *(cell(count_text(count)) for count in counts),
        cell(size_text(usage.held_bytes)),
        cell(size_text(usage.shared_bytes)) if is_counted_apart else cell("", Role.DIM),
    ]


def _status_cell(status: BinaryStatus) -> Line:
    return cell(status.word.replace("_", " "), Role.GOOD if status is BinaryStatus.COMMITTED else Role.NOTICE)
