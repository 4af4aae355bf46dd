"""CSV as nvidia-smi writes it: comma and blank between, units in the header and behind every number.

index, dram.used [MiB]
0, 11018 MiB
"""

from typing import NamedTuple, TypeVar

from ttmem.errors import SelectionError
from ttmem.view.queries.fields import BYTES_PER, Field, Question
from ttmem.view.table import clean
from ttmem.view.texts import UNKNOWN

__all__ = ["CsvForm", "csv_header", "csv_line"]

Row = TypeVar("Row")


class CsvForm(NamedTuple):
    """The words of `--format`."""

    has_header: bool = True
    has_units: bool = True

    @classmethod
    def from_text(cls, text: str) -> "CsvForm":
        """From `csv[,noheader][,nounits]`; anything else is a SelectionError."""
        first, *rest = [word.strip() for word in text.split(",")]
        if first != "csv" or not set(rest) <= {"noheader", "nounits"}:
            raise SelectionError(f"expected csv[,noheader][,nounits], found {text!r}")
        return cls(has_header="noheader" not in rest, has_units="nounits" not in rest)


def csv_header(question: Question[Row], form: CsvForm) -> str:
    return ", ".join(f"{name} [{field.unit}]" if field.unit and form.has_units else name for name, field in question)


def csv_line(question: Question[Row], row: Row, form: CsvForm) -> str:
    return ", ".join(_cell(field, row, form) for _, field in question)


def _cell(field: Field[Row], row: Row, form: CsvForm) -> str:
    value = field.value(row)
    if value is None or value == "":
        return UNKNOWN
    if isinstance(value, str):
        return _quoted(clean(value))
    amount = f"{value:.2f}" if isinstance(value, float) else str(value // BYTES_PER.get(field.unit, 1))
    return f"{amount} {field.unit}" if field.unit and form.has_units else amount


def _quoted(text: str) -> str:
    """A text that would be taken for two cells is quoted; nvidia-smi has none of that kind."""
    return '"' + text.replace('"', '""') + '"' if "," in text or text.startswith('"') else text
