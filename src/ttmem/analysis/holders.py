"""Who held memory when an incident happened: by line of the program, by kind, by phase."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import NamedTuple

import msgspec

from ttmem.analysis.address_lines import AllocatorLines, BufferKey, buffer_key, entry_bytes, is_freeable
from ttmem.analysis.explanation import MemoryHolder, PhaseShare
from ttmem.analysis.fewest import holes
from ttmem.snapshot.incidents import HeldEntry, Incident, Site

__all__ = ["NamedHolder", "by_kind", "by_line", "by_phase", "line_name", "phase_share", "with_blocks"]


class NamedHolder(NamedTuple):
    """A holder and the buffers it is made of."""

    holder: MemoryHolder
    buffers: frozenset[BufferKey]


def line_name(site: Site | None) -> str | None:
    """The line that asked, as people read it: `model.py:77 attention`; None if unknown."""
    if site is None:
        return None
    if site.frames:
        frame = site.frames[0]
        return f"{frame.file.rpartition('/')[2]}:{frame.line} {frame.function}".rstrip()
    if site.text:
        return site.text_lines[0]
    return "other lines" if site.is_other else site.operation or site.device_operation


def by_line(entries: Iterable[HeldEntry], banks: int | None) -> list[NamedHolder]:
    """Largest first. What cannot be freed stands by its kind, whatever line it comes from."""

    def what(entry: HeldEntry) -> Hashable:
        if not is_freeable(entry):
            return entry.kind
        frames = entry.site.frames[:1] if entry.site else ()
        return frames or line_name(entry.site) or ""

    return _grouped(entries, what, banks, lambda entry: line_name(entry.site) if is_freeable(entry) else None)


def by_kind(entries: Iterable[HeldEntry], banks: int | None) -> list[NamedHolder]:
    """Kinds of each memory."""
    return _grouped(
        entries,
        lambda entry: (entry.memory, entry.kind),
        banks,
        lambda entry: (f"{entry.memory} buffer" if entry.kind == "buffer" else entry.kind).replace("_", " "),
    )


def by_phase(entries: Iterable[HeldEntry], banks: int | None) -> list[NamedHolder]:
    """Phases that were open when it was made."""
    return _grouped(entries, lambda entry: entry.phase, banks, lambda entry: entry.phase)


def phase_share(entries: Iterable[HeldEntry], incident: Incident) -> PhaseShare | None:
    """What of it the incident's own phase made; None without a phase, or where no allocation names its own."""
    if incident.phase is None:
        return None
    known = [entry for entry in entries if not entry.is_view]
    if not any(entry.phase for entry in known):
        return None
    shares = {True: 0, False: 0, None: 0}
    for entry in known:
        shares[None if entry.phase is None else entry.phase == incident.phase] += entry.reserved_bytes
    return PhaseShare(
        phase=incident.phase,
        total_bytes_in_phase=shares[True],
        total_bytes_before=shares[False],
        total_bytes_unknown=shares[None],
    )


def with_blocks(found: Sequence[NamedHolder], layout: AllocatorLines | None, most: int) -> tuple[MemoryHolder, ...]:
    """The `most` largest with the block that freeing each of them would open, then the others."""
    holders = []
    for number, one in enumerate(found):
        block_bytes = None
        if layout is not None and number < most and one.holder.is_freeable:
            owners = frozenset(
                owner
                for owner, parts in enumerate(layout.buffers)
                if buffer_key(parts[0]) in one.buffers and is_freeable(parts[0])
            )
            if owners:
                block_bytes = min(
                    max((end - begin for begin, end in holes(span, owners)), default=0) for span in layout.spans
                )
        holders.append(msgspec.structs.replace(one.holder, block_if_freed_bytes=block_bytes))
    return tuple(holders)


def _grouped(
    entries: Iterable[HeldEntry],
    what: Callable[[HeldEntry], Hashable],
    banks: int | None,
    name: Callable[[HeldEntry], str | None],
) -> list[NamedHolder]:
    groups: dict[Hashable, list[HeldEntry]] = {}
    for entry in entries:
        if not entry.is_view:
            groups.setdefault(what(entry), []).append(entry)
    found = [_named(group, banks, name(group[0])) for group in groups.values()]
    return sorted(found, key=lambda one: (-one.holder.size_bytes, -one.holder.total_bytes, one.holder.name or ""))


def _named(group: Sequence[HeldEntry], banks: int | None, name: str | None) -> NamedHolder:
    per_bank: dict[BufferKey, int] = {}
    for entry in group:  # parts of one buffer lie on different cores
        key = buffer_key(entry)
        per_bank[key] = max(per_bank.get(key, 0), entry_bytes(entry, banks))
    holder = MemoryHolder(
        name=name,
        site=group[0].site,
        kind=group[0].kind,
        count=len(per_bank),
        size_bytes=sum(per_bank.values()),
        total_bytes=sum(entry.reserved_bytes for entry in group),
        oldest_time_ns=min(entry.time_ns for entry in group),
        newest_time_ns=max(entry.time_ns for entry in group),
        is_freeable=all(map(is_freeable, group)),
    )
    return NamedHolder(holder, frozenset(per_bank))
