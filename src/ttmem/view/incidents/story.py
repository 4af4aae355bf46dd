"""The whole story of an incident, as `ttmem explain` shows it."""

from collections.abc import Iterable, Iterator, Sequence

from ttmem.analysis import AddressLine, Explanation, MemoryHolder
from ttmem.analysis.address_lines import is_of_sub_device
from ttmem.snapshot.incidents import HeldEntry
from ttmem.snapshot.values import ChipName
from ttmem.view.incidents.address_map import address_map, legend
from ttmem.view.incidents.block import floor_text, freeing_text, replay_rows
from ttmem.view.incidents.explained import ages_text, amount, asked_by, entry_line, holder_name, why_text
from ttmem.view.incidents.rows import labelled, titled
from ttmem.view.incidents.words import headline, incident_title, is_per_core_memory
from ttmem.view.page import PageOptions
from ttmem.view.table import Cell, Column, Line, Role, Span, cell, clean, clipped, fitted, table, width_of, wrapped
from ttmem.view.texts import count_text, plural, size_text

__all__ = ["incident_story"]

_MAP_WIDTH = 100  # where nobody says how wide a page is
_MOST_LISTED = 20
_NAME_LEAST, _NAME_MOST = 20, 60


def incident_story(
    explanation: Explanation, devices: Sequence[ChipName], options: PageOptions, *, most: int = _MOST_LISTED
) -> list[Line]:
    """All blocks of one incident, divided by blank lines. `most`: rows of each list; 0: all."""
    most = most or 1 << 30
    blocks = [
        _head(explanation, devices, options),
        _addresses(explanation, options),
        _to_free(explanation, options, most),
        _in_the_way(explanation, options, most),
        _holders("HELD BY LINE", explanation.holders, explanation, options, most),
        _holders("HELD BY KIND", explanation.by_kind, explanation, options, most),
        _holders("HELD BY PHASE", explanation.by_phase, explanation, options, most),
        _l1(explanation, options),
        _said(explanation, options),
        wrapped(explanation.notes, Role.HIGH, "! ", options.width),
    ]
    lines: list[Line] = []
    for block in filter(None, blocks):
        lines += [(), *block] if lines else block
    return [fitted(line, options.width) for line in lines] if options.width else lines


def _head(explanation: Explanation, devices: Sequence[ChipName], options: PageOptions) -> list[Line]:
    incident = explanation.incident
    lines = titled(incident_title(incident), headline(incident, devices), options.width)
    rows = []
    if explanation.replay is not None:
        rows += replay_rows(explanation.replay)
    else:
        rows.append(("asked by", asked_by(explanation), Role.PLAIN))
    rows += [("why", text, Role.TITLE) for text in why_text(explanation)]
    rows += [("phase", text, Role.PLAIN) for text in _phase(explanation)]
    return [*lines, *labelled(rows, options.width)]


def _phase(explanation: Explanation) -> Iterator[str]:
    share = explanation.phase_share
    if share is not None:
        inside, before = size_text(share.total_bytes_in_phase), size_text(share.total_bytes_before)
        unknown = f", {size_text(share.total_bytes_unknown)} not known when" if share.total_bytes_unknown else ""
        yield f"of what is held {inside} were allocated in phase {clean(share.phase)}, {before} before it{unknown}"


def _addresses(explanation: Explanation, options: PageOptions) -> list[Line]:
    lines: list[Line] = []
    is_refusal = explanation.clash is None
    asked_bytes = explanation.incident.requested_per_bank_bytes if is_refusal else None
    for line in explanation.lines:
        lines.append(
            (Span(f" {_line_title(line, explanation)}", Role.TITLE), Span(f"  {_line_figures(line)}", Role.DIM))
        )
        lines += address_map(
            line,
            asked_bytes,
            f"asked {size_text(asked_bytes)}",
            width=options.width or _MAP_WIDTH,
            is_ascii=options.is_ascii,
        )
    if explanation.lines:
        lines.append(legend(explanation.lines[0], is_ascii=options.is_ascii))
    return lines


def _line_title(line: AddressLine, explanation: Explanation) -> str:
    if line.cores is not None:
        who = "THE SUB-DEVICE ON " if is_of_sub_device(explanation.incident) else ""
        return f"ADDRESSES OF {who}CORES {line.cores}"
    return "ADDRESSES OF A CORE" if is_per_core_memory(explanation.incident) else "ADDRESSES OF A BANK"


def _line_figures(line: AddressLine) -> str:
    holes = plural(line.hole_count, "hole", "s")
    return f"{size_text(line.free_bytes)} free in {holes}, largest {size_text(line.largest_free_bytes)}"


def _to_free(explanation: Explanation, options: PageOptions, most: int) -> list[Line]:
    freeing = explanation.freeing
    if explanation.cause is None:
        return []
    if freeing is None:
        if explanation.cause == "room_seen" or explanation.incident.requested_per_bank_bytes is None:
            return []
        if not explanation.lines:
            return []
        text = "No set of buffers would open a large enough block: what lies in the way cannot be freed."
        if explanation.cause == "too_large":
            text = "Nothing that could be freed makes enough room."
        return [(Span(" TO MAKE ROOM", Role.TITLE),), *wrapped([text], Role.PLAIN, "", options.width)]
    lines: list[Line] = [(Span(" TO MAKE ROOM", Role.TITLE), Span("  the fewest buffers that must go", Role.DIM))]
    lines += _entries(freeing.entries[:most], explanation, options)
    if len(freeing.entries) > most:
        lines.append((Span(f"   ... {count_text(len(freeing.entries) - most)} more (--all)", Role.DIM),))
    proof = "." if freeing.is_least else "; there were too many combinations to try all, so fewer may do."
    lines += wrapped(
        [text.capitalize()[:1] + text[1:] + proof for text in freeing_text(explanation)], Role.GOOD, "", options.width
    )
    return lines


