"""Lives as rows, one for each allocation, with both its ends: what each field is, and the lines of CSV.

Fields are those of the lives reader, with what their numbers stand for. Lines are made by the native core, of whole
columns.
"""

import struct
from collections.abc import Iterator
from typing import Any, NamedTuple

from ttmem.devices import BufferLayout, Kind, Pool
from ttmem.recording import Batch, Ending, LifeFlag, Lives, Recording
from ttmem.recording.csv_rows import ColumnForm, CsvColumn, csv_rows
from ttmem.recording.segments import EVENTS

__all__ = ["COLUMNS", "LifeColumn", "LifeRows"]

_CLOCKS = "clocks"
_QUOTED = frozenset(',"\n\r')


class LifeColumn(NamedTuple):
    """A field of each row: its name, of which column of the reader it is made, how, and by which table of texts."""

    name: str
    source: str
    form: ColumnForm = ColumnForm.NUMBER
    table: str = ""
    type: str = "UBIGINT"  # in SQL


def _text(name: str, table: str = "", source: str = "") -> LifeColumn:
    return LifeColumn(name, source or name, ColumnForm.TEXT, table or name, "VARCHAR")


def _number(name: str) -> LifeColumn:
    return LifeColumn(name, name)


def _maybe(name: str, source: str = "") -> LifeColumn:
    return LifeColumn(name, source or name, ColumnForm.NUMBER_OR_NONE)


COLUMNS = (
    _number("process"),
    LifeColumn("pid", "process", ColumnForm.TEXT, "pid"),
    _text("label", source="process"),
    _text("command", source="process"),
    _text("chips"),
    _number("target"),
    _text("kind"),
    _text("pool"),
    *map(_number, ("id", "address", "bytes", "begin_bytes", "requested", "per_bank", "core_count")),
    _text("core_set", "texts"),
    _maybe("page_bytes"),
    _text("layout"),
    _number("begin_ns"),
    LifeColumn("begin_unix_ns", "begin_ns", ColumnForm.WALL_TIME),
    _maybe("end_ns"),
    _maybe("latest_end_ns"),
    _text("ending"),
    _text("flags"),
    _maybe("thread"),
    *(_text(name, "texts") for name in ("site", "operation", "tensor")),
    LifeColumn("program", "program", ColumnForm.PROGRAM),
    _text("phase"),
    _maybe("phase_number", "phase"),
    _number("begin_sequence"),
    _maybe("end_sequence"),
    *map(_number, ("begin_mark", "end_mark", "begin_launch", "end_launch")),
)
HEADER = ",".join(column.name for column in COLUMNS).encode() + b"\n"


class LifeRows:
    """The rows of a recording, or of a time of it, some ten thousand at once."""

    def __init__(self, recording: Recording, *, from_ns: int | None = None, until_ns: int | None = None) -> None:
        self._lives = Lives(recording, from_ns=from_ns or 0, until_ns=until_ns, events=())
        self._texts: list[bytes] = []
        self._chips: list[bytes] = []
        self.clocks = _clocks(recording)  # pairs: from when on the wall's clock was how far ahead
        self.count = 0  # so far

    def batches(self) -> Iterator[Batch]:
        """As the reader has them, but for empty ones."""
        for batch in self._lives.batches():
            if batch.life_count:
                self.count += batch.life_count
                yield batch

    def csv(self) -> Iterator[bytes]:
        """Lines, the header first."""
        yield HEADER
        for batch in self.batches():
            tables: dict[str, list[bytes] | bytes] = {**self.tables(), _CLOCKS: self.clocks}
            yield csv_rows(
                [
                    CsvColumn(
                        bytes(batch.lives[column.source]),
                        column.form,
                        tables.get(_CLOCKS if column.form is ColumnForm.WALL_TIME else column.table),
                    )
                    for column in COLUMNS
                ]
            )

    def tables(self) -> dict[str, list[bytes]]:
        """What the numbers of texts stand for by now: fields of CSV, in the order of the numbers."""
        texts, chip_sets, processes = self._lives.texts, self._lives.chip_sets, self._lives.processes
        self._texts += [_field(text.replace("\n", " < ")) for text in texts[len(self._texts) :]]  # innermost first
        self._chips += [" ".join(f"{chip:#x}" for chip in chips).encode() for chips in chip_sets[len(self._chips) :]]
        return {
            **_WORDS,
            "texts": self._texts,
            "chips": self._chips,
            "pid": [_field(str(one.pid)) for one in processes],
            "label": [_field(one.label) for one in processes],
            "command": [_field(one.command) for one in processes],
            "phase": [b"", *(_field(run.name) for run in self._lives.phases)],  # number 0 is none
        }


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
    names = {flag: (flag.name or "").lower().removeprefix("is_") for flag in LifeFlag}
    return [
        " ".join(name for flag, name in names.items() if flag & flags).encode() for flags in range(1 << len(LifeFlag))
    ]


_WORDS = {
    "kind": _words(Kind),
    "pool": _words(Pool),
    "layout": _words(BufferLayout),
    "ending": [one.name.lower().encode() for one in Ending],
    "flags": _flag_words(),
}


def _field(text: str) -> bytes:
    """As CSV has it: in quotation marks where it must."""
    if _QUOTED & set(text):
        text = '"' + text.replace('"', '""').replace("\r", " ").replace("\n", " ") + '"'
    return text.encode("utf-8", "replace")
