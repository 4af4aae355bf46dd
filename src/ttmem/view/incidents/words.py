"""The words of an incident: what it is called, where it was, who asked for how much, what came after."""

from collections.abc import Iterable, Iterator, Sequence

from ttmem.analysis import Explanation, MemoryHolder, text_lines
from ttmem.snapshot.device import ChipName
from ttmem.snapshot.incidents import Frame, HeldEntry, Incident, Site
from ttmem.view.device_tables import devices_word
from ttmem.view.spans import clean
from ttmem.view.units import age_text, count_text, plural, size_text

__all__ = [
    "after_text",
    "ages_text",
    "amount",
    "asked_by",
    "chips_text",
    "count_of",
    "entry_line",
    "headline",
    "holder_name",
    "incident_title",
    "is_per_core_memory",
    "memory_word",
    "site_text",
    "why_text",
]

_TITLES = {"out_of_memory": "OUT OF MEMORY", "clash": "CIRCULAR BUFFERS CLASH", "unsafe_replay": "UNSAFE REPLAY"}
_MEMORIES = {"dram": "DRAM", "l1": "L1", "l1_small": "L1_SMALL", "trace": "trace region", "cb": "circular buffers"}
_KINDS = {"program_binary": "program binary", "trace_buffer": "captured trace", "circular_buffer": "circular buffer"}
_PLURALS = {"program binary": "program binaries"}
_FRAMES = 2  # of a stack that are shown
_UNKNOWN = "not known"


def incident_title(incident: Incident) -> str:
    """Its kind, in capitals."""
    return _TITLES[incident.kind]


def memory_word(memory: str) -> str:
    return _MEMORIES.get(memory, memory)


def is_per_core_memory(incident: Incident) -> bool:
    """Whether people think of this memory core by core."""
    return incident.memory in ("l1", "l1_small", "cb")


def chips_text(incident: Incident, devices: Sequence[ChipName]) -> str:
    """`chip 0`, or `chips 0-7 (one mesh)`."""
    known = {device.uuid or device.name: device for device in devices}
    found = [known[word] for word in incident.device_ids if word in known]
    others = [clean(word) for word in incident.device_ids if word not in known]
    names = ",".join(filter(None, [devices_word(found) if found else "", *others]))
    if len(incident.device_ids) == 1:
        return f"chip {names}"
    return f"chips {names or _UNKNOWN}{' (one mesh)' if incident.is_mesh else ''}"


def headline(incident: Incident, devices: Sequence[ChipName]) -> str:
    """One sentence with all figures: where, how much was asked for, how much there was."""
    where = f"{chips_text(incident, devices)}, {memory_word(incident.memory)}"
    if incident.kind == "clash":
        return f"{chips_text(incident, devices)}, L1: {_clash(incident)}"
    if incident.kind == "unsafe_replay":
        return f"{where}: {_replay(incident)}"
    if is_per_core_memory(incident) and incident.requested_per_bank_bytes is not None:
        return f"{where}: {_per_core(incident)}"
    return f"{where}: {_in_all(incident)}"


def _per_core(incident: Incident) -> str:
    cores = f" on {plural(incident.bank_count, 'core', 's')}" if incident.bank_count else ""
    free, largest = incident.free_per_bank_bytes, incident.largest_free_per_bank_bytes
    asked = f"asked {size_text(incident.requested_per_bank_bytes)} per core{cores}"
    return f"{asked}, free {_size(free)}, largest block {_size(largest)}{' per core' if largest is not None else ''}"


def _in_all(incident: Incident) -> str:
    each = ""
    if incident.requested_per_bank_bytes is not None and incident.bank_count:
        each = (
            f" ({size_text(incident.requested_per_bank_bytes)} in each of {plural(incident.bank_count, 'bank', 's')})"
        )
    free, largest = incident.free_bytes, incident.largest_free_bytes
    return f"asked {_size(incident.requested_bytes)}{each}, free {_size(free)}, largest block {_size(largest)}"


def _clash(incident: Incident) -> str:
    end, lowest = incident.cb_end_address, incident.lowest_buffer_address
    cores = f" on cores {clean(incident.cores)}" if incident.cores else ""
    reach = f"up to {hex(end)}" if end is not None else "more than there is"
    text = f"{_program(incident)} needs circular buffers {reach}{cores}"
    if lowest is None:
        return text
    missing = f": {size_text(end - lowest)} missing" if end is not None and end > lowest else ""
    return f"{text}, but L1 buffers begin at {hex(lowest)}{missing}"


def _replay(incident: Incident) -> str:
    trace = "a trace" if incident.trace is None else f"trace {incident.trace}"
    size = f"a buffer of {size_text(incident.requested_bytes)}" if incident.requested_bytes else "a buffer"
    place = "" if incident.address is None else f" ({hex(incident.address)})"
    times = f" {count_text(incident.repeat_count + 1)} times" if incident.repeat_count else ""
    lies = "may lie" if incident.is_uncertain else "lies"
    where = "it writes"
    if incident.cb_end_address is not None:
        where = f"its programs have circular buffers (up to {hex(incident.cb_end_address)})"
    return f"{trace} was replayed{times} while {size} {lies} where {where}{place}"


def _program(incident: Incident) -> str:
    name = "a program" if incident.program is None else f"program {incident.program}"
    return f"{name} ({clean(incident.operation)})" if incident.operation else name


def _size(size_bytes: int | None) -> str:
    return _UNKNOWN if size_bytes is None else size_text(size_bytes)


