"""Columns of numbers as lines of CSV, by the native core: for exports of millions of lives."""

from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple

from ttmem import _native

__all__ = ["ColumnForm", "CsvColumn", "csv_rows", "wall_times"]


class ColumnForm(IntEnum):
    """What the numbers of a column stand for."""

    NUMBER = 0
    NUMBER_OR_NONE = 1  # nothing for 0
    TEXT = 2  # a place in the table, a list of fields that are quoted already
    WALL_TIME = 3  # times since boot; the table has pairs of words: from when on, and what to add; nothing for 0
    PROGRAM = 4  # nothing for 0; the program whose number is 0 has one of its own


class CsvColumn(NamedTuple):
    """One field of all lines: 64-bit words, and what they mean."""

    words: bytes
    form: ColumnForm
    table: list[bytes] | bytes | None = None


def csv_rows(fields: Sequence[CsvColumn]) -> bytes:
    """A line for each word of a field; all have as many."""
    return _native.recording.csv_rows([(field.words, int(field.form), field.table) for field in fields])


def wall_times(words: bytes, pairs: bytes) -> bytes:
    """Times since boot as times since 1970, by pairs as of `ColumnForm.WALL_TIME`."""
    return _native.recording.wall_times(words, pairs)