def _in_the_way(explanation: Explanation, options: PageOptions, most: int) -> list[Line]:
    clash = explanation.clash
    if clash is None:
        return []
    title = " IN THE WAY"
    if not clash.in_the_way:
        is_whole = explanation.incident.entry_count is not None and not explanation.incident.left_out_count
        text = (
            "No L1 buffer: the circular buffers alone reach beyond the end of L1."
            if is_whole
            else ("Which buffers those are was not kept.")
        )
        return [(Span(title, Role.TITLE),), *wrapped([text], Role.PLAIN, "", options.width)]
    words = f"  every buffer that begins below {hex(clash.end_address or 0)} on those cores; lowest first"
    lines: list[Line] = [(Span(title, Role.TITLE), Span(words, Role.DIM))]
    lines += _entries(clash.in_the_way[:most], explanation, options)
    if len(clash.in_the_way) > most:
        lines.append((Span(f"   ... {count_text(len(clash.in_the_way) - most)} more (--all)", Role.DIM),))
    text = f"All of them must go or move, or the circular buffers take {size_text(clash.missing_bytes)} less per core."
    lines += wrapped([text], Role.GOOD, "", options.width)
    return lines


def _entries(entries: Sequence[HeldEntry], explanation: Explanation, options: PageOptions) -> list[Line]:
    columns = [
        Column("SIZE", is_right=True, least=9),
        Column("ADDRESS"),
        _name_column("MADE BY", map(entry_line, entries), options),
        Column("PHASE"),
        Column("AGE", is_right=True),
    ]
    rows: list[list[Cell]] = []
    for entry in entries:
        size = amount(explanation, entry.per_bank_bytes, entry.reserved_bytes)
        place = "" if entry.address is None else hex(entry.address)
        age = ages_text(explanation, [entry.time_ns]).removesuffix(" old")
        text = entry_line(entry)
        rows.append(
            [
                cell(size),
                cell(place),
                _clipped(text, options),
                cell(clean(entry.phase or ""), Role.DIM),
                cell(age, Role.DIM),
            ]
        )
    return table(columns, rows, width=options.width)


def _name_column(title: str, names: Iterable[str], options: PageOptions) -> Column:
    """As wide as its names; on a terminal they may be cut."""
    longest = max(_NAME_LEAST, *map(width_of, names))
    return Column(title, least=_NAME_LEAST, most=min(_NAME_MOST, longest) if options.width else longest)


def _clipped(text: str, options: PageOptions) -> Cell:
    return lambda width: cell(text if options.width is None else clipped(text, width, is_ascii=options.is_ascii))


def _holders(
    title: str, holders: Sequence[MemoryHolder], explanation: Explanation, options: PageOptions, most: int
) -> list[Line]:
    if not holders:
        return []
    has_blocks = any(holder.block_if_freed_bytes is not None for holder in holders[:most])
    is_by_line = title.endswith("LINE")
    names = [holder_name(one) if is_by_line else clean(one.name or "not known") for one in holders[:most]]
    columns = [
        Column("SIZE", is_right=True, least=9),
        Column("COUNT", is_right=True),
        _name_column(title.partition(" BY ")[2], names, options),
        Column("AGE"),
        *([Column("BLOCK IF FREED", is_right=True)] if has_blocks else []),
    ]
    rows: list[list[Cell]] = []
    for holder, name in zip(holders, names, strict=False):
        ages = ages_text(explanation, (holder.oldest_time_ns, holder.newest_time_ns)).removesuffix(" old")
        block = holder.block_if_freed_bytes
        rows.append(
            [
                cell(amount(explanation, holder.size_bytes, holder.total_bytes)),
                cell(count_text(holder.count)),
                _clipped(name, options),
                cell(ages, Role.DIM),
                *([cell(amount(explanation, block) if block is not None else "")] if has_blocks else []),
            ]
        )
    each = (
        "  per core" if is_per_core_memory(explanation.incident) or explanation.clash is not None else "  in all banks"
    )
    lines: list[Line] = [
        (Span(f" {title}", Role.TITLE), Span(each, Role.DIM)),
        *table(columns, rows, width=options.width),
    ]
    if len(holders) > most:
        lines.append((Span(f"   ... {count_text(len(holders) - most)} more (--all)", Role.DIM),))
    return lines


def _l1(explanation: Explanation, options: PageOptions) -> list[Line]:
    floor = explanation.floor
    if floor is None:
        return []
    texts = [f"{text[:1].upper()}{text[1:]}." for text in floor_text(explanation)]
    if floor.headroom_bytes is not None:
        room = floor.headroom_bytes
        texts.append(
            f"Headroom between circular buffers and L1 buffers: {size_text(room)} per core."
            if room >= 0
            else f"Headroom is below 0: circular buffers need {size_text(-room)} per core more than there is."
        )
    if floor.refused:
        names = ", ".join("?" if need.program is None else str(need.program) for need in floor.refused[:8])
        texts.append(f"Would be refused now: {plural(len(floor.refused), 'program', 's')} ({names}).")
    return [(Span(" L1", Role.TITLE),), *wrapped(texts, Role.PLAIN, "", options.width)] if texts else []


def _said(explanation: Explanation, options: PageOptions) -> list[Line]:
    text = clean(explanation.incident.text.strip().replace("\n", " "))
    if not text:
        return []
    return [(Span(" THE RUNTIME SAID", Role.TITLE),), *wrapped([text], Role.DIM, "", options.width)]
