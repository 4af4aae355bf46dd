"""A history as a JSON document, and back: the answer to GET /history."""

from typing import Any, get_args

from ttmem.devices import Pool
from ttmem.snapshot.document import SCHEMA
from ttmem.snapshot.fields import Fields, time_text
from ttmem.snapshot.reading import check_schema
from ttmem.snapshot.sights.history import History, Mark, MarkKind, Series
from ttmem.snapshot.usage import Origin

__all__ = ["history_document", "history_from_document"]

Document = dict[str, Any]
_POOLS = {pool.word: pool for pool in Pool}
_KINDS: tuple[MarkKind, ...] = get_args(MarkKind)
_ORIGINS: tuple[Origin, ...] = get_args(Origin)


def history_document(history: History) -> Document:
    return {
        "schema": SCHEMA,
        "end": time_text(history.end_ns),
        "end_ns": history.end_ns,
        "interval_ns": history.interval_ns,
        "series": [
            {
                "device": series.device,
                "uuid": series.uuid,
                "pool": series.pool.word,
                "total": series.capacity_bytes,
                "origin": series.origin,
                "samples": list(series.samples),
            }
            for series in history.series
        ],
        "marks": [
            {
                "time_ns": mark.time_ns,
                "what": mark.what,
                "text": mark.text,
                "pid": mark.pid,
                "device": mark.device,
                "pool": None if mark.pool is None else mark.pool.word,
                "size": mark.size_bytes,
                "count": mark.count,
            }
            for mark in history.marks
        ],
    }


def history_from_document(document: object) -> History:
    """What `history_document` made; VersionMismatch if it is something else."""
    fields = Fields(document)
    check_schema(fields)
    return History(
        end_ns=fields.nanoseconds("end_ns"),
        interval_ns=max(1, fields.nanoseconds("interval_ns")),
        series=tuple(_series(row) for row in fields.items("series")),
        marks=tuple(_mark(row) for row in fields.items("marks")),
    )


def _series(row: Fields) -> Series:
    return Series(
        device=row.integer("device"),
        uuid=row.maybe_text("uuid") or None,
        pool=_POOLS[row.word("pool", tuple(_POOLS))],
        capacity_bytes=row.maybe_integer("total"),
        samples=row.gapped_integers("samples"),
        origin=row.word("origin", _ORIGINS),
    )


def _mark(row: Fields) -> Mark:
    pool = row.maybe_word("pool", tuple(_POOLS))
    return Mark(
        time_ns=row.nanoseconds("time_ns"),
        what=row.word("what", _KINDS),
        text=row.text("text"),
        pid=row.maybe_integer("pid"),
        device=row.maybe_integer("device"),
        pool=_POOLS[pool] if pool else None,
        size_bytes=row.maybe_integer("size"),
        count=row.integer("count"),
    )
