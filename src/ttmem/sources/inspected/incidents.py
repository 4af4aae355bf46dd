"""Incidents of a journal as a document: what each slot says, without the copies of what was alive."""

from collections.abc import Callable, Iterator

from ttmem.devices import Pool
from ttmem.events.parts import Document, PartReader, text_of, words_of
from ttmem.tracking import RefusalKind

__all__ = ["incident_counts", "incident_heads"]

_FIGURES = ("requested", "per_bank", "free", "largest", "bank_free", "bank_largest")
_UNKNOWN = (1 << 64) - 1
_FLAGS = {1: "read_later", 2: "no_copy", 4: "of_text", 8: "per_core"}
_NUMBERS = (
    *("banks", "space_begin", "space_end", "program", "cb_end", "lowest_buffer", "trace", "address", "launches"),
    *("sequence_before", "sequence_after", "entries", "left_out", "left_out_bytes", "repeats", "time", "last_time"),
)


def incident_counts(header: PartReader) -> Document:
    """How many there were, by kind and pool; repetitions are not counted."""
    words = list(words_of(header.raw("incident_counts")))
    kinds = [words[start : start + len(Pool)] for start in range(0, len(words), len(Pool))]
    return {
        RefusalKind.numbered(kind).word: {pool.word: count for pool, count in zip(Pool, counts, strict=True) if count}
        for kind, counts in enumerate(kinds)
        if any(counts)
    }


def incident_heads(slots: Iterator[tuple[int, PartReader]], text: Callable[[int], str]) -> list[Document]:
    """Those whose slots are whole at this instant, oldest first; an unknown figure is null."""
    heads = [_head(slot, text) for _, slot in slots if _is_whole(slot)]
    return sorted(heads, key=lambda head: head["number"])


def _is_whole(slot: PartReader) -> bool:
    commit = slot.integer("commit")
    return commit != 0 and not commit & 1


def _head(slot: PartReader, text: Callable[[int], str]) -> Document:
    place, sites, others = (slot.integer(name) for name in ("place", "site_and_phase", "other_site_and_cores"))
    figures = slot.integers(*_FIGURES)
    return {
        "number": slot.integer("commit") >> 1,
        "kind": RefusalKind.numbered(place & 0xFF).word,
        "pool": Pool.numbered(place >> 8 & 0xFF).word,
        "target": place >> 16 & 0xFFFF,
        "thread": place >> 32 & 0xFFFF,
        "flags": [word for bit, word in _FLAGS.items() if place >> 48 & bit],
        **{name: None if figure == _UNKNOWN else figure for name, figure in figures.items()},
        **slot.integers(*_NUMBERS),
        "phase": text(sites >> 32),
        "site": sites & 0xFFFF_FFFF,
        "site_text": text(sites & 0xFFFF_FFFF),
        "other_site": others & 0xFFFF_FFFF,
        "core_set_text": text(others >> 32),
        "text": text_of(slot.raw("text")[: slot.integer("text_bytes")]),
    }
