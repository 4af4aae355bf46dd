"""What lay where when memory was refused: the addresses of the allocator that refused, line by line.

Memory in lockstep is one line for all banks and chips of its mesh. Where buffers may lie on single cores (the runtime's
mode HYBRID), a lockstep buffer must stay clear of all of them, and a buffer asked of single cores has a line per core.
A sub-device with L1 of its own is a line for its cores, below that of its mesh.
"""

from bisect import bisect_right, insort
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

import msgspec

from ttmem.analysis.core_sets import Core, cores_of, cores_text, share_cores
from ttmem.analysis.explanation import AddressLine, AddressStretch, StretchUse
from ttmem.analysis.fewest import Addresses, TakenBlock, holes
from ttmem.snapshot.incidents import HeldEntry, Incident, IncidentCopy

__all__ = [
    "AllocatorLines",
    "BufferKey",
    "buffer_key",
    "entry_bytes",
    "is_freeable",
    "is_of_allocator",
    "is_of_sub_device",
    "layout_of",
    "lockstep_banks",
    "with_bank_figures",
]

BufferKey = tuple[str, str, tuple[str, ...]]  # parts of one buffer have the same

_BLOCKS = (32, 64)  # the units of the runtime's allocators, by architecture
_BOTTOM_UP = ("dram", "trace")  # L1 is handed out from its end


class AllocatorLines(NamedTuple):
    """The lines of an allocator, and the buffers on them: owner n of a block is `buffers[n]`."""

    lines: tuple[AddressLine, ...]
    spans: tuple[Addresses, ...]
    buffers: tuple[tuple[HeldEntry, ...], ...]  # parts of one buffer, if it lies at several addresses
    unplaced: tuple[HeldEntry, ...]  # of the same memory, without a known address
    total_bytes: dict[int, int]  # by owner


def is_freeable(entry: HeldEntry) -> bool:
    """Whether freeing a tensor can free it: not binaries, traces, kernels, circular buffers."""
    return entry.kind == "buffer" and entry.memory != "trace"


