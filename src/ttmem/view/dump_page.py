"""The page of `ttmem dump`: how much of every type is alive on every device, then the single allocations.

Where room is scarce, chips on which exactly the same is alive (a mesh) share their lists.
"""

from collections.abc import Iterator, Sequence
from functools import partial

from ttmem.devices import Kind
from ttmem.snapshot import Allocation, Dump, DumpDevice, DumpGroup
from ttmem.view.device_tables import device_title
from ttmem.view.grid import Cell, Column, cell, grid
from ttmem.view.page import PageOptions, plural, source_line, wrapped
from ttmem.view.spans import Line, Role, Span, clean, clipped, width_of
from ttmem.view.units import age_text, clock_text, count_text, size_text
from ttmem.view.words import reason_text

__all__ = ["dump_page"]

_LABEL_LEAST, _LABEL_MOST = 10, 40
_NAME_LEAST, _NAME_MOST = 18, 36
_WIDE = 112  # from here on there is room for the columns that matter less
_NATURAL = {Kind.BUFFER, Kind.CIRCULAR_BUFFER}  # kinds that the type of their group already tells

Group = tuple[DumpDevice, ...]  # devices that are shown as one


def dump_page(dump: Dump, options: PageOptions) -> list[Line]:
    """All lines, top to bottom."""
    groups = _alike(dump.devices) if options.width else [(device,) for device in dump.devices]
    blocks: list[list[Line]] = [_heading(dump, options)]
    if groups:
        blocks.append(_totals(groups, options.width))
    for devices in groups:
        for group in devices[0].groups:
            blocks.append(_list(devices, group, dump.time_ns, options))
    blocks.append(wrapped(_doubts(dump), Role.HIGH, "! ", options))
    blocks.append(wrapped(_notes(dump, groups), Role.DIM, "", options))
    lines: list[Line] = []
    for block in filter(None, blocks):
        lines += [(), *block] if lines else block
    return lines


def _alike(devices: Sequence[DumpDevice]) -> list[Group]:
    groups: dict[object, list[DumpDevice]] = {}
    for found in devices:
        device = found.device
        what = (device.is_seed, device.board, found.groups) if device.index is not None else device
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
        Column(""),
    ]
    rows: list[list[Cell]] = []
    for devices in groups:
        for group in devices[0].groups:
            is_first = group is devices[0].groups[0]
            title = device_title([found.device for found in devices]) if is_first else ()
            mark = cell("planned", Role.DIM) if group.is_planned else ()
            figures = (
                cell(count_text(group.count)),
                cell(("~" if group.is_estimated else "") + size_text(group.used_bytes)),
            )
            rows.append([title, cell(_type_word(group)), *figures, mark])
    return grid(columns, rows, width=width)


def _type_word(group: DumpGroup) -> str:
    return f"{clean(group.type)} kernels" if group.is_kernel else clean(group.type)


def _list(devices: Group, group: DumpGroup, time_ns: int, options: PageOptions) -> list[Line]:
    """One device and type: its single allocations, and how many are not listed."""
    title = (Span(" "), *device_title([found.device for found in devices]), Span(f" {_type_word(group)}", Role.TITLE))
    lines: list[Line] = [title]
    if group.allocations:
        lines += _allocation_table(group, time_ns, options)
    if group.more_count:
        more = f"{count_text(group.more_count)} more, {size_text(group.more_bytes)}"
        lines.append((Span(" " * 3), Span(f"... {more} (--all)", Role.DIM)))
    return lines


def _allocation_table(group: DumpGroup, time_ns: int, options: PageOptions) -> list[Line]:
    listed = group.allocations
    has_address = any(one.address not in (None, one.id) for one in listed)
    has_holders = any(one.holder_count > 1 for one in listed)
    has_name = any(one.name for one in listed)
    has_room = options.width is None or options.width >= _WIDE
    has_found = has_room and any(one.found_by for one in listed)
    has_program = has_room and any(one.program and one.kind is not Kind.PROGRAM_BINARY for one in listed)
    has_kind = any(one.kind not in _NATURAL and not group.is_kernel for one in listed)
    label = max(width_of(clean(one.owner.label)) for one in listed)
    columns = [
        Column("SIZE", is_right=True, least=10),
        Column("ID"),
        *([Column("ADDRESS")] if has_address else []),
        *([Column("KIND")] if has_kind else []),
        *([Column("PROGRAM", is_right=True)] if has_program else []),
        *([Column("KERNEL")] if has_name else []),
        *([Column("CORES")] if has_found else []),
        *([Column("FOUND BY")] if has_found else []),
        *([Column("HOLDERS", is_right=True)] if has_holders else []),
        Column("AGE", is_right=True, least=6),
        Column("PID", is_right=True),
        Column("USER", least=0 if options.width is None else 6),
        Column("LABEL", least=min(label, _LABEL_LEAST), most=label if options.width is None else _LABEL_MOST),
    ]
    rows = []
    for one in listed:
        owner = one.owner
        row: list[Cell] = [_size(one), cell(hex(one.id))]
        if has_address:
            row.append(cell("" if one.address is None else hex(one.address)))
        if has_kind:
            row.append(cell("" if one.kind in _NATURAL else one.kind.word, Role.DIM))
        if has_program:
            row.append(cell("" if one.program is None else str(one.program)))
        if has_name:
            row.append(cell(clipped(clean(one.name), _NAME_MOST if has_room else _NAME_LEAST, is_ascii=options.is_ascii)))
        if has_found:
            row += [cell(_cores_text(one)), cell(one.found_by.word, Role.DIM)]
        if has_holders:
            row.append(cell(count_text(one.holder_count)))
        row += [
            cell(age_text(None if one.time_ns is None else time_ns - one.time_ns), Role.DIM),
            cell(str(owner.pid) if owner.is_visible else f"{owner.pid}?"),
            cell(clipped(clean(owner.user), 12, is_ascii=options.is_ascii) if options.width else clean(owner.user)),
            partial(_label, clean(owner.label), options.is_ascii),
        ]
        rows.append(row)
    return grid(columns, rows, width=options.width)


def _cores_text(one: Allocation) -> str:
    return f"{one.core_count or '?'} {one.core_type.word}" if one.core_type else str(one.core_count or "")


def _size(one: Allocation) -> Line:
    if one.is_view:
        return cell("view", Role.DIM)
    return cell(("~" if one.is_estimated else "") + size_text(one.size_bytes))


def _label(text: str, is_ascii: bool, width: int) -> Line:
    return cell(clipped(text, width, is_ascii=is_ascii))


def _doubts(dump: Dump) -> Iterator[str]:
    for owner, reason in dump.unlisted:
        yield f"pid {owner.pid} {clean(owner.label)}: {reason_text(reason)}"
    yield from map(clean, dump.notes)


def _notes(dump: Dump, groups: Sequence[Group]) -> Iterator[str]:
    found = [group for device in dump.devices for group in device.groups]
    listed = [one for group in found for one in group.allocations]
    if any(len(devices) > 1 for devices in groups):
        yield "What stands under several devices is alive on each of them."
    if any(group.is_planned for group in found):
        yield "planned: what all loaded programs would take together; they share that memory."
    if any(one.is_view for one in listed):
        yield "view: memory of another allocation, charged there."
    if any(group.is_estimated for group in found) or any(one.is_estimated for one in listed):
        yield "~ kernels of unknown exact size are counted as binary size x cores."
    if any(one.holder_count > 1 for one in listed):
        yield "HOLDERS: how often it was allocated at the same place; it counts once, until all have freed it."
