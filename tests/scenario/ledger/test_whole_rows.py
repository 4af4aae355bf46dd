"""Random stories of several real processes: whole rows say what a snapshot of the same ledger says, and keep their
version while nothing of them changes."""

import os
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.support.journals.reporters import CHIP_FACTS, Command, Nursery, Reporter
from tests.support.server.server_bytes import alloc, free, kernel_load
from tests.support.server.server_serving import Engine, an_engine
from tests.support.simulated.whole_rows import WholeRows
from tests.support.timing.waiting import wait_until
from ttmem._native import Ledger, testing

MB = 1 << 20
# index, arch, board, grid, banks, capacities by pool, kernel ring
KNOWN_FACTS = ("wormhole_b0", "n150", (8, 8), (12, 64), (12 << 30, 12 * MB, 64 * MB, MB, *(0,) * 6), 70_656)
CORE_SETS = ("0,0-7,7", "0,0-3,3", "1,1")
CHIPS, STRANGER = 5, 200
STEPS, CALLS = 12, 8
DRAM, L1, L1_SMALL = 0, 1, 3


@pytest.fixture
def engine() -> Iterator[Engine]:
    with an_engine() as engine:
        yield engine


class Story:
    """A reporter on a few chips, a mesh and a target that nobody opened, and what it does by chance."""

    def __init__(self, nursery: Nursery, directory: Path, dice: Random) -> None:
        self.reporter: Reporter = nursery.start(directory)
        self._dice = dice
        first = dice.randrange(CHIPS - 1)
        facts = [("open_device", 0x50 + chip, chip, *KNOWN_FACTS) for chip in range(first, first + 2)]
        chips = self.reporter.do(*facts)
        [mesh] = self.reporter.do(("open_mesh", 1 + first, 1, 2, chips))
        self._targets = [*chips, mesh, mesh, STRANGER]
        self._sets = self.reporter.do(*[("intern", text) for text in CORE_SETS])
        [self._phase] = self.reporter.do(("intern", "decode"))

    def go_on(self) -> None:
        """Several calls, and perhaps a phase around them."""
        has_phase = self._dice.random() < 0.3
        [number] = self.reporter.do(("begin_phase", self._phase)) if has_phase else [0]
        self.reporter.do(*[self._call() for _ in range(CALLS)])
        if has_phase and self._dice.random() < 0.7:
            self.reporter.do(("end_phase", number))

    def _call(self) -> Command:
        dice = self._dice
        target, id, program = dice.choice(self._targets), dice.randrange(1, 9), dice.randrange(1, 4)
        size = dice.choice((64, 4096, 1 << 16, MB))
        address = dice.choice((0, 0x1000 * id, 90_000 + size * id))
        calls: list[Command] = [
            ("report_buffer_alloc", target, id, 64 * size, 63 * size, address, size, dice.choice((DRAM, L1, L1_SMALL))),
            ("report_buffer_alloc", target, id, 64 * size, 63 * size, address, size, L1),
            ("report_buffer_free", target, id),
            ("report_cb_alloc", target, id, 80_000, size % 50_000, 64, 0, program, 2, 0, self._sets[0]),
            ("report_cb_alloc", target, id, 90_000, 2048, 16, 0, dice.choice((0, program)), 2, 0, self._sets[1]),
            ("report_kernel_load", target, id, dice.choice((5, 6)), 57_344, 16),
            ("report_binary_status", target, program, 2, 9000),
            ("report_launch", target, program),
            ("report_ring", target, 1, 4096, 512, 2, 1, 70_656),
            ("report_cache", target, 0, dice.randrange(2), 4096, 1, 4096),
            ("report_out_of_memory", target, 2, 4096, 1024, 512),
            ("report_clash", target, program, 0x9000, 0x8000),
            ("report_incident", target, 1, 2),
            ("set_label", dice.choice(("one", "another"))),
        ]
        return dice.choice(calls)


def _settle(ledger: Ledger) -> None:
    wait_until(lambda: ledger.drain() == 0 and not _settling(ledger))


def _settling(ledger: Ledger) -> list[Any]:
    return [row for row in testing.flat_rows(ledger)["processes"] if row["reason"] == "settling"]


def _reason(ledger: Ledger, key: int) -> str:
    ledger.drain()
    return "".join(row["reason"] for row in testing.flat_rows(ledger)["processes"] if row["key"] == key)


@pytest.mark.parametrize("seed", range(4))
def test_they_say_what_a_snapshot_says_whatever_happens(
    nursery: Nursery, journals: Path, engine: Engine, seed: int
) -> None:
    dice, ledger = Random(seed), engine.ledger
    stories = [Story(nursery, journals, dice) for _ in range(3)]
    keys = [story.reporter.attach_to(ledger) for story in stories]
    rows, lines = WholeRows(ledger), [engine.line(), engine.line()]
    for _ in range(STEPS):
        dice.choice(stories).go_on()
        line, chip = dice.choice(lines), dice.choice((0, 7, 8))
        line.say(alloc(dice.randrange(5), 640, device=chip), kernel_load(2, 128, device=chip), free(3, device=chip))
        line.counters()
        _settle(ledger)
        rows.check()
    ledger.reset_peaks()
    rows.check()
    WholeRows(ledger).check()
    stories[0].reporter.kill()
    wait_until(lambda: ledger.drain() == 0 and _has_ended(ledger, keys[0]))
    rows.check()
    os.truncate(stories[1].reporter.journal, 8192)
    wait_until(lambda: _reason(ledger, keys[1]) == "damaged")
    rows.check()
    for line in lines:
        line.close()
    rows.check()
    testing.forget_ended(ledger)
    rows.check()
    stories[1].reporter.kill()


def _has_ended(ledger: Ledger, key: int) -> bool:
    return any(row["state"] == "ended" for row in testing.flat_rows(ledger)["processes"] if row["key"] == key)


def test_a_late_reader_and_openers_who_contradict_each_other(nursery: Nursery, journals: Path) -> None:
    dice = Random(9)
    ledger = Ledger()
    one, other = Story(nursery, journals, dice), nursery.start(journals)
    other.do(("open_device", 0x50, 0, "blackhole", *KNOWN_FACTS[1:]), ("report_buffer_alloc", 1, 1, 1 << 50))
    for reporter in (one.reporter, other):
        reporter.attach_to(ledger)
    rows = WholeRows(ledger)
    for _ in range(4):
        one.go_on()
        _settle(ledger)
        rows.check()
    ledger.describe_by_driver(0x50, "blackhole", "p150", 32 << 30, 200 << 20)
    rows.check()


def test_names_that_are_no_text_come_as_text(nursery: Nursery, journals: Path) -> None:
    reporter = nursery.start(journals)
    reporter.do(("open_device", 0x60, *CHIP_FACTS), ("set_label", "a \ud800 b"), ("report_buffer_alloc", 1, 1, 64))
    ledger = Ledger()
    reporter.attach_to(ledger)
    _settle(ledger)
    [(_, _, row)] = ledger.look()[2]
    assert row[5].startswith("a ")
    row[5].encode()


def test_details_are_only_of_those_asked_for(nursery: Nursery, journals: Path) -> None:
    ledger = Ledger()
    keys = [Story(nursery, journals, Random(at)).reporter.attach_to(ledger) for at in range(2)]
    _settle(ledger)
    found = {key: row[-1] for key, _, row in ledger.look([keys[1]])[2]}
    assert found[keys[0]] is None
    assert len(found[keys[1]]) == 8
    others: Any = "some"
    with pytest.raises(ValueError, match="keys of processes"):
        ledger.look(others)
