"""A figure that can be asked for by name, and the list of all of them for people."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Generic, TypeVar

from ttmem.errors import SelectionError
from ttmem.view.table import Column, Line, Role, cell, table

__all__ = ["BYTES_PER", "Field", "Question", "chosen_fields", "field_list"]

BYTES_PER = {"MiB": 1 << 20, "KiB": 1 << 10}
_NEAREST = 3

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Field(Generic[Row]):
    """One column. In a unit of `BYTES_PER` the value is in bytes, and written in whole units, rounded down."""

    name: str
    purpose: str
    value: Callable[[Row], int | float | str | None]  # None: nobody knows
    unit: str = ""
    aliases: tuple[str, ...] = ()


Question = tuple[tuple[str, Field[Row]], ...]  # columns by the name they were asked for


def chosen_fields(names: str, fields: Sequence[Field[Row]]) -> Question[Row]:
    """The columns of a comma list. A name that is none is a SelectionError with the nearest ones."""
    known = {name: field for field in fields for name in (field.name, *field.aliases)}
    asked = [name.strip() for name in names.split(",")]
    return tuple((name, known[name]) for name in asked if name in known or _refuse(name, known))


def _refuse(name: str, known: Iterable[str]) -> bool:
    nearest = get_close_matches(name, list(known), n=_NEAREST, cutoff=0.5)
    first = name.partition(".")[0]
    nearest = nearest or [one for one in known if first and one.startswith(first)][:_NEAREST]
    raise SelectionError(f"no field {name!r}" + (f"; nearest: {', '.join(nearest)}" if nearest else ""))


def field_list(fields: Sequence[Field[Row]], *, width: int | None) -> list[Line]:
    """Every field with its unit and meaning."""
    rows = []
    for field in fields:
        names = ", ".join((field.name, *field.aliases))
        rows.append([cell(names, Role.INDEX), cell(field.unit or "-", Role.DIM), cell(field.purpose)])
    return table([Column("FIELD"), Column("UNIT"), Column("MEANING")], rows, width=width)
