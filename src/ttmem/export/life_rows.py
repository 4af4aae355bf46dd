"""Lives as lines of CSV, one for each allocation, with both its ends: for CSV itself, and on the way to Parquet.

Columns are those of the lives reader, with what their numbers stand for. Lines are made by the native core, of whole
columns; here is said what each field is.
"""

import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from ttmem.devices import BufferLayout, Kind, Pool
from ttmem.recording import Batch, Ending, LifeFlag, Lives, Recording
from ttmem.recording.csv_rows import Field, Form, csv_rows
from ttmem.recording.reader import EVENTS

__all__ = ["COLUMNS", "HEADER", "LifeLines"]

_FLAGS_MOST = 1 << len(LifeFlag)
_QUOTED = frozenset(',"\n\r')


class LifeColumn(NamedTuple):
    """A field of each line: its name, its type in SQL, of which column of the reader it is made, and how."""

    name: str
    type: str
    source: str
    form: Form = Form.NUMBER
    table: "Callable[[LifeLines], Any] | None" = None


def _text(name: str, table: "Callable[[LifeLines], Any]", source: str = "") -> LifeColumn:
    return LifeColumn(name, "VARCHAR", source or name, Form.TEXT, table)


def _number(name: str, source: str = "") -> LifeColumn:
    return LifeColumn(name, "UBIGINT", source or name)


def _maybe(name: str, source: str = "") -> LifeColumn:
    return LifeColumn(name, "UBIGINT", source or name, Form.NUMBER_OR_NONE)


COLUMNS = (
    _number("process"),
    LifeColumn("pid", "UBIGINT", "process", Form.TEXT, lambda lines: lines.processes("pid")),
    _text("label", lambda lines: lines.processes("label"), "process"),
    _text("command", lambda lines: lines.processes("command"), "process"),
    _text("chips", lambda lines: lines.chips()),
    _number("target"),
    _text("kind", lambda lines: _words(Kind)),
    _text("pool", lambda lines: _words(Pool)),
    _number("id"),
    _number("address"),
    _number("bytes"),
    _number("begin_bytes"),
    _number("requested"),
    _number("per_bank"),
    _number("core_count"),
    _text("core_set", lambda lines: lines.texts()),
    _maybe("page_bytes"),
    _text("layout", lambda lines: _words(BufferLayout)),
    _number("begin_ns"),
    LifeColumn("begin_unix_ns", "UBIGINT", "begin_ns", Form.WALL_TIME, lambda lines: lines.clocks()),
    _maybe("end_ns"),
    _maybe("latest_end_ns"),
    _text("ending", lambda lines: [one.name.lower().encode() for one in Ending]),
    _text("flags", lambda lines: _flag_words()),
    _maybe("thread"),
    _text("site", lambda lines: lines.texts()),
    _text("operation", lambda lines: lines.texts()),
    _text("tensor", lambda lines: lines.texts()),
    LifeColumn("program", "UBIGINT", "program", Form.PROGRAM),
    _text("phase", lambda lines: lines.phases()),
    _maybe("phase_number", "phase"),
    _number("begin_sequence"),
    _maybe("end_sequence"),
    _number("begin_mark"),
    _number("end_mark"),
    _number("begin_launch"),
    _number("end_launch"),
)
HEADER = ",".join(column.name for column in COLUMNS).encode() + b"\n"


class LifeLines:
    """The lines of a recording, or of a time of it, some thousand lives at once."""

    def __init__(self, recording: Recording, *, from_ns: int | None = None, until_ns: int | None = None) -> None:
        self._recording = recording
        self._lives = Lives(recording, from_ns=from_ns or 0, until_ns=until_ns, events=())
        self._texts: list[bytes] = []
        self._chips: list[bytes] = []
        self._clocks = _clocks(recording)
        self.life_count = 0

    def __iter__(self) -> Iterator[bytes]:
        for batch in self._lives.batches():
            if batch.life_count:
                self.life_count += batch.life_count
                yield self._lines(batch)

    def _lines(self, batch: Batch) -> bytes:
        columns = batch.lives
        made: dict[Any, Any] = {}
        fields = []
        for column in COLUMNS:
            if column.table is not None and column.table not in made:
                made[column.table] = column.table(self)
            table = made[column.table] if column.table is not None else None
            fields.append(Field(bytes(columns[column.source]), column.form, table))
        return csv_rows(fields)

    # ---- what numbers stand for

    def texts(self) -> list[bytes]:
        """Sites, operations, tensors, sets of cores; lines of a site from the innermost outwards."""
        known = self._lives.texts
        self._texts += [_field(text.replace("\n", " < ")) for text in known[len(self._texts) :]]
        return self._texts

    def chips(self) -> list[bytes]:
        """Unique ids, as everywhere."""
        known = self._lives.chip_sets
        self._chips += [" ".join(f"{chip:#x}" for chip in chips).encode() for chips in known[len(self._chips) :]]
        return self._chips

    def processes(self, what: str) -> list[bytes]:
        """What is known of each."""
        return [_field(str(getattr(one, what))) for one in self._lives.processes]

    def phases(self) -> list[bytes]:
        """Their names; number 0 is none."""
        return [b"", *(_field(run.name) for run in self._lives.phases)]

    def clocks(self) -> bytes:
        """From when on the wall's clock was how far ahead."""
        return self._clocks


def _clocks(recording: Recording) -> bytes:
    pairs = [
        (block.first_ns, block.wall_offset_ns & (1 << 64) - 1)
        for _, _, block in recording.blocks
        if block.kind == EVENTS and block.first_ns
    ]
    pairs.sort()
    return b"".join(struct.pack("<QQ", *pair) for pair in pairs or [(0, 0)])


def _words(words: Any) -> list[bytes]:
    """By number: every number that a byte may be has one."""
    return [words.numbered(number).word.encode() for number in range(256)]


def _flag_words() -> list[bytes]:
    return [
        " ".join(flag.name.lower().removeprefix("is_") for flag in LifeFlag if flag & flags and flag.name).encode()
        for flags in range(_FLAGS_MOST)
    ]


def _field(text: str) -> bytes:
    if not _QUOTED & set(text):
        return text.encode("utf-8", "replace")
    quoted: Sequence[str] = ('"', text.replace('"', '""').replace("\r", " "), '"')
    return "".join(quoted).encode("utf-8", "replace")
