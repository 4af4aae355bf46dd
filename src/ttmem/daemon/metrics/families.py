"""The words of a metrics page: families with their type, unit and labels, and the rows a page is made of.

A row without a value is left out: what nobody knows is absent, never 0.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal

__all__ = ["Family", "Labels", "Page", "Row", "Rows", "Type"]

Type = Literal["gauge", "counter", "info"]
Labels = tuple[str, ...]
Row = tuple[Labels, int | float]


@dataclass(frozen=True, eq=False, slots=True)
class Family:
    """One metric of the page: its name as it is queried, what it tells, and the names of its labels. There is one of
    each, so they are told apart by identity, which is fastest."""

    name: str
    help: str
    labels: Labels = ()
    type: Type = "gauge"

    @property
    def unit(self) -> str:
        """The base unit its name ends with; empty for plain counts and for counters."""
        return next((unit for unit in ("bytes", "seconds") if self.name.endswith(f"_{unit}")), "")

    @property
    def stem(self) -> str:
        """Its name as OpenMetrics declares it: without the suffix that its type gives every sample."""
        suffix = {"gauge": "", "counter": "_total", "info": "_info"}[self.type]
        return self.name.removesuffix(suffix)


class Rows:
    """The rows of a part of a page, family by family in their order; a family without rows is not told."""

    def __init__(self, families: Iterable[Family]) -> None:
        self._rows: dict[Family, list[Row]] = {family: [] for family in families}
        self.blocks: dict[Family, str] | None = None  # as text, once that was made; then no row is added any more

    def __iter__(self) -> Iterator[tuple[Family, list[Row]]]:
        return ((family, rows) for family, rows in self._rows.items() if rows)

    def add(self, family: Family, labels: Labels, value: int | float | None) -> None:
        if value is not None:
            self._rows[family].append((labels, value))

    def take(self, parts: Iterable[Sequence[tuple[Family, Row]]]) -> None:
        """Rows of any families: the very same, by which whoever kept them sees that they have not changed."""
        lists = self._rows
        for part in parts:
            for family, row in part:
                lists[family].append(row)


class Page:
    """All parts of a page, each with families of its own."""

    def __init__(self, *parts: Rows) -> None:
        self.parts = parts

    def __iter__(self) -> Iterator[tuple[Family, list[Row]]]:
        return chain.from_iterable(self.parts)
