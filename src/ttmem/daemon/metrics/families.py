"""The words of a metrics page: families with their type, unit and labels, and the rows a page is made of.

A row without a value is left out: what is not known is absent, never 0.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

__all__ = ["ChipLifetime", "Family", "Intake", "Labels", "Lifetime", "Page", "Row", "Type", "lifetime_from_rows"]

Type = Literal["gauge", "counter", "info"]
Labels = tuple[str, ...]
Row = tuple[Labels, int | float]


@dataclass(frozen=True, eq=False, slots=True)
class Family:
    """One metric of the page: its name as it is queried, what it means, and the names of its labels."""

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


class Page(Collector):
    """The rows of a page, family by family in their order, as prometheus_client writes them."""

    def __init__(self, families: Iterable[Family]) -> None:
        self._rows: dict[Family, list[Row]] = {family: [] for family in families}

    def __iter__(self) -> Iterator[tuple[Family, list[Row]]]:
        """Those that have rows."""
        return ((family, rows) for family, rows in self._rows.items() if rows)

    def add(self, family: Family, labels: Labels, value: int | float | None) -> None:
        if value is not None:
            self._rows[family].append((labels, value))

    def collect(self) -> Iterator[Metric]:
        return (_metric(family, rows) for family, rows in self)


def _metric(family: Family, rows: Iterable[Row]) -> Metric:
    """An empty label is one that is not there."""
    metric = Metric(family.stem, family.help, family.type, family.unit)
    for labels, value in rows:
        given = {name: _clean(label) for name, label in zip(family.labels, labels, strict=True) if label}
        metric.add_sample(family.name, given, value)
    return metric


def _clean(label: str) -> str:
    return label if label.isascii() else label.encode(errors="replace").decode()


class ChipLifetime(NamedTuple):
    """What happened on one chip; the tuples by the numbers of pools, stalls and caches."""

    launches: int
    clashes: int
    allocations: Sequence[int]
    frees: Sequence[int]
    refusals: Sequence[int]
    stalls: Sequence[int]
    caches: Sequence[Sequence[int]]  # by outcome


class Intake(NamedTuple):
    """What was read from one kind of source, and what was not."""

    events: int = 0
    lost: int = 0
    skipped: int = 0
    untabled: int = 0
    processes: int = 0
    last_ns: int = 0  # when the newest of them was said; 0 before there was one


class Lifetime(NamedTuple):
    """Everything since the beginning; chips by the numbers of the ledger."""

    chips: dict[int, ChipLifetime]
    journals: Intake
    sockets: Intake
    incidents: tuple[tuple[int, int, int], ...] = ()  # kind, pool, how many: each once, whatever its chips


def lifetime_from_rows(rows: Sequence[Any]) -> Lifetime:
    """What `Ledger.lifetime()` hands out."""
    chips, journals, sockets, incidents = rows
    return Lifetime(
        {number: ChipLifetime(*figures) for number, *figures in chips}, Intake(*journals), Intake(*sockets), incidents
    )
