"""Proves that the comparison can fail: plays a workload, corrupts one figure of one chip at one step after the other,
and looks.

    python -m tests.support.tracked.corruption NAME STEPS

It prints for each corruption whether it was found; what the look says without any must agree in between.
"""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from typing import Any
from unittest.mock import patch

from tests.support.tracked import shown
from tests.support.tracked.chip_rows import ACTIVITY, HOLDINGS, Row
from tests.support.tracked.comparison import Comparison
from tests.support.tracked.own_journal import FlatTables, an_own_journal
from tests.support.tracked.shown_steps import ShownSteps
from ttmem import GraphTracker, _native
from ttmem.metal import Truth
from ttmem.metal.workloads import WORKLOADS, Player

Corruption = Callable[[], AbstractContextManager[object]]
# Of each table the figure that is corrupted; tables of the process are only shown where they differ from the chip's.
FIGURES_AT = {"device_pools": 2, "device_kinds": 2, "device_cores": 2, "footprints": 2}
FIGURES_AT |= {"launches": 2, "rings": 3, "stalls": 3, "caches": 3}
assert {*FIGURES_AT, "process_pools", "process_kinds", "process_cores"} == {*HOLDINGS, *ACTIVITY}


class FalseTables(FlatTables):
    """Tables that are wrong about one figure of one chip, and know that this chip is like no other."""

    def __init__(self, ledger: _native.Ledger, chip: int, table: str) -> None:
        super().__init__(ledger)
        self._chip = chip
        self._table = table

    def alike(self) -> list[tuple[int, ...]]:
        groups = [tuple(number for number in group if number != self._chip) for group in super().alike()]
        return [*filter(None, groups), (self._chip,)]

    def rows(self, devices: Iterable[int] | None = None) -> dict[str, Any]:
        rows = super().rows(devices)
        if self._table in rows:
            device_at, *_ = (HOLDINGS | ACTIVITY)[self._table]
            own = next(at for at, row in enumerate(rows[self._table]) if row[device_at] == self._chip)
            rows[self._table][own] = _raised(rows[self._table][own], FIGURES_AT[self._table])
        return rows

    def tally(self, process: int) -> list[Any]:
        rows = super().tally(process)
        if self._table == "tally":  # an allocation is missing here, and there is one too many on the other chips
            at = next(at for at, (on, *_) in enumerate(rows) if len(on) > 1)
            on, kind, flags, has_bytes, count = rows[at]
            others = tuple(number for number in on if number != self._chip)
            rows[at : at + 1] = [(on, kind, flags, has_bytes, count - 1), (others, kind, flags, has_bytes, 1)]
        return rows


def _raised(row: Row, at: int) -> Row:
    return (*row[:at], row[at] + 1, *row[at + 1 :])


def corruptions(comparison: Comparison) -> dict[str, Corruption]:
    """By what is corrupted."""
    journal = comparison.journal
    last = max(number for group in journal.tables.alike() for number in group)
    found: dict[str, Corruption] = {
        f"{table} of the ledger": partial(patch.object, journal, "tables", FalseTables(journal.ledger, last, table))
        for table in (*FIGURES_AT, "tally")
    }
    found["chips that are not alike"] = partial(_all_alike, comparison)
    found["bytes of the truth"] = partial(patch.object, comparison.mesh, "truth", partial(_untrue, comparison))
    found["launches of the truth"] = partial(_launched_once_more, comparison)
    found["document"] = partial(_shown_anew, comparison, "in_document", _wrong_document)
    found["table"] = partial(_shown_anew, comparison, "in_table", _wrong_table)
    return found


@contextmanager
def _all_alike(comparison: Comparison) -> Iterator[None]:
    journal = comparison.journal
    numbers = sorted((number for group in journal.tables.alike() for number in group), reverse=True)
    liar = FalseTables(journal.ledger, -1, "")
    with patch.object(liar, "alike", lambda: [tuple(numbers)]), patch.object(journal, "tables", liar):
        yield


def _untrue(comparison: Comparison) -> Truth:
    truth = type(comparison.mesh).truth(comparison.mesh)
    *others, chip = truth.chips
    pool = next(iter(chip.used_bytes))
    wrong = replace(chip, used_bytes={**chip.used_bytes, pool: chip.used_bytes[pool] + 1})
    return replace(truth, chips=(*others, wrong))


@contextmanager
def _launched_once_more(comparison: Comparison) -> Iterator[None]:
    account = next(account for place, account in comparison.mesh.accounts.items() if len(place.chips) == 1)
    account.launch_count += 1
    try:
        yield
    finally:
        account.launch_count -= 1


@contextmanager
def _shown_anew(comparison: Comparison, name: str, wrong: Callable[[Any, Any], Any]) -> Iterator[None]:
    """What was shown before is not asked for again."""
    steps = ShownSteps(comparison.told.tables)
    with (
        patch.object(comparison, "shown_steps", steps),
        patch.object(shown, name, partial(wrong, getattr(shown, name))),
    ):
        yield


def _wrong_document(in_document: Callable[[Any], dict[int, Any]], snapshot: Any) -> dict[int, Any]:
    made = in_document(snapshot)
    last = made[list(made)[-1]]
    last["used"] = {pool: used + 1 for pool, used in last["used"].items()}
    return made


def _wrong_table(in_table: Callable[[Any], list[dict[str, str]]], snapshot: Any) -> list[dict[str, str]]:
    *others, last = in_table(snapshot)
    return [*others, {pool: f"{used}0" for pool, used in last.items()}]


def is_found(comparison: Comparison, corruption: Corruption) -> bool:
    """Whether a look fails while the figure is wrong."""
    with corruption():
        try:
            comparison.look(is_whole=False)
        except AssertionError:
            return True
    return False


def main(name: str, step_count: str) -> None:
    with an_own_journal() as journal, GraphTracker() as tracker:
        comparison = Comparison(WORKLOADS[name], journal, tracker)
        steps = Player(comparison.mesh).play(WORKLOADS[name].steps(comparison.mesh.chips[0]))
        for _ in range(int(step_count)):
            next(steps)
            comparison.look(is_whole=False)
        for what, corruption in corruptions(comparison).items():
            print(what, "found" if is_found(comparison, corruption) else "missed", sep=": ")
            next(steps)
            comparison.look(is_whole=False)
        steps.close()  # type: ignore[attr-defined]
        comparison.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
