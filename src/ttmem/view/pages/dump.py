"""The page of `ttmem dump`: how much of every type is alive on every device, then the single allocations.

Where room is scarce, chips on which exactly the same is alive (a mesh) share their lists.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from ttmem.devices import POOL_TOTALS, BufferLayout, CoreType, Kind, PoolTotal
from ttmem.snapshot.dump import Dump, DumpDevice, DumpedAllocation, DumpGroup
from ttmem.tracking import FoundBy
from ttmem.view.device_tables import device_title
from ttmem.view.incidents.lines import incident_list
from ttmem.view.page import PageOptions
from ttmem.view.pages.ps import source_line
from ttmem.view.table import Cell, Column, Line, Role, Span, cell, clean, clipped, table, width_of, wrapped
from ttmem.view.texts import (
    age_text,
    clock_text,
    count_text,
    no_lines_text,
    packed_text,
    pid_text,
    plural,
    process_text,
    reason_text,
    size_text,
    stack_text,
    what_text,
)

__all__ = ["dump_page"]

_LABEL_LEAST, _LABEL_MOST = 10, 40
_NAME_LEAST, _NAME_MOST = 18, 36
_WIDE = 112  # from here on there is room for the columns that matter less
_LINE_MOST = 120
_SUMMED = {"site": "line", "phase": "phase", "operation": "operation"}
_UNKNOWN_SUMS = {"site": "line not known", "phase": "no phase is open", "operation": "operation not known"}
_WHAT_LEAST, _WHAT_MOST = 24, 48
_NATURAL = {Kind.BUFFER, Kind.CIRCULAR_BUFFER}  # kinds that the type of their group already tells

Group = tuple[DumpDevice, ...]  # devices that are shown as one


def dump_page(dump: Dump, options: PageOptions) -> list[Line]:
    """All lines, top to bottom."""
    groups = _alike(dump.devices) if options.width else [(device,) for device in dump.devices]
    blocks: list[list[Line]] = [_heading(dump, options), _incidents(dump, options)]
    if groups:
        blocks.append(_totals(groups, options.width))
    for devices in groups:
        for group in devices[0].groups:
            blocks.append(_list(devices, group, dump, options))
    blocks.append(wrapped(_doubts(dump), Role.HIGH, "! ", options.width))
    blocks.append(wrapped([*_no_lines(dump), *_notes(dump, groups)], Role.DIM, "", options.width))
    lines: list[Line] = []
    for block in filter(None, blocks):
        lines += [(), *block] if lines else block
    return lines


def _alike(devices: Sequence[DumpDevice]) -> list[Group]:
    groups: dict[object, list[DumpDevice]] = {}
    for found in devices:
        device = found.device
        what = (device.is_server_chip, device.board, found.groups) if device.index is not None else device
        groups.setdefault(what, []).append(found)
    return [tuple(group) for group in groups.values()]


def _heading(dump: Dump, options: PageOptions) -> list[Line]:
    dot = " | " if options.is_ascii else " · "
    what = "kernel" if dump.is_kernels_only else "allocation"
    alive = f"{plural(dump.count, what, 's')} on {plural(len(dump.devices), 'device', 's')}"
    state = Span("complete", Role.GOOD) if not dump.unlisted else Span("lists are not whole", Role.HIGH)
    title: list[Span] = [Span(" ttmem dump", Role.TITLE), Span(f"  {alive}{dot}"), state]
    title.append(Span(f"{dot}{clock_text(dump.time_ns)}", Role.DIM))
    if not dump.devices:
        title[1] = Span(f"  nothing is alive{'' if not dump.is_kernels_only else ' among kernels'}{dot}")
    return [tuple(title), source_line(dump.source, dump.places, options)]


def _totals(groups: Sequence[Group], width: int | None) -> list[Line]:
    columns = [
        Column("DEVICE", least=13),
        Column("TYPE", least=18),
        Column("ALIVE", is_right=True, least=9),
        Column("BYTES", is_right=True, least=9),
    ]
    has_resident = any(group.resident_bytes is not None for devices in groups for group in devices[0].groups)
    columns += [*([Column("RESIDENT", is_right=True)] if has_resident else [])]
    found = [group for devices in groups for group in devices[0].groups]
    known = [total for total in POOL_TOTALS if any(getattr(group, total.field) is not None for group in found)]
    columns += [*(Column(total.word.upper(), is_right=True) for total in known), Column("")]
    rows: list[list[Cell]] = []
    for devices in groups:
        for group in devices[0].groups:
            is_first = group is devices[0].groups[0]
            title = device_title([found.device for found in devices]) if is_first else ()
            resident = () if group.resident_bytes is None else cell(size_text(group.resident_bytes))
            mark = cell("planned", Role.DIM) if group.is_planned else ()
            figures = (
                cell(count_text(group.count)),
                cell(("~" if group.is_estimated else "") + size_text(group.used_bytes)),
            )
            rows.append(
                [
                    title,
                    cell(_type_word(group)),
                    *figures,
                    *([resident] if has_resident else []),
                    *_grown(group, known),
                    mark,
                ]
            )
    return table(columns, rows, width=width)


def _grown(group: DumpGroup, totals: Sequence[PoolTotal]) -> list[Cell]:
    """What only ever grows, of the processes that are alive."""
    sizes = [getattr(group, total.field) for total in totals]
    return [() if size_bytes is None else cell(size_text(size_bytes)) for size_bytes in sizes]


def _type_word(group: DumpGroup) -> str:
    return f"{clean(group.type)} kernels" if group.is_kernel else clean(group.type)


def _incidents(dump: Dump, options: PageOptions) -> list[Line]:
    """A line for each incident, as in `ttmem ps`."""
    refused = [note for note in dump.process_notes if note.was_refused]
    if not refused:
        return []
    devices = [device for note in refused for device in note.devices]
    told = [(note, note.is_ended) for note in refused]
    lines, notes = incident_list(told, devices, dump.time_ns, options)
    return lines + wrapped(notes, Role.DIM, "", options.width)


def _list(devices: Group, group: DumpGroup, dump: Dump, options: PageOptions) -> list[Line]:
    """One device and type: its single allocations or their sums, and how many are not listed."""
    title = (Span(" "), *device_title([found.device for found in devices]), Span(f" {_type_word(group)}", Role.TITLE))
    lines: list[Line] = [title]
    if group.sums:
        lines += _sum_table(group, dump.by, options)
    if group.allocations:
        lines += _allocation_table(group, dump.time_ns, options)
    if group.more_count:
        size = "" if group.more_bytes is None else f", {size_text(group.more_bytes)}"
        more = f"{count_text(group.more_count)} more{size}"
        others = f", of {plural(group.more_sum_count, _SUMMED[dump.by], 's')}" if group.more_sum_count else ""
        lines.append((Span(" " * 3), Span(f"... {more}{others} (--all)", Role.DIM)))
    return lines


def _sum_table(group: DumpGroup, by: str, options: PageOptions) -> list[Line]:
    columns = [
        Column("SIZE", is_right=True, least=10),
        Column("ALIVE", is_right=True),
        Column(by.upper().replace("SITE", "MADE BY"), least=_NAME_LEAST, most=_LINE_MOST),
    ]
    rows: list[list[Cell]] = []
    for one in group.sums:
        text = clean(one.name) or stack_text(one.stack, 2) or _UNKNOWN_SUMS[by]
        is_known = bool(one.name or one.stack)
        rows.append(
            [
                cell(("~" if group.is_estimated else "") + size_text(one.size_bytes)),
                cell(count_text(one.count)),
                partial(_name, text, Role.PLAIN if is_known else Role.DIM, options.is_ascii),
            ]
        )
    return table(columns, rows, width=options.width)


def _name(text: str, role: Role, is_ascii: bool, width: int) -> Line:
    return cell(clipped(text, width, is_ascii=is_ascii), role)


class _Part(NamedTuple):
    """A column that is only there if it has something to show."""

    column: Column
    is_there: bool
    cell_of: Callable[[DumpedAllocation], Cell]


def _allocation_table(group: DumpGroup, time_ns: int, options: PageOptions) -> list[Line]:
    is_narrow = not _has_room(options) and any(one.stack for one in group.allocations)  # then lines are worth more
    parts = [
        _Part(Column("SIZE", is_right=True, least=10), True, _size),
        _Part(Column("ID"), not is_narrow, lambda one: cell(hex(one.id))),
        *_details(group, options, is_narrow=is_narrow),
        *_owners(group, time_ns, options, is_narrow=is_narrow),
    ]
    shown = [part for part in parts if part.is_there]
    rows = [[part.cell_of(one) for part in shown] for one in group.allocations]
    return table([part.column for part in shown], rows, width=options.width)


def _has_room(options: PageOptions) -> bool:
    return options.width is None or options.width >= _WIDE


def _details(group: DumpGroup, options: PageOptions, *, is_narrow: bool) -> Iterator[_Part]:
    """What only some allocations have: a place, a program, a name, several holders."""
    listed, is_ascii = group.allocations, options.is_ascii
    has_room = _has_room(options)
    name_most = _NAME_MOST if has_room else _NAME_LEAST
    has_what = not group.is_kernel and (
        any(one.tensor or one.kind not in _NATURAL for one in listed)
        or (has_room and any(one.layout is not BufferLayout.UNKNOWN for one in listed))
    )
    has_program = has_room and any(one.program is not None and one.kind is not Kind.PROGRAM_BINARY for one in listed)
    has_found = has_room and any(one.found_by is not FoundBy.UNKNOWN for one in listed)
    has_address = not is_narrow and any(one.address not in (None, one.id) for one in listed)

    def text_cell(text_of: Callable[[DumpedAllocation], str], most: int) -> Callable[[DumpedAllocation], Cell]:
        if options.width is None:
            return lambda one: cell(clean(text_of(one)))
        return lambda one: cell(clipped(clean(text_of(one)), most, is_ascii=is_ascii))

    yield _Part(Column("ADDRESS"), has_address, _address)
    yield _Part(Column("WHAT"), has_what, text_cell(what_text, _WHAT_MOST if has_room else _WHAT_LEAST))
    has_page = has_room and any(map(_page_text, listed))
    yield _Part(Column("PAGE", is_right=True), has_page, lambda one: cell(_page_text(one)))
    yield _Part(
        Column("PROGRAM", is_right=True), has_program, lambda one: cell("" if one.program is None else str(one.program))
    )
    yield _Part(Column("KERNEL"), any(one.name for one in listed), text_cell(lambda one: one.name, name_most))
    yield _Part(Column("CORES"), has_found, lambda one: cell(_cores_text(one)))
    yield _Part(
        Column("CORES"),
        any(one.parts for one in listed),
        lambda one: cell(_clipped_parts(one, options)),
    )
    has_packed = has_room and any(one.packed_bytes for one in listed)
    yield _Part(Column("PACKED", is_right=True), has_packed, lambda one: cell(packed_text(one.packed_bytes)))
    yield _Part(Column("FOUND BY"), has_found, lambda one: cell(one.found_by.word, Role.DIM))
    has_operation = has_room and any(one.operation for one in listed)
    yield _Part(Column("OPERATION"), has_operation, text_cell(lambda one: one.operation, _NAME_LEAST + 6))
    has_stack = any(one.stack for one in listed)
    yield _Part(Column("ASKED BY"), has_stack, text_cell(lambda one: stack_text(one.stack, 1), name_most + 6))
    has_holders = any(one.holder_count > 1 for one in listed)
    yield _Part(Column("HOLDERS", is_right=True), has_holders, lambda one: cell(count_text(one.holder_count)))


def _owners(group: DumpGroup, time_ns: int, options: PageOptions, *, is_narrow: bool) -> Iterator[_Part]:
    """How old it is, and whose."""
    is_ascii, is_free = options.is_ascii, options.width is None
    longest = max(width_of(clean(one.owner.label)) for one in group.allocations)
    label = Column("LABEL", least=min(longest, _LABEL_LEAST), most=longest if is_free else _LABEL_MOST)
    yield _Part(Column("AGE", is_right=True, least=6), True, lambda one: cell(_age(one, time_ns), Role.DIM))
    yield _Part(Column("PID", is_right=True), True, lambda one: cell(_pid(one)))
    has_threads = _has_room(options) and _has_threads(group)
    yield _Part(Column("THREAD", is_right=True), has_threads, lambda one: cell(_thread_text(one)))
    yield _Part(Column("USER", least=0 if is_free else 6), not is_narrow, lambda one: cell(_user(one, options)))
    yield _Part(label, not is_narrow, lambda one: partial(_label, clean(one.owner.label), is_ascii))


def _has_threads(group: DumpGroup) -> bool:
    """Whether some process made what is listed on several threads."""
    makers = {(one.owner.pid, one.thread) for one in group.allocations if one.thread is not None}
    return len(makers) > len({pid for pid, _ in makers})


def _thread_text(one: DumpedAllocation) -> str:
    return "" if one.thread is None else str(one.thread)


def _address(one: DumpedAllocation) -> Line:
    return cell("" if one.address is None else hex(one.address))


def _page_text(one: DumpedAllocation) -> str:
    return "" if one.page_bytes is None else size_text(one.page_bytes)


def _age(one: DumpedAllocation, time_ns: int) -> str:
    return age_text(None if one.time_ns is None else time_ns - one.time_ns)


def _pid(one: DumpedAllocation) -> str:
    return pid_text(one.owner.pid, is_visible=one.owner.is_visible)


def _user(one: DumpedAllocation, options: PageOptions) -> str:
    user = clean(one.owner.user)
    return clipped(user, 12, is_ascii=options.is_ascii) if options.width else user


def _cores_text(one: DumpedAllocation) -> str:
    return (
        f"{one.core_count or '?'} {one.core_type.word}"
        if one.core_type is not CoreType.UNKNOWN
        else str(one.core_count or "")
    )


def _parts_text(one: DumpedAllocation) -> str:
    """Of a buffer that is allocated by core: what each core gives, and which they are; where, if not at its address."""
    if not one.parts:
        return ""
    sets = (
        (part.core_set or "?") + ("" if part.address == one.address else f" at {hex(part.address)}")
        for part in one.parts
    )
    return f"{one.core_count or '?'} x {size_text(one.per_core_bytes or 0)}: {'; '.join(sets)}"


def _clipped_parts(one: DumpedAllocation, options: PageOptions) -> str:
    text = clean(_parts_text(one))
    return text if options.width is None else clipped(text, _NAME_LEAST, is_ascii=options.is_ascii)


def _size(one: DumpedAllocation) -> Line:
    if one.is_view:
        return cell("view", Role.DIM)
    return cell(("~" if one.is_estimated else "") + size_text(one.size_bytes))


def _label(text: str, is_ascii: bool, width: int) -> Line:
    return cell(clipped(text, width, is_ascii=is_ascii))


def _doubts(dump: Dump) -> Iterator[str]:
    for one in dump.unlisted:
        yield f"{process_text(one.owner.pid, clean(one.owner.label))}: {reason_text(one.reason)}"
    yield from map(clean, dump.notes)


def _no_lines(dump: Dump) -> Iterator[str]:
    """Why lines are not known, where they would stand."""
    for note in dump.process_notes:
        if note.sites_off and not note.is_ended and not dump.is_kernels_only:
            yield f"{process_text(note.pid, clean(note.label))}: {no_lines_text(note.sites_off)}"


def _notes(dump: Dump, groups: Sequence[Group]) -> Iterator[str]:
    found = [group for device in dump.devices for group in device.groups]
    listed = [one for group in found for one in group.allocations]
    if any(len(devices) > 1 for devices in groups):
        yield "What stands under several devices is alive on each of them."
    if any(group.is_planned for group in found):
        yield "planned: of all loaded programs, which share that memory; resident: of those that ran last."
    if any(one.is_view for one in listed):
        yield "view: memory of another allocation, charged there."
    if any(group.is_estimated for group in found) or any(one.is_estimated for one in listed):
        yield "~ kernels of unknown exact size are counted as binary size x cores."
    if dump.by == "phase" and any(one.name for group in found for one in group.sums):
        yield "Only phases that are open now are listed: what is older stands under `before`."
    if any(one.holder_count > 1 for one in listed):
        yield "HOLDERS: how often it was allocated at the same place; it counts once, until all have freed it."
