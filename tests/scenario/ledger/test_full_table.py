"""More alive than the journal's table has room for: totals stay right, and it is said that the list is not whole."""

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.journals.reporters import Nursery, Reporter
from tests.support.timing.waiting import wait_until
from ttmem._native import Ledger, testing
from ttmem.devices import Kind, Pool

TABLE = 64
BUFFER_TYPES = {0: Pool.DRAM, 1: Pool.L1, 3: Pool.L1_SMALL}


class Crowd:
    """A process with a small table, and a count of its own of what it holds."""

    def __init__(self, reporter: Reporter) -> None:
        self.reporter = reporter
        self.ledger = Ledger()
        self.key = reporter.attach_to(self.ledger)
        self.chip = reporter.open_device(0xA0)
        self.held: dict[int, tuple[int, int]] = {}  # id: buffer type, size
        self.handles: dict[int, int] = {}

    def allocate(self, ids: range, size: int, type: int = 0) -> None:
        commands = [("report_buffer_alloc", self.chip, id, size + id, 0, 0, 0, type) for id in ids]
        for id, handle in zip(ids, self.reporter.do(*commands), strict=True):
            self.held[id] = (type, size + id)
            self.handles[id] = handle

    def free(self, id: int, *, is_by_handle: bool) -> None:
        type, size = self.held.pop(id)
        handle = self.handles.pop(id)
        if is_by_handle:
            self.reporter.call("report_free", handle)
        else:
            self.reporter.call("report_buffer_free", self.chip, id, type, size)

    def expected(self) -> dict[Pool, tuple[int, int]]:
        used: Counter[Pool] = Counter()
        count: Counter[Pool] = Counter()
        for type, size in self.held.values():
            used[BUFFER_TYPES[type]] += size
            count[BUFFER_TYPES[type]] += 1
        return {pool: (used[pool], count[pool]) for pool in count}

    def rows(self, ledger: Ledger | None = None) -> dict[str, Any]:
        ledger = ledger or self.ledger
        ledger.drain()
        return testing.flat_rows(ledger)


def pools(rows: dict[str, Any], table: str = "process_pools") -> dict[Pool, tuple[int, int]]:
    first = 3 if table == "process_pools" else 2
    return {row[first - 1]: (row[first], row[first + 2]) for row in rows[table] if row[first + 2]}


@pytest.fixture
def crowd(nursery: Nursery, tmp_path: Path) -> Iterator[Crowd]:
    reporter = nursery.start(tmp_path, TTMEM_TABLE=str(TABLE), TTMEM_RING="4096")
    yield Crowd(reporter)
    reporter.kill()


def test_a_table_with_room_is_whole(crowd: Crowd) -> None:
    crowd.allocate(range(40), 100)

    row = crowd.rows()["processes"][0]
    assert (row["complete"], row["reason"], row["origin"], row["untabled"]) == (True, "", "counted", 0)


def test_a_full_table_is_said_and_the_totals_are_right(crowd: Crowd) -> None:
    crowd.allocate(range(200), 100)

    rows = crowd.rows()
    row = rows["processes"][0]
    assert (row["complete"], row["reason"], row["origin"]) == (False, "table_full", "counter")
    assert row["untabled"] >= 200 - TABLE
    assert pools(rows) == pools(rows, "device_pools") == crowd.expected()
    assert {requested for *_, requested, _, _, _, _ in (r[:9] for r in rows["process_pools"])} == {-1}


def test_what_a_full_tables_device_asked_for_is_unknown_too(crowd: Crowd) -> None:
    crowd.allocate(range(200), 100)

    assert {row[3] for row in crowd.rows()["device_pools"]} == {-1}


def test_frees_by_handle_and_by_id_with_size_bring_everything_back(crowd: Crowd) -> None:
    crowd.allocate(range(150), 100)
    crowd.allocate(range(200, 260), 7, type=1)
    for number, id in enumerate(list(crowd.held)):
        crowd.free(id, is_by_handle=bool(number % 2))
        if number % 50 == 0:
            assert pools(crowd.rows()) == crowd.expected()

    rows = crowd.rows()
    assert pools(rows) == {}
    assert rows["processes"][0]["findings"] == {}


def test_a_free_without_its_size_is_a_finding(crowd: Crowd) -> None:
    crowd.allocate(range(100), 100)
    listed = {row[2] for row in crowd.ledger.allocations(crowd.key)} if crowd.rows() else set()
    unlisted = next(id for id in crowd.held if id not in listed)
    crowd.reporter.call("report_buffer_free", crowd.chip, unlisted)

    assert crowd.rows()["processes"][0]["findings"] == {"unsized_free": 1}


def test_a_late_reader_of_a_full_table_says_the_same(crowd: Crowd) -> None:
    crowd.allocate(range(200), 100)
    late = Ledger()
    crowd.reporter.attach_to(late)
    rows = crowd.rows(late)

    assert pools(rows) == crowd.expected()
    assert rows["processes"][0]["reason"] == "table_full"


def test_the_death_of_a_process_with_a_full_table_gives_everything_back(crowd: Crowd) -> None:
    crowd.allocate(range(200), 100)
    assert pools(crowd.rows()) == crowd.expected()
    crowd.reporter.kill()
    wait_until(lambda: crowd.rows()["processes"][0]["state"] == "ended")

    assert (pools(crowd.rows(), "device_pools"), pools(crowd.rows())) == ({}, crowd.expected())


def test_kernels_in_a_full_table_keep_their_kind(crowd: Crowd) -> None:
    crowd.allocate(range(100), 100)
    for id in range(5):
        crowd.reporter.call("report_kernel_load", crowd.chip, id, Kind.KERNEL_FABRIC, 100, 2, 200)

    kinds = {row[2]: row[3:5] for row in crowd.rows()["process_kinds"]}
    assert kinds == {Kind.BUFFER: (sum(size for _, size in crowd.held.values()), 100), Kind.KERNEL_FABRIC: (1000, 5)}


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(seed=st.integers(0, 1 << 30))
def test_totals_of_a_full_table_are_right_after_any_story(nursery: Nursery, tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    crowd = Crowd(nursery.start(tmp_path, TTMEM_TABLE=str(TABLE), TTMEM_RING="64"))
    next_id = 1
    for _ in range(40):
        if dice.random() < 0.6:
            count = dice.randrange(1, 20)
            crowd.allocate(range(next_id, next_id + count), dice.randrange(1000), dice.choice(list(BUFFER_TYPES)))
            next_id += count
        for id in dice.sample(list(crowd.held), min(len(crowd.held), dice.randrange(12))):
            crowd.free(id, is_by_handle=dice.random() < 0.5)
    rows = crowd.rows()
    crowd.reporter.kill()

    assert pools(rows) == pools(rows, "device_pools") == crowd.expected()
    assert rows["processes"][0]["findings"] == {}
