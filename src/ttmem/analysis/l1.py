"""L1 of a core at an incident: where buffers begin, how far circular buffers reach, what lies in their way."""

from collections.abc import Sequence
from itertools import pairwise

import msgspec

from ttmem.analysis.address_lines import entry_bytes, is_of_sub_device, lockstep_banks
from ttmem.analysis.core_sets import cores_of, share_cores
from ttmem.analysis.explanation import AddressLine, AddressStretch, ClashDetails, Floor, ProgramNeed, StretchUse
from ttmem.snapshot.incidents import HeldEntry, Incident, IncidentCopy

__all__ = ["IN_L1", "clash_line", "clash_of", "floor_of"]

IN_L1 = ("l1", "l1_small", "cb")
_CIRCULAR = ("circular_buffer", "dataflow_buffer", "scratchpad")


def floor_of(copy: IncidentCopy) -> Floor | None:
    """The lowest L1 buffer and the headroom below it; None if there is no copy, or nothing is known of either."""
    incident = copy.incident
    if incident.entry_count is None:
        return None
    buffers = _l1_buffers(copy.entries)
    entry = min(buffers, key=lambda one: (one.address or 0, one.sequence), default=None)
    needs = _needs(copy, buffers)
    highest = max(needs, key=lambda need: (need.missing_bytes, need.end_address), default=None)
    address = entry.address if entry is not None else incident.lowest_buffer_address
    if highest is not None:
        headroom_bytes: int | None = -highest.missing_bytes
    elif address is not None and incident.memory == "l1" and incident.space_begin_address is not None:
        # a buffer that begins lower is a sub-device's: where circular buffers begin is not known then
        headroom_bytes = address - incident.space_begin_address if address >= incident.space_begin_address else None
    else:
        headroom_bytes = None
    if address is None and highest is None:
        return None
    refused = tuple(need for need in needs if need.missing_bytes > 0)
    return Floor(entry=entry, address=address, highest=highest, headroom_bytes=headroom_bytes, refused=refused)


def clash_of(copy: IncidentCopy) -> ClashDetails:
    """What lies in the way of the program's circular buffers: everything that begins below their end on its cores."""
    incident = copy.incident
    end = incident.cb_end_address
    buffers = [one for one in _l1_buffers(copy.entries) if _is_there(one, incident.cores)]
    below = sorted(
        (one for one in buffers if end is not None and one.address is not None and one.address < end),
        key=lambda one: (one.address or 0, one.sequence),
    )
    lowest = below[0].address if below else incident.lowest_buffer_address
    missing = None if end is None or lowest is None else max(0, end - lowest)
    own = (one for one in copy.entries if one.kind in _CIRCULAR and one.program == incident.program is not None)
    return ClashDetails(
        end_address=end,
        lowest_address=lowest,
        missing_bytes=missing,
        in_the_way=tuple(below),
        in_the_way_bytes=sum(entry_bytes(one, None) for one in below),
        circular_buffers=tuple(sorted(own, key=lambda one: (one.address or 0, one.sequence))),
    )


def clash_line(copy: IncidentCopy, clash: ClashDetails) -> AddressLine | None:
    """L1 of a core of the program: its circular buffers from below, L1 buffers from above, and where they meet."""
    incident = copy.incident
    begins = [one.address for one in clash.circular_buffers if one.address is not None]
    begin = incident.space_begin_address or min(begins, default=None)
    if begin is None or clash.end_address is None or not clash.in_the_way:
        return None
    banks = lockstep_banks(copy)
    buffers = [one for one in _l1_buffers(copy.entries) if _is_there(one, incident.cores)]
    blocks = [(one.address or 0, (one.address or 0) + entry_bytes(one, banks)) for one in buffers]
    wanted = (min(begins, default=begin), clash.end_address)
    end = max(incident.space_end_address or 0, clash.end_address, *(last for _, last in blocks))
    edges = sorted({begin, end, *wanted, *(edge for block in blocks for edge in block)})
    stretches: list[AddressStretch] = []
    for first, last in pairwise(edge for edge in edges if edge >= begin):
        is_wanted, is_held = _covers(wanted, first), any(_covers(block, first) for block in blocks)
        use: StretchUse = (
            "clash" if is_wanted and is_held else "circular" if is_wanted else "held" if is_held else "free"
        )
        if stretches and stretches[-1].use == use:
            stretches[-1] = msgspec.structs.replace(stretches[-1], size_bytes=last - stretches[-1].address)
        else:
            stretches.append(AddressStretch(first, last - first, use))
    free = [stretch.size_bytes for stretch in stretches if stretch.use == "free"]
    cores = cores_of(incident.cores)
    return AddressLine(
        cores=incident.cores,
        core_count=None if cores is None else len(cores),
        begin_address=begin,
        end_address=end,
        is_inferred=incident.space_begin_address is None or incident.space_end_address is None,
        free_bytes=sum(free),
        largest_free_bytes=max(free, default=0),
        hole_count=len(free),
        stretches=tuple(stretches),
    )


def _covers(block: tuple[int, int], address: int) -> bool:
    return block[0] <= address < block[1]


def _l1_buffers(entries: Sequence[HeldEntry]) -> list[HeldEntry]:
    return [one for one in entries if one.memory == "l1" and one.address is not None and not one.is_view]


def _is_there(buffer: HeldEntry, cores: str | None) -> bool:
    """Whether a buffer lies on one of these cores; in lockstep it lies on all."""
    return not buffer.is_per_core or share_cores(buffer.cores, cores)


def _needs(copy: IncidentCopy, buffers: Sequence[HeldEntry]) -> list[ProgramNeed]:
    """By program, how far its circular buffers reach, against the lowest buffer on their cores; tightest first."""
    found: dict[int | None, ProgramNeed] = {}
    for one in copy.entries:
        if one.kind in _CIRCULAR and not one.is_view and one.address is not None and one.per_bank_bytes:
            _add(found, _need(one.program, one.operation, one.address + one.per_bank_bytes, one.cores, copy, buffers))
    incident = copy.incident
    if incident.cb_end_address is not None:
        need = _need(incident.program, incident.operation, incident.cb_end_address, incident.cores, copy, buffers)
        if incident.program is None or incident.program not in found:
            _add(found, need)
    return sorted(found.values(), key=lambda need: (-need.missing_bytes, -need.end_address))


def _add(found: dict[int | None, ProgramNeed], need: ProgramNeed | None) -> None:
    if need is not None:
        before = found.get(need.program)
        if before is None or (need.missing_bytes, need.end_address) > (before.missing_bytes, before.end_address):
            found[need.program] = need


def _need(
    program: int | None,
    operation: str | None,
    end: int,
    cores: str | None,
    copy: IncidentCopy,
    buffers: Sequence[HeldEntry],
) -> ProgramNeed | None:
    lowest = min((one.address or 0 for one in buffers if _is_there(one, cores)), default=_top(copy.incident))
    if lowest is None:
        return None
    return ProgramNeed(program=program, operation=operation, end_address=end, cores=cores, missing_bytes=end - lowest)


def _top(incident: Incident) -> int | None:
    """Where circular buffers must end if no buffer lies there: the end of L1, which is not where that of a sub-device
    ends."""
    if is_of_sub_device(incident):
        return None
    return incident.space_end_address if incident.memory in ("l1", "cb") else incident.lowest_buffer_address