def lockstep_banks(copy: IncidentCopy) -> int | None:
    """How many banks give up a block for a buffer in lockstep: those by which every charge is whole blocks, else the
    smallest guess. What a refusal counts are the banks that were to hold something, perhaps fewer."""
    incident = copy.incident
    charged = {
        (entry.reserved_bytes, entry.per_bank_bytes)
        for entry in copy.entries
        if is_of_allocator(entry, incident) and entry.per_bank_bytes and not (entry.is_per_core or entry.is_view)
    }
    asked = set()
    if not incident.is_per_core:
        for free, of_bank in (
            (incident.free_bytes, incident.free_per_bank_bytes),
            (incident.largest_free_bytes, incident.largest_free_per_bank_bytes),
        ):
            asked |= {free // of_bank} if free and of_bank else set()
    exact = [banks for block in _BLOCKS if (banks := _banks_in_blocks(charged, block))]
    if exact:
        return next((banks for banks in exact if banks in asked), exact[0])
    whole = {banks for banks in asked if banks and not any(reserved % banks for reserved, _ in charged)}
    known = [banks for banks in whole | {reserved // of_bank for reserved, of_bank in charged} if banks]
    return min(known) if known else None if incident.is_per_core else incident.bank_count


def _banks_in_blocks(charged: Iterable[tuple[int, int]], block: int) -> int | None:
    """The number of banks by which every charge is a whole block of each, if there is one."""
    found = {divmod(reserved, -(-of_bank // block) * block) for reserved, of_bank in charged}
    [(banks, rest)] = found if len(found) == 1 else [(0, 0)]
    return banks if banks and not rest else None


def is_of_allocator(entry: HeldEntry, incident: Incident) -> bool:
    """Whether the allocator that refused gave it, or has to stay clear of it. Other meshes over the same chips have
    allocators of their own; what single cores hold is in the way of all who hand out these addresses on these cores."""
    if entry.memory != incident.memory or (entry.is_per_core and not _is_within(entry, incident)):
        return False
    if is_of_sub_device(incident):
        return entry.is_per_core and share_cores(entry.cores, incident.cores)
    return not entry.device_ids or entry.is_per_core or incident.is_per_core


def is_of_sub_device(incident: Incident) -> bool:
    """Whether a sub-device with L1 of its own refused: some cores, in lockstep."""
    return incident.kind == "out_of_memory" and incident.cores is not None and not incident.is_per_core


def _is_within(entry: HeldEntry, incident: Incident) -> bool:
    """Whether it begins in the addresses of the allocator, where they are known: sub-devices have lower ones."""
    begin, end = incident.space_begin_address, incident.space_end_address
    return entry.address is None or begin is None or end is None or begin <= entry.address < end


def with_bank_figures(incident: Incident, banks: int | None) -> Incident:
    """The incident with what each bank was asked for and had, where only the figures of all banks were reported."""
    if incident.kind != "out_of_memory" or incident.requested_per_bank_bytes is not None or not banks:
        return incident
    requested, free, largest = (
        None if size is None else -(-size // banks)
        for size in (incident.requested_bytes, incident.free_bytes, incident.largest_free_bytes)
    )
    reported, reported_largest = incident.free_per_bank_bytes, incident.largest_free_per_bank_bytes
    return msgspec.structs.replace(
        incident,
        requested_per_bank_bytes=requested,
        free_per_bank_bytes=free if reported is None else reported,
        largest_free_per_bank_bytes=largest if reported_largest is None else reported_largest,
        bank_count=incident.bank_count or banks,
    )


def entry_bytes(entry: HeldEntry, banks: int | None) -> int:
    """What each bank, or core, gives up for it."""
    if entry.is_view:
        return 0
    own = entry.per_bank_bytes or 0
    if entry.is_per_core or not banks:
        return own
    if entry.reserved_bytes and entry.reserved_bytes % banks == 0:
        return max(own, entry.reserved_bytes // banks)
    return -(-max(own, -(-entry.reserved_bytes // banks)) // _BLOCKS[0]) * _BLOCKS[0]


class _Placed(NamedTuple):
    begin: int
    end: int
    entry: HeldEntry


def layout_of(copy: IncidentCopy) -> AllocatorLines | None:
    """The allocator's lines; None if what was alive was not recorded, or its addresses have no known begin or end."""
    incident = copy.incident
    if incident.entry_count is None:
        return None
    banks = lockstep_banks(copy)
    own = [entry for entry in copy.entries if is_of_allocator(entry, incident) and not entry.is_view]
    placed = [
        _Placed(entry.address, entry.address + size, entry)
        for entry in own
        if entry.address is not None and (size := entry_bytes(entry, banks))
    ]
    bounds = _bounds(incident, placed)
    if bounds is None:
        return None
    begin, end, is_inferred = bounds
    inside = [one for one in placed if one.begin < end and one.end > begin]
    lockstep = _newest([one for one in inside if not one.entry.is_per_core])
    parts = _newest_parts([one for one in inside if one.entry.is_per_core])
    buffers, numbers = _buffers([*lockstep, *parts])
    groups = _core_groups(incident, parts) if incident.is_per_core else [(_line_cores(incident), parts)]
    lines, spans = [], []
    for cores, on_cores in groups:
        blocks = [
            TakenBlock(
                max(begin, one.begin),
                min(end, one.end),
                numbers[buffer_key(one.entry)] if is_freeable(one.entry) else None,
            )
            for one in (*lockstep, *on_cores)
        ]
        span = Addresses(begin, end, sorted(blocks, key=lambda block: (block.begin, block.end)))
        spans.append(span)
        lines.append(_line(span, cores, is_inferred=is_inferred))
    total = {number: sum(part.reserved_bytes for part in found) for number, found in enumerate(buffers)}
    unplaced = tuple(entry for entry in own if entry.address is None and entry.reserved_bytes)
    return AllocatorLines(tuple(lines), tuple(spans), buffers, unplaced, total)


def buffer_key(entry: HeldEntry) -> BufferKey:
    """The buffer that an entry is, or is a part of."""
    return entry.kind, entry.id, entry.device_ids


def _bounds(incident: Incident, placed: Sequence[_Placed]) -> tuple[int, int, bool] | None:
    """Where the addresses begin and end. Unless reported, all that is free beyond the holes is at the open end."""
    begin, end = incident.space_begin_address, incident.space_end_address
    if begin is not None and end is not None and end > begin:
        return begin, end, False
    if not placed or incident.free_per_bank_bytes is None:
        return None
    lowest, highest = min(one.begin for one in placed), max(one.end for one in placed)
    inner = sum(
        last - first for first, last in holes(Addresses(lowest, highest, [TakenBlock(*one[:2], 0) for one in placed]))
    )
    outer = max(0, incident.free_per_bank_bytes - inner)
    if incident.memory in _BOTTOM_UP:
        return lowest, highest + outer, True
    return max(0, lowest - outer), highest, True


def _newest(placed: Iterable[_Placed]) -> list[_Placed]:
    """Without those that overlap a newer one: they were freed while the copy was made."""
    accepted: list[tuple[int, int]] = []
    found = []
    for one in sorted(placed, key=lambda one: -one.entry.sequence):
        at = bisect_right(accepted, (one.begin, one.end))
        if (at and accepted[at - 1][1] > one.begin) or (at < len(accepted) and accepted[at][0] < one.end):
            continue
        insort(accepted, (one.begin, one.end))
        found.append(one)
    return found


def _newest_parts(parts: Sequence[_Placed]) -> list[_Placed]:
    """The same for parts on single cores, which overlap only where they share a core."""
    by_core: dict[tuple[tuple[str, ...], Core], list[_Placed]] = {}  # of which chip
    for one in parts:
        for core in cores_of(one.entry.cores) or ():
            by_core.setdefault((one.entry.device_ids, core), []).append(one)
    lost: set[int] = set()
    for there in by_core.values():
        accepted = set(map(id, _newest(there)))
        lost.update(id(one) for one in there if id(one) not in accepted)
    return [one for one in parts if id(one) not in lost]


def _buffers(
    placed: Iterable[_Placed],
) -> tuple[tuple[tuple[HeldEntry, ...], ...], dict[BufferKey, int]]:
    """Entries by buffer, the oldest buffer first; and the number of each."""
    found: dict[BufferKey, list[HeldEntry]] = {}
    for one in sorted(placed, key=lambda one: (one.entry.sequence, one.begin)):
        found.setdefault(buffer_key(one.entry), []).append(one.entry)
    return tuple(map(tuple, found.values())), {key: number for number, key in enumerate(found)}


def _line_cores(incident: Incident) -> frozenset[Core] | None:
    """Those of the one line of an allocator in lockstep; None: all."""
    return cores_of(incident.cores) if is_of_sub_device(incident) else None


def _core_groups(incident: Incident, parts: Sequence[_Placed]) -> list[tuple[frozenset[Core] | None, list[_Placed]]]:
    """The cores that were asked, together where the same lies on them."""
    asked = cores_of(incident.cores)
    if asked is None:
        asked = frozenset(core for one in parts for core in cores_of(one.entry.cores) or ())
    if not asked:
        return [(None, list(parts))]
    groups: dict[tuple[int, ...], set[Core]] = {}
    by_number = dict(enumerate(parts))
    for core in asked:
        there = tuple(number for number, one in by_number.items() if _is_on(one, core))
        groups.setdefault(there, set()).add(core)
    return [(frozenset(cores), [by_number[number] for number in there]) for there, cores in groups.items()]


def _is_on(one: _Placed, core: Core) -> bool:
    cores = cores_of(one.entry.cores)
    return cores is None or core in cores


def _line(span: Addresses, cores: frozenset[Core] | None, *, is_inferred: bool) -> AddressLine:
    found = [end - begin for begin, end in holes(span)]
    return AddressLine(
        cores=None if cores is None else cores_text(cores),
        core_count=None if cores is None else len(cores),
        begin_address=span.begin,
        end_address=span.end,
        is_inferred=is_inferred,
        free_bytes=sum(found),
        largest_free_bytes=max(found, default=0),
        hole_count=len(found),
        stretches=_stretches(span),
    )


def _stretches(span: Addresses) -> tuple[AddressStretch, ...]:
    """The line from its beginning to its end, neighbours of one use joined."""
    edges = sorted({span.begin, span.end, *(edge for block in span.blocks for edge in (block.begin, block.end))})
    found: list[AddressStretch] = []
    by_begin, at, reach = sorted(span.blocks, key=lambda block: block.begin), 0, span.begin
    fixed_reach = span.begin
    for first, last in pairwise(edges):
        while at < len(by_begin) and by_begin[at].begin <= first:
            reach = max(reach, by_begin[at].end)
            if by_begin[at].owner is None:
                fixed_reach = max(fixed_reach, by_begin[at].end)
            at += 1
        use: StretchUse = "fixed" if fixed_reach > first else "held" if reach > first else "free"
        if found and found[-1].use == use:
            found[-1] = AddressStretch(found[-1].address, found[-1].size_bytes + last - first, found[-1].use)
        else:
            found.append(AddressStretch(first, last - first, use))
    return tuple(found)