def site_text(site: Site | None, frames: int = _FRAMES) -> str:
    """`model.py:118 forward < model.py:201 main`; what else is known of who asked, where there are no lines."""
    if site is None:
        return "line not known"
    if site.frames:
        return clean(" < ".join(map(_frame, site.frames[:frames])))
    if site.text:
        return clean(" < ".join(text_lines(site.text)[:frames]))
    if site.is_other:
        return "a line that found no room"
    return clean(site.operation or site.device_operation or "line not known")


def _frame(frame: Frame) -> str:
    return f"{frame.file.rpartition('/')[2]}:{frame.line} {frame.function}".rstrip()


def asked_by(explanation: Explanation) -> str:
    """Who asked, in which operation and phase, and what came after."""
    incident = explanation.incident
    site = incident.site
    operation = (site.operation if site is not None and site.frames else None) or incident.operation
    about = [clean(operation)] if operation else []
    if site is not None and site.tensor:
        about.append(clean(site.tensor))
    if incident.phase:
        about.append(f"phase {clean(incident.phase)}")
        if explanation.phase_run:
            about.append(f"its {_ordinal(explanation.phase_run)} run")
    if incident.repeat_count:
        about.append(f"and {count_text(incident.repeat_count)} more times")
    told = f"{site_text(site)}   ({', '.join(about)})" if about else site_text(site)
    after = after_text(explanation)
    return f"{told}; {after}" if after else told


def _ordinal(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number:,}{ending}"


def after_text(explanation: Explanation) -> str:
    """What the program did after it; empty if nobody knows."""
    incident = explanation.incident
    match explanation.after:
        case "last":
            return "the last thing it did"
        case "no_launch":
            return "nothing was launched after it"
        case "went_on":
            return f"the program went on ({plural(incident.launches_since or 0, 'launch', 'es')} since)"
        case _:
            return ""


def amount(explanation: Explanation, bank_bytes: int | None, total_bytes: int | None = None) -> str:
    """Bytes as this memory is spoken of: L1 by core, other memory in all banks together."""
    if is_per_core_memory(explanation.incident) or explanation.incident.kind == "clash":
        return _size(total_bytes if bank_bytes is None else bank_bytes)
    if total_bytes is None and bank_bytes is not None and explanation.bank_count:
        total_bytes = bank_bytes * explanation.bank_count
    return _size(total_bytes) if total_bytes is not None else f"{_size(bank_bytes)} per bank"


def holder_name(holder: MemoryHolder) -> str:
    """The line, or what it is where that cannot be freed."""
    if holder.name is None or not holder.is_freeable:
        return "line not known" if holder.is_freeable else _kind_words(holder.kind)
    return clean(holder.name)


def _kind_words(kind: str) -> str:
    word = _KINDS.get(kind, kind.replace("_", " "))
    return _PLURALS.get(word, f"{word}s")


def count_of(holder: MemoryHolder) -> str:
    """`1 buffer`, `3 program binaries`."""
    word = _KINDS.get(holder.kind, holder.kind.replace("_", " "))
    return f"{count_text(holder.count)} {word if holder.count == 1 else _PLURALS.get(word, f'{word}s')}"


def ages_text(explanation: Explanation, times_ns: Iterable[int]) -> str:
    """How old they were at the incident: `12 s old`, `0.10 s to 5 min old`."""
    ages = sorted(max(0, explanation.incident.time_ns - time_ns) for time_ns in times_ns)
    first, last = age_text(ages[0]), age_text(ages[-1])
    return f"{last} old" if first == last else f"{first} to {last} old"


def entry_line(entry: HeldEntry) -> str:
    """Who made an allocation, and what it is."""
    tensor = f"  {clean(entry.site.tensor)}" if entry.site is not None and entry.site.tensor else ""
    return site_text(entry.site) + tensor


def why_text(explanation: Explanation) -> Iterator[str]:
    """One sentence with the cause."""
    incident = explanation.incident
    if explanation.clash is not None and explanation.clash.missing_bytes:
        yield f"{size_text(explanation.clash.missing_bytes)} per core are missing"
    if incident.free_bytes is None and incident.free_per_bank_bytes is None and explanation.cause != "too_large":
        return
    each = " per core" if is_per_core_memory(incident) and incident.free_per_bank_bytes is not None else ""
    missing = f": {amount(explanation, explanation.missing_bytes)} too little" if explanation.missing_bytes else ""
    free = amount(explanation, incident.free_per_bank_bytes, incident.free_bytes)
    largest = amount(explanation, incident.largest_free_per_bank_bytes, incident.largest_free_bytes)
    holes = plural(explanation.lines[0].hole_count, "hole", "s") if explanation.lines else "several holes"
    match explanation.cause:
        case "full":
            yield f"only {free} are free{each}{missing}"
        case "fragmented":
            yield f"{free} are free{each}, but in {holes}, and the largest is {largest}{missing}"
        case "cores_in_the_way":
            seen = min(line.largest_free_bytes for line in explanation.lines)
            yield (
                f"a block of {largest} is free{each}, but buffers of single cores lie in it: what is clear of them has "
                f"{amount(explanation, seen)} at most{missing}"
            )
        case "room_seen":
            yield "a block was large enough by these figures: memory was freed meanwhile, or the runtime may not use it"
        case "too_large":
            space = max(line.end_address - line.begin_address for line in explanation.lines)
            short = max(0, (incident.requested_per_bank_bytes or 0) - space)
            dram = ", or keep it in DRAM" if is_per_core_memory(incident) else ""
            yield (
                f"there are {amount(explanation, space)} in all: it would not fit if everything were freed "
                f"({amount(explanation, short)} too little); shard it differently, take a smaller data type{dram}"
            )
