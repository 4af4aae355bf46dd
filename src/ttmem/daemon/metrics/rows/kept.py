"""Rows that are kept from page to page: those of which no figure has changed are not made again.

What a chip's page says is told by subjects, which have families of their own. A subject first collects the figures its
rows are made of; only where those are others than on the last page, rows and text are made anew.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ttmem.daemon.metrics.families import Family, Labels, Part, Rows
from ttmem.daemon.metrics.rows.lifetime import ChipLifetime
from ttmem.snapshot import DeviceUsage
from ttmem.snapshot.sights.telemetry import ChipTelemetry

__all__ = ["Chip", "Item", "KeptRows", "Subject"]

Item = tuple[Labels, tuple[Any, ...]]  # the labels that some rows begin with, and the figures they are made of


class Chip(NamedTuple):
    """A chip with the labels that all its rows begin with, what the driver says of it, and what happened there."""

    usage: DeviceUsage
    labels: tuple[str, str]  # device and arch
    telemetry: ChipTelemetry | None = None
    happened: ChipLifetime | None = None


class Subject(NamedTuple):
    """`add(part, labels, *figures)` makes the rows of an item, of nothing but these."""

    families: tuple[Family, ...]
    items: Callable[[Sequence[Chip]], list[Item]]
    add: Callable[..., None]


class KeptRows:
    """The rows of one subject, from page to page."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._items: list[Item] = []
        self._parts: dict[Labels, tuple[tuple[Any, ...], Part]] = {}
        self._rows = Rows(subject.families)

    def of(self, chips: Sequence[Chip]) -> Rows:
        """Those of the last page, with their text, if they would be the same."""
        items = self._subject.items(chips)
        if items != self._items:
            self._items, self._rows = items, self._made(items)
        return self._rows

    def _made(self, items: Sequence[Item]) -> Rows:
        rows, before = Rows(self._subject.families), self._parts
        self._parts = {}
        for labels, figures in items:
            kept = before.get(labels)
            if kept is None or kept[0] != figures:
                kept = (figures, Part())
                self._subject.add(kept[1], labels, *figures)
            self._parts[labels] = kept
            rows.take(kept[1])
        return rows
