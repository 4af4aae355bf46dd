"""The words of an explanation: who asked, what came after, who held how much, why it was refused."""

from collections.abc import Iterable, Iterator

from ttmem.analysis import Explanation, MemoryHolder
from ttmem.snapshot.incidents import HeldEntry
from ttmem.view.incidents.words import is_per_core_memory, site_text, sized
from ttmem.view.table import clean
from ttmem.view.texts import age_text, count_text, plural, size_text

__all__ = [
    "after_text",
    "ages_text",
    "amount",
    "asked_by",
    "count_of",
    "entry_line",
    "holder_name",
    "why_text",
]

_KINDS = {"program_binary": "program binary", "trace_buffer": "captured trace", "circular_buffer": "circular buffer"}
_PLURALS = {"program binary": "program binaries"}


def asked_by(explanation: Explanation) -> str:
    """Who asked, in which operation and phase, and what came after."""
    incident = explanation.incident
    site = incident.site
    operation = (site.operation if site is not None and site.frames else None) or incident.operation
    who = site_text(site)
    about = [clean(operation)] if operation and clean(operation) != who else []
    if site is not None and site.tensor:
        about.append(clean(site.tensor))
    if incident.phase:
        about.append(f"phase {clean(incident.phase)}")
        if explanation.phase_run:
            about.append(f"its {_ordinal(explanation.phase_run)} run")
    if incident.repeat_count:
        about.append(f"and {count_text(incident.repeat_count)} more times")
    told = f"{who}   ({', '.join(about)})" if about else who
    after = after_text(explanation)
    return f"{told}; {after}" if after else told


def _ordinal(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number:,}{ending}"


def after_text(explanation: Explanation) -> str:
    """What the program did after it; empty if that is not known."""
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
        return sized(total_bytes if bank_bytes is None else bank_bytes)
    if total_bytes is None and bank_bytes is not None and explanation.bank_count:
        total_bytes = bank_bytes * explanation.bank_count
    return sized(total_bytes) if total_bytes is not None else f"{sized(bank_bytes)} per bank"


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
            block = f", the largest block {largest}" if largest != free else ""
            yield f"only {free} are free{each}{block}{missing}"
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
