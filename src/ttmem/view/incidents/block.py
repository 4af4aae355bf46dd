"""An incident in a few lines: what was asked, by whom, who held the memory, what to do next."""

from collections.abc import Iterator, Sequence

from ttmem.analysis import Explanation, MemoryHolder, ReplayDetails
from ttmem.snapshot.incidents import HeldEntry
from ttmem.snapshot.values import ChipName
from ttmem.view.incidents.explained import ages_text, amount, asked_by, count_of, holder_name, why_text
from ttmem.view.incidents.rows import Row, labelled, titled
from ttmem.view.incidents.words import headline, incident_title, site_text
from ttmem.view.page import PageOptions
from ttmem.view.table import Line, Role, clean, clipped, width_of
from ttmem.view.texts import count_text, plural, size_text

__all__ = ["floor_text", "freeing_text", "holder_rows", "incident_block", "replay_rows"]

_MOST = 5  # holders
_NAME_MOST = 44
_WORD_BYTES = 4


def incident_block(
    explanation: Explanation, devices: Sequence[ChipName], options: PageOptions, next_step: str = ""
) -> list[Line]:
    """The block that `ttmem run` ends with."""
    rows: list[Row] = [("asked by", asked_by(explanation), Role.PLAIN)]
    if explanation.replay is not None:
        rows = replay_rows(explanation.replay)
    if explanation.clash is not None:
        rows += _in_the_way(explanation, options)
    elif explanation.replay is None:
        rows += (("why", text, Role.TITLE) for text in why_text(explanation))
        rows += holder_rows(explanation, _MOST, options)
        rows += (("to fit", text, Role.GOOD) for text in freeing_text(explanation, has_singles=True))
    rows += (("floor", text, Role.PLAIN) for text in floor_text(explanation))
    if next_step:
        rows.append(("next", next_step, Role.INDEX))
    title = titled(incident_title(explanation.incident), headline(explanation.incident, devices), options.width)
    return [*title, *labelled(rows, options.width)]


def replay_rows(replay: ReplayDetails) -> list[Row]:
    """Of a trace that was replayed over a buffer: who made it, who captured, what helps."""
    return [
        ("made by", site_text(replay.made_by), Role.PLAIN),
        ("captured", site_text(replay.captured_by), Role.PLAIN),
        ("to avoid", "allocate it before the capture, or free it before the replay", Role.GOOD),
    ]


def holder_rows(explanation: Explanation, most: int, options: PageOptions) -> Iterator[Row]:
    """The largest by line, with the block that freeing each would open where that is enough."""
    shown = explanation.holders[:most]
    sizes = [amount(explanation, holder.size_bytes, holder.total_bytes) for holder in shown]
    names = [clipped(holder_name(holder), _NAME_MOST, is_ascii=options.is_ascii) for holder in shown]
    widest, longest = max(map(len, sizes), default=0), max(map(width_of, names), default=0)
    for number, (holder, size, name) in enumerate(zip(shown, sizes, names, strict=True)):
        padded = name + " " * (longest - width_of(name))
        text = f"{size:>{widest}}  {padded}   {_held(explanation, holder)}"
        yield "held by" if not number else "", text, Role.PLAIN
    more = explanation.holders[most:]
    if more:
        size = amount(explanation, sum(one.size_bytes for one in more), sum(one.total_bytes for one in more))
        yield "", f"and {count_text(len(more))} more ({size})", Role.DIM


def _held(explanation: Explanation, holder: MemoryHolder) -> str:
    told = f"{count_of(holder)}, {ages_text(explanation, (holder.oldest_time_ns, holder.newest_time_ns))}"
    if not holder.is_freeable:
        return told
    needed, block = explanation.incident.requested_per_bank_bytes, holder.block_if_freed_bytes
    if needed is None or block is None or block < needed or explanation.freeing is None:
        return told
    it = "it" if holder.count == 1 else "them"
    return f"{told}: freeing {it} opens a block of {amount(explanation, block)}"


def freeing_text(explanation: Explanation, *, has_singles: bool = False) -> Iterator[str]:
    """The fewest buffers to free, in one sentence. `has_singles`: leaves it to the holders if one of them is it."""
    freeing = explanation.freeing
    if freeing is None:
        return
    lines = list(dict.fromkeys(site_text(entry.site, 1) for entry in freeing.entries))
    if has_singles and len(freeing.entries) == 1:
        shown = [holder for holder in explanation.holders[:_MOST] if holder.count == 1]
        if any(clean(holder.name or "") == lines[0] for holder in shown):
            return
    count = len(freeing.entries)
    which = "this buffer" if count == 1 else f"these {count_text(count)} buffers"
    names = ", ".join(lines[:3]) + (f" and {len(lines) - 3} more lines" if len(lines) > 3 else "")
    size = amount(explanation, freeing.size_bytes, freeing.total_bytes)
    opened = amount(explanation, freeing.opened_bytes)
    others = ""
    if freeing.choice_count > 1:
        least = "at least " if freeing.choice_count >= 256 else ""
        others = f", as would {least}{plural(freeing.choice_count - 1, 'other choice', 's')} of as few"
    yield f"freeing {which} ({size}, {names}) opens a block of {opened}{others}"


def _in_the_way(explanation: Explanation, options: PageOptions) -> Iterator[Row]:
    """The lowest of the buffers below the end of the circular buffers."""
    clash = explanation.clash
    assert clash is not None
    for number, entry in enumerate(clash.in_the_way[:_MOST]):
        place = "" if entry.address is None else hex(entry.address)
        name = clipped(site_text(entry.site, 1), _NAME_MOST, is_ascii=options.is_ascii)
        age = ages_text(explanation, [entry.time_ns])
        text = f"{place}  {size_text(entry.per_bank_bytes)} per core  {name}, {age}"
        yield "in the way" if not number else "", text, Role.PLAIN
    if len(clash.in_the_way) > _MOST:
        yield "", f"and {count_text(len(clash.in_the_way) - _MOST)} more", Role.DIM


def floor_text(explanation: Explanation) -> Iterator[str]:
    """The lowest L1 buffer, and what circular buffers need below it."""
    floor = explanation.floor
    if floor is None or floor.address is None:
        return
    text = f"lowest L1 buffer {hex(floor.address)}"
    if floor.entry is not None:
        size = size_text(floor.entry.per_bank_bytes)
        guess = ", probably a semaphore" if _is_like_semaphore(floor.entry) else ""
        text += f" is a buffer of {size} per core{guess} ({site_text(floor.entry.site, 1)})"
    if floor.highest is not None:
        program = "a program" if floor.highest.program is None else f"program {floor.highest.program}"
        name = f" ({clean(floor.highest.operation)})" if floor.highest.operation else ""
        text += f"; circular buffers of {program}{name} need up to {hex(floor.highest.end_address)}"
    yield text


def _is_like_semaphore(entry: HeldEntry) -> bool:
    """One word on each core, and no tensor: so the runtime's global semaphores look."""
    is_tensor = entry.site is not None and entry.site.tensor is not None
    return entry.page_bytes == _WORD_BYTES and entry.layout == "height_sharded" and not is_tensor
