"""An explanation of one incident, from its head and the copy of what was alive then."""

from collections.abc import Iterable

import msgspec

from ttmem.analysis.address_lines import (
    AllocatorLines,
    entry_bytes,
    is_of_allocator,
    is_of_sub_device,
    layout_of,
    lockstep_banks,
    with_bank_figures,
)
from ttmem.analysis.explanation import AddressLine, After, Cause, Explanation, Freeing, ReplayDetails
from ttmem.analysis.fewest import Choice, fewest_on_all, holes
from ttmem.analysis.holders import by_kind, by_line, by_phase, phase_share, with_blocks
from ttmem.analysis.l1 import IN_L1, clash_line, clash_of, floor_of
from ttmem.devices import PLANNED_POOLS
from ttmem.snapshot.incidents import HeldEntry, Incident, IncidentCopy, incident_name

__all__ = ["after_of", "explain"]

_DIVIDED = "Figures of one bank are inferred from those of all banks."
_PLANNED = frozenset(pool.word for pool in PLANNED_POOLS)
_MOST_LINES = 8  # address lines at most: of the cores where least is free
_MOST_BLOCKS = 16  # holders of which is worked out what freeing them would open


def explain(copy: IncidentCopy, *, phase_run: int | None = None) -> Explanation:
    """Why it happened, who held what, and what would have helped. `phase_run`: how often its phase had run."""
    banks = lockstep_banks(copy)
    incident = with_bank_figures(copy.incident, banks)
    is_divided = incident is not copy.incident
    copy = msgspec.structs.replace(copy, incident=incident)
    own = [entry for entry in copy.entries if is_of_allocator(entry, incident)]
    is_refusal = incident.kind == "out_of_memory"
    layout = layout_of(copy) if is_refusal else None
    if incident.kind == "clash":
        own = [entry for entry in copy.entries if entry.memory == "l1"]
    needed = incident.requested_per_bank_bytes
    choice = _choice(layout, needed)
    clash = clash_of(copy) if incident.kind == "clash" else None
    line = None if clash is None else clash_line(copy, clash)
    is_in_l1 = incident.memory in IN_L1 or incident.kind == "clash"
    return Explanation(
        name=incident_name(copy.pid, incident),
        pid=copy.pid,
        incident=incident,
        after=after_of(incident),
        phase_run=phase_run,
        bank_count=banks,
        cause=_cause(incident, layout) if is_refusal else None,
        missing_bytes=_missing(incident, layout) if is_refusal else None,
        lines=(line,) if line is not None else _tightest(layout),
        freeing=_freeing(layout, choice, banks) if layout is not None and choice is not None else None,
        holders=with_blocks(by_line(own, banks), layout, _MOST_BLOCKS),
        by_kind=tuple(one.holder for one in by_kind(_held(copy.entries), banks)),
        by_phase=tuple(one.holder for one in by_phase(own, banks) if any(entry.phase for entry in own)),
        phase_share=phase_share(own, incident),
        floor=floor_of(copy) if is_in_l1 else None,
        clash=clash,
        replay=_replay(copy) if incident.kind == "unsafe_replay" else None,
        notes=(*([_DIVIDED] if is_divided else []), *_notes(copy, layout)),
    )


def after_of(incident: Incident) -> After:
    """What the program did after it."""
    if incident.operations_since == 0:
        return "last"
    if incident.launches_since is None:
        return "unknown"
    return "went_on" if incident.launches_since else "no_launch"


def _held(entries: Iterable[HeldEntry]) -> list[HeldEntry]:
    """Without circular buffers and kernels: programs share that memory, so their sum says nothing."""
    return [entry for entry in entries if entry.memory not in _PLANNED]


def _choice(layout: AllocatorLines | None, needed_bytes: int | None) -> Choice | None:
    """What to free; None if there is room already, or freeing everything would not do."""
    if layout is None or not needed_bytes:
        return None
    tight = [span for span in layout.spans if all(end - begin < needed_bytes for begin, end in holes(span))]
    return fewest_on_all(tight, needed_bytes, layout.total_bytes) if tight else None


def _freeing(layout: AllocatorLines, choice: Choice, banks: int | None) -> Freeing:
    buffers = [layout.buffers[owner] for owner in sorted(choice.owners)]
    opened = []
    for span in layout.spans:
        found = holes(span, choice.owners)
        opened.append(max(found, key=lambda hole: hole[1] - hole[0]))
    begin, end = min(opened, key=lambda hole: hole[1] - hole[0])
    return Freeing(
        entries=tuple(sorted((parts[0] for parts in buffers), key=_place)),
        size_bytes=sum(max(entry_bytes(part, banks) for part in parts) for parts in buffers),
        total_bytes=sum(layout.total_bytes[owner] for owner in choice.owners),
        opened_address=begin,
        opened_bytes=end - begin,
        choice_count=choice.choice_count,
        is_least=choice.is_least,
    )


