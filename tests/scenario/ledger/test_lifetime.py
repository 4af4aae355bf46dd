"""Sums of what happened never fall: not when a process ends, not when it is forgotten, not when another begins."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.journals.reporters import CHIP_FACTS, Nursery, a_nursery
from tests.support.timing.waiting import wait_until
from ttmem._native import Ledger, testing
from ttmem.daemon.metrics.families import ChipLifetime, Lifetime, lifetime_from_rows
from ttmem.devices import BufferType, Pool
from ttmem.tracking import Cache, CacheOutcome, Stall

CHIP, OTHER, MESH = 1, 2, 3  # targets, in the order they are opened


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    with a_nursery() as one:
        yield one


@pytest.fixture
def ledger() -> Ledger:
    return Ledger()


def work(nursery: Nursery, directory: Path, ledger: Ledger) -> int:
    """A process that does a little of everything on a chip, launches on a mesh of two, and ends. Its key."""
    reporter = nursery.start(directory)
    reporter.do(
        ("open_device", 0xA1, *CHIP_FACTS),
        ("open_device", 0xA2, *CHIP_FACTS),
        ("open_mesh", 7, 1, 2, (CHIP, OTHER)),
    )
    key = reporter.attach_to(ledger)
    ledger.drain()
    reporter.do(
        ("report_launch", MESH, 1),
        ("report_launch", CHIP, 1),
        ("report_buffer_alloc", CHIP, 7, 4096, 4096, 0, 0, int(BufferType.L1)),
        ("report_buffer_alloc", CHIP, 8, 4096, 4096, 0, 0, int(BufferType.L1)),
        ("report_buffer_free", CHIP, 8, int(BufferType.L1)),
        ("report_out_of_memory", CHIP, int(Pool.L1), 64),
        ("report_out_of_memory", MESH, int(Pool.CB), 64),
        ("report_clash", CHIP, 1, 0x9000, 0x8000),
        ("report_ring", CHIP, 1, 64, 0, 1, int(Stall.SPACE)),
        ("report_cache", CHIP, int(Cache.JIT), int(CacheOutcome.MISS)),
        ("report_cache", CHIP, int(Cache.JIT), int(CacheOutcome.HIT)),
    )
    ledger.drain()
    reporter.kill()
    wait_until(lambda: ledger.drain() == 0 and state_of(ledger, key) == "ended")
    return key


def state_of(ledger: Ledger, key: int) -> str:
    return str(next(row["state"] for row in testing.flat_rows(ledger)["processes"] if row["key"] == key))


def happened(ledger: Ledger) -> Lifetime:
    return lifetime_from_rows(ledger.lifetime())


def of_first(lifetime: Lifetime) -> ChipLifetime:
    return lifetime.chips[min(lifetime.chips)]


def test_everything_that_happened_is_counted_on_each_chip(nursery: Nursery, journals: Path, ledger: Ledger) -> None:
    work(nursery, journals, ledger)
    first, second = (chip for _, chip in sorted(happened(ledger).chips.items()))

    assert (first.launches, second.launches) == (2, 1)
    assert (first.clashes, second.clashes) == (1, 0)
    assert (first.allocations[Pool.L1.number], first.frees[Pool.L1.number]) == (2, 1)
    assert (first.refusals[Pool.L1.number], first.refusals[Pool.CB.number], second.refusals[Pool.CB.number]) == (
        1,
        1,
        1,
    )
    assert first.stalls[Stall.SPACE.number] == 1
    assert first.caches[Cache.JIT.number][: CacheOutcome.MISS + 1] == (1, 1)


def test_what_a_forgotten_process_did_still_counts(nursery: Nursery, journals: Path, ledger: Ledger) -> None:
    work(nursery, journals, ledger)
    before = happened(ledger)

    testing.forget_ended(ledger)

    assert testing.flat_rows(ledger)["processes"] == []
    assert happened(ledger).chips == before.chips
    assert happened(ledger).journals[:5] == before.journals[:5]
    assert (before.journals.processes, before.journals.events > 8) == (1, True)


def test_the_next_process_adds_to_it(nursery: Nursery, journals: Path, ledger: Ledger) -> None:
    work(nursery, journals, ledger)
    testing.forget_ended(ledger)

    work(nursery, journals, ledger)

    assert of_first(happened(ledger)).launches == 4
    assert of_first(happened(ledger)).refusals[Pool.L1.number] == 2
    assert happened(ledger).journals.processes == 2


def test_the_newest_word_of_a_process_has_its_time(nursery: Nursery, journals: Path, ledger: Ledger) -> None:
    assert happened(ledger).journals.last_ns == 0

    work(nursery, journals, ledger)

    assert 0 <= testing.flat_rows(ledger)["time_ns"] - happened(ledger).journals.last_ns < 60_000_000_000
