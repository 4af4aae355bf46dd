"""Rows that are kept from page to page: those of which no figure has changed are not made again.

What a chip's page says is told by subjects, which have families of their own. A subject first collects the figures its
rows are made of; only where those are others than on the last page, rows and text are made anew.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ttmem.daemon.metrics.families import Family, Labels, Row, Rows
from ttmem.daemon.metrics.rows.lifetime import ChipLifetime
from ttmem.snapshot import DeviceUsage
from ttmem.snapshot.sights.telemetry import ChipTelemetry

__all__ = ["Chip", "Item", "KeptRows", "Subject", "Told"]

Told = list[tuple[Family, Labels, int | float | None]]  # those without a value are left out
Item = tuple[Labels, tuple[Any, ...]]  # the labels that some rows begin with, and the figures they are made of

Kept = tuple[tuple[Any, ...], list[tuple[Family, Row]]]  # figures, and what was made of them


class Chip(NamedTuple):
    """A chip with the labels that all its rows begin with, what the driver says of it, and what happened there."""

    usage: DeviceUsage
    labels: tuple[str, str]  # device and arch
    telemetry: ChipTelemetry | None = None
    happened: ChipLifetime | None = None


class Subject(NamedTuple):
    """`rows(labels, *figures)` makes the rows of an item, of nothing but these."""

    families: tuple[Family, ...]
    items: Callable[[Sequence[Chip]], list[Item]]
    rows: Callable[..., Told]


class KeptRows:
    """The rows of one subject, from page to page."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._items: list[Item] = []
        self._parts: dict[Labels, Kept] = {}
        self._rows = Rows(subject.families)

    def of(self, chips: Sequence[Chip]) -> Rows:
        """Those of the last page, with their text, if they would be the same."""
        items = self._subject.items(chips)
        if items != self._items:
            self._items, self._rows = items, self._made(items)
        return self._rows

    def _made(self, items: Sequence[Item]) -> Rows:
        before, rows_of = self._parts, self._subject.rows
        parts: dict[Labels, Kept] = {}
        for labels, figures in items:
            kept = before.get(labels)
            if kept is None or kept[0] != figures:
                told = rows_of(labels, *figures)
                kept = (figures, [(family, (its, value)) for family, its, value in told if value is not None])
            parts[labels] = kept
        rows = Rows(self._subject.families)
        rows.take([part for _, part in parts.values()])
        self._parts = parts
        return rows