def _place(entry: HeldEntry) -> tuple[int, int]:
    return entry.address or 0, entry.sequence


def _tightest(layout: AllocatorLines | None) -> tuple[AddressLine, ...]:
    lines = () if layout is None else sorted(layout.lines, key=lambda line: line.largest_free_bytes)
    return tuple(lines[:_MOST_LINES])


def _largest_seen(layout: AllocatorLines | None) -> int | None:
    """The largest block by the copy, on the line where that is least."""
    return None if layout is None else min((line.largest_free_bytes for line in layout.lines), default=None)


def _cause(incident: Incident, layout: AllocatorLines | None) -> Cause:
    needed, largest = incident.requested_per_bank_bytes, incident.largest_free_per_bank_bytes
    if needed is None:
        return _cause_in_all(incident)
    seen, free = _largest_seen(layout), incident.free_per_bank_bytes
    if layout is not None and any(needed > line.end_address - line.begin_address for line in layout.lines):
        return "too_large"
    if largest is not None and largest >= needed:
        return "cores_in_the_way" if seen is not None and seen < needed else "room_seen"
    if free is None:
        free = None if layout is None else min(line.free_bytes for line in layout.lines)
    if free is None:
        return _cause_in_all(incident)
    if free < needed:
        return "full"
    return "room_seen" if largest is None and seen is not None and seen >= needed else "fragmented"


def _cause_in_all(incident: Incident) -> Cause:
    if incident.requested_bytes is None or incident.free_bytes is None:
        return "unknown"
    return "full" if incident.free_bytes < incident.requested_bytes else "fragmented"


def _missing(incident: Incident, layout: AllocatorLines | None) -> int | None:
    needed = incident.requested_per_bank_bytes
    known = [size for size in (incident.largest_free_per_bank_bytes, _largest_seen(layout)) if size is not None]
    return max(0, needed - min(known)) if needed is not None and known else None


def _replay(copy: IncidentCopy) -> ReplayDetails:
    incident = copy.incident
    at = incident.address
    there = (one for one in copy.entries if one.address == at and one.memory == incident.memory and not one.is_view)
    entry = next(there, None) if at is not None else None
    return ReplayDetails(
        trace=incident.trace,
        address=at,
        size_bytes=incident.requested_bytes if entry is None else entry.requested_bytes or entry.reserved_bytes,
        made_by=incident.site or (entry.site if entry is not None else None),
        captured_by=incident.other_site,
        entry=entry,
    )


def _notes(copy: IncidentCopy, layout: AllocatorLines | None) -> list[str]:
    incident, notes = copy.incident, []
    if incident.entry_count is None:
        notes.append("What was alive was not recorded (no room for it): holes and holders are not known.")
    if incident.left_out_count:
        notes.append(
            f"{incident.left_out_count:,} smaller allocations ({incident.left_out_bytes:,} bytes) are not listed: "
            "holes are upper bounds."
        )
    if layout is not None and layout.unplaced:
        notes.append(
            f"{len(layout.unplaced):,} allocations have no known address "
            f"({sum(entry.reserved_bytes for entry in layout.unplaced):,} bytes): holes are upper bounds."
        )
    if copy.sequence_after > copy.sequence_before:
        notes.append(
            f"Other threads allocated or freed {copy.sequence_after - copy.sequence_before:,} times while what was "
            "alive was copied: the list may differ from the moment of the refusal."
        )
    if incident.is_uncertain:
        notes.append(
            "What this trace writes is known roughly: of more than 4,096 ranges neighbours were taken together, or the "
            "size of a buffer in its banks was not reported. The buffer may be safe."
        )
    if incident.is_read_later:
        notes.append("Free and largest block were read a moment after the refusal.")
    if layout is not None and any(line.is_inferred for line in layout.lines):
        notes.append("Where the addresses begin or end is inferred from what was free.")
    hidden = _hidden_bytes(incident, layout)
    if hidden:
        notes.append(
            f"The allocator counted {hidden:,} bytes per bank less as free than this list leaves: a process that "
            "does not report holds them, or the runtime lost them. Holes are upper bounds."
        )
    return notes


def _hidden_bytes(incident: Incident, layout: AllocatorLines | None) -> int:
    """What is taken and not listed, where the two figures mean the same and nothing else explains it."""
    if layout is None or incident.free_per_bank_bytes is None or incident.left_out_count or layout.unplaced:
        return 0
    are_beside = any(part.is_per_core for parts in layout.buffers for part in parts) and not is_of_sub_device(incident)
    if incident.is_per_core or are_beside:
        return 0
    return max(0, layout.lines[0].free_bytes - incident.free_per_bank_bytes)
