"""The rules of the ledger, one story each, with the figures written out."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.journals.reporters import Nursery, Reporter
from tests.support.timing.waiting import wait_until
from ttmem._native import Ledger, testing
from ttmem.devices import Kind, Pool

VIEW, BY_HANDLE = 1, 2
ONE, TWO = 0xA1, 0xA2


class Story:
    """One process on two chips and a mesh of both, and a ledger that follows it."""

    def __init__(self, reporter: Reporter, ledger: Ledger) -> None:
        self.reporter = reporter
        self.ledger = ledger
        self.say = reporter.call
        self.key = reporter.attach_to(ledger)
        self.one, self.two = reporter.open_device(ONE), reporter.open_device(TWO)
        self.mesh = self.say("open_mesh", 7, 1, 2, (self.one, self.two))

    @property
    def rows(self) -> dict[str, Any]:
        self.ledger.drain()
        return testing.flat_rows(self.ledger)

    @property
    def findings(self) -> dict[str, int]:
        return next(dict(row["findings"]) for row in self.rows["processes"] if row["key"] == self.key)

    def pool(self, unique_id: int, pool: int = Pool.DRAM.number) -> tuple[int, int, int, int]:
        """Used, requested, count and peak of this process on a chip."""
        rows = self.rows
        [device] = [row["number"] for row in rows["devices"] if row["unique_id"] == unique_id]
        found = [row[3:7] for row in rows["process_pools"] if row[:3] == (self.key, device, pool)]
        return found[0] if found else (0, 0, 0, 0)

    def kind(self, unique_id: int, kind: int | Kind) -> tuple[int, int, bool]:
        """Used, count and whether any of it is an estimate."""
        rows = self.rows
        [device] = [row["number"] for row in rows["devices"] if row["unique_id"] == unique_id]
        found = [row[3:] for row in rows["process_kinds"] if row[:3] == (self.key, device, kind)]
        return found[0] if found else (0, 0, False)

    def phases(self) -> dict[tuple[str, int], tuple[int, int]]:
        """Peak and runs by name and device, of the DRAM pool."""
        rows = self.rows
        names = {row["number"]: row["unique_id"] for row in rows["devices"]}
        return {(row[1], names[row[2]]): (row[4], row[6]) for row in rows["phases"] if row[3] == Pool.DRAM}

    def begin(self, name: str) -> int:
        return int(self.say("begin_phase", self.say("intern", name)))


@pytest.fixture
def tell(nursery: Nursery, tmp_path: Path) -> Iterator[Story]:
    reporter = nursery.start(tmp_path, TTMEM_TABLE="64", TTMEM_RING="256")
    yield Story(reporter, Ledger())
    reporter.kill()


def test_a_second_free_is_a_double_free_and_takes_nothing_away(tell: Story) -> None:
    handle = tell.say("report_buffer_alloc", tell.one, 1, 100)
    tell.say("report_buffer_alloc", tell.one, 2, 50)
    tell.say("report_free", handle)
    tell.say("report_free", handle)
    tell.say("report_buffer_free", tell.one, 1)

    assert (tell.pool(ONE)[:3], tell.findings) == ((50, 50, 1), {"double_free": 2})


def test_a_free_of_what_never_was_is_an_unknown_free(tell: Story) -> None:
    tell.say("report_buffer_free", tell.one, 1)
    tell.say("report_program_end", tell.one, 1)

    assert (tell.pool(ONE), tell.findings) == ((0, 0, 0, 0), {"unknown_free": 2})


def test_a_free_on_another_target_than_the_allocation_leaves_it_alone(tell: Story) -> None:
    tell.say("report_buffer_alloc", tell.one, 1, 100)
    tell.say("report_buffer_free", tell.two, 1)
    tell.say("report_buffer_free", tell.mesh, 1)

    assert (tell.pool(ONE)[:3], tell.findings) == ((100, 100, 1), {"wrong_target_free": 2})


def test_kinds_and_targets_may_share_an_id(tell: Story) -> None:
    for target in (tell.one, tell.two, tell.mesh):
        tell.say("report_buffer_alloc", target, 1, 100)
        tell.say("report_cb_alloc", target, 1, 0, 10, 1)
    tell.say("report_buffer_free", tell.one, 1)

    assert (tell.pool(ONE)[0], tell.pool(TWO)[0], tell.findings) == (100, 200, {})
    assert (tell.pool(ONE, Pool.CB.number)[0], tell.pool(TWO, Pool.CB.number)[0]) == (20, 20)


def test_allocating_a_living_id_again_replaces_it_with_a_finding(tell: Story) -> None:
    tell.say("report_buffer_alloc", tell.one, 1, 100)
    tell.say("report_buffer_alloc", tell.one, 1, 30)

    assert (tell.pool(ONE), tell.findings) == ((30, 30, 1, 100), {"replaced": 1})


def test_a_second_load_sets_a_kernels_size_and_a_smaller_one_is_a_finding(tell: Story) -> None:
    def load(exact: int) -> tuple[tuple[int, int, bool], dict[str, int]]:
        tell.say("report_kernel_load", tell.one, 1, Kind.KERNEL_APPLICATION, 10, 8, exact)
        return tell.kind(ONE, Kind.KERNEL_APPLICATION.number), tell.findings

    assert load(100) == ((100, 1, False), {})
    assert load(100) == ((100, 1, False), {})
    assert load(300) == ((300, 1, False), {})
    assert load(200) == ((200, 1, False), {"shrunk_kernel": 1})


def test_a_kernel_of_unknown_exact_size_costs_binary_times_cores_and_is_an_estimate(tell: Story) -> None:
    tell.say("report_kernel_load", tell.one, 1, Kind.KERNEL_FABRIC, 57_344, 16)
    assert tell.kind(ONE, Kind.KERNEL_FABRIC.number) == (917_504, 1, True)

    tell.say("report_kernel_load", tell.one, 2, Kind.KERNEL_FABRIC, 57_344, 16, 1000)
    assert tell.kind(ONE, Kind.KERNEL_FABRIC.number) == (918_504, 2, True)

    tell.say("report_kernel_unload", tell.one, 1, Kind.KERNEL_FABRIC)
    assert tell.kind(ONE, Kind.KERNEL_FABRIC.number) == (1000, 1, False)


def test_a_view_is_listed_and_charged_nothing(tell: Story) -> None:
    tell.say("report_cb_alloc", tell.one, 1, 4096, 512, 8, VIEW)
    tell.say("report_buffer_alloc", tell.one, 2, 700, 600, 0, 0, 0, 0, VIEW)

    assert (tell.pool(ONE, Pool.CB.number), tell.pool(ONE)) == ((0, 0, 1, 0), (0, 0, 1, 0))
    assert len(tell.ledger.allocations(tell.key)) == 2


def test_a_report_on_a_mesh_is_one_entry_and_stands_for_every_chip(tell: Story) -> None:
    tell.say("report_buffer_alloc", tell.mesh, 1, 100, 90)
    tell.say("report_buffer_alloc", tell.one, 2, 11)

    assert (tell.pool(ONE), tell.pool(TWO)) == ((111, 101, 2, 111), (100, 90, 1, 100))
    assert len(tell.ledger.allocations(tell.key)) == 2


def test_a_close_ends_everything_on_its_target_and_excuses_its_frees(tell: Story) -> None:
    handle = tell.say("report_buffer_alloc", tell.one, 1, 100)
    tell.say("report_buffer_alloc", tell.one, 2, 100)
    tell.say("report_buffer_alloc", tell.mesh, 3, 5)
    tell.say("close_target", tell.one)
    assert (tell.pool(ONE)[:3], tell.pool(TWO)[:3]) == ((5, 5, 1), (5, 5, 1))

    tell.say("report_free", handle)
    tell.say("report_buffer_free", tell.one, 2)
    assert tell.findings == {}

    tell.say("report_free", handle)
    tell.say("report_buffer_free", tell.one, 2)
    assert tell.findings == {"double_free": 2}


def test_a_close_does_not_excuse_mistakes_on_another_target(tell: Story) -> None:
    tell.say("report_buffer_alloc", tell.one, 1, 100)
    tell.say("close_target", tell.one)
    tell.say("report_buffer_free", tell.two, 9)

    assert tell.findings == {"unknown_free": 1}


def test_a_target_that_is_opened_again_starts_from_nothing(tell: Story) -> None:
    tell.say("report_buffer_alloc", tell.one, 1, 100)
    tell.say("close_target", tell.one)
    assert tell.reporter.open_device(ONE) == tell.one
    tell.say("report_buffer_alloc", tell.one, 1, 7)

    assert (tell.pool(ONE), tell.findings) == ((7, 7, 1, 100), {})


def test_a_phase_knows_its_own_peak_however_phases_nest_and_overlap(tell: Story) -> None:
    tell.say("report_buffer_alloc", tell.one, 1, 100)
    outer = tell.begin("outer")  # 100
    tell.say("report_buffer_alloc", tell.one, 2, 50)
    inner = tell.begin("inner")  # 150
    tell.say("report_buffer_free", tell.one, 1)
    tell.say("report_buffer_alloc", tell.one, 3, 10)
    crossing = tell.begin("crossing")  # 60
    tell.say("end_phase", inner)
    tell.say("report_buffer_alloc", tell.one, 4, 200)  # 260
    tell.say("report_buffer_free", tell.one, 4)
    tell.say("end_phase", outer)
    tell.say("report_buffer_alloc", tell.one, 5, 900)  # 960, outside of all but crossing
    tell.say("end_phase", crossing)

    assert tell.phases() == {("outer", ONE): (260, 1), ("inner", ONE): (150, 1), ("crossing", ONE): (960, 1)}


def test_a_phase_that_runs_again_keeps_its_highest_peak(tell: Story) -> None:
    for size in (100, 300, 200):
        phase = tell.begin("step")
        tell.say("report_buffer_alloc", tell.one, 1, size)
        tell.say("report_buffer_free", tell.one, 1)
        tell.say("end_phase", phase)

    assert tell.phases() == {("step", ONE): (300, 3)}


def test_launches_are_counted_and_never_charged(tell: Story) -> None:
    for _ in range(3):
        tell.say("report_launch", tell.mesh, 9)
    tell.say("report_launch", tell.one, 0)

    names = {row["number"]: row["unique_id"] for row in tell.rows["devices"]}
    assert sorted((names[row[1]], row[2]) for row in tell.rows["launches"]) == [(ONE, 4), (TWO, 3)]
    assert sorted((names[row[1]], *row[2:]) for row in tell.rows["programs"]) == [
        (ONE, 9, 0, 3, 0, ""),
        (TWO, 9, 0, 3, 0, ""),
    ]
    assert tell.pool(ONE)[0] == 0


def test_a_programs_binary_is_charged_to_dram_once_its_size_is_known(tell: Story) -> None:
    tell.say("report_binary_status", tell.one, 9, 1)
    tell.say("report_launch", tell.one, 9)
    tell.say("report_binary_status", tell.one, 9, 2, 4096)
    assert [row[2:] for row in tell.rows["programs"]] == [(9, 2, 1, 4096, "")]
    assert (tell.pool(ONE)[0], tell.findings) == (4096, {})

    tell.say("report_program_end", tell.one, 9)
    assert (tell.rows["programs"], tell.pool(ONE)[0], tell.findings) == ([], 0, {})


def test_entries_to_be_freed_by_handle_may_share_an_id(tell: Story) -> None:
    first, second = (tell.say("report_buffer_alloc", tell.one, 1, size, 0, 0, 0, 0, 0, BY_HANDLE) for size in (100, 10))
    assert (tell.pool(ONE), tell.findings) == ((110, 110, 2, 110), {})

    tell.say("report_free", first)
    assert tell.pool(ONE)[:3] == (10, 10, 1)
    tell.say("report_free", second)
    assert (tell.pool(ONE)[:3], tell.findings) == ((0, 0, 0), {})


def test_processes_may_share_an_id_and_their_sum_is_the_chips(nursery: Nursery, tmp_path: Path) -> None:
    ledger = Ledger()
    stories = [Story(nursery.start(tmp_path, TTMEM_TABLE="64", TTMEM_RING="256"), ledger) for _ in range(3)]
    for size, story in enumerate(stories, start=1):
        story.say("report_buffer_alloc", story.one, 1, size * 100)

    rows = stories[0].rows
    assert [row[2:6] for row in rows["device_pools"]] == [(600, 600, 3, 600)]

    stories[2].reporter.kill()
    wait_until(lambda: stories[0].rows["device_pools"][0][2] == 300)
    assert [row[2:6] for row in stories[0].rows["device_pools"]] == [(300, 300, 2, 600)]
    assert stories[2].pool(ONE) == (300, 300, 1, 300)  # its last figures
    for story in stories:
        story.reporter.kill()


def test_what_was_alive_at_the_peak_is_what_was_made_before_and_freed_after(tell: Story) -> None:
    for id, size in ((1, 10), (2, 20), (3, 30)):
        tell.say("report_buffer_alloc", tell.one, id, size)
    tell.say("report_buffer_free", tell.one, 1)
    tell.say("report_buffer_alloc", tell.one, 4, 40)  # 90: the peak
    tell.say("report_buffer_free", tell.one, 2)
    tell.say("report_buffer_free", tell.one, 3)
    tell.say("report_buffer_alloc", tell.one, 5, 5)

    assert tell.pool(ONE) == (45, 45, 2, 90)
    rows, is_whole = testing.alive_at_peak(tell.ledger, tell.key, 0, Pool.DRAM.number)
    assert (sorted(row[2] for row in rows), is_whole) == ([2, 3, 4], True)


def test_a_late_reader_lists_the_same_as_one_that_was_there(tell: Story) -> None:
    sites = [tell.say("intern", f"model.py:{line}") for line in range(3)]
    for id in range(6):
        tell.say("report_buffer_alloc", tell.one, id, 100, 90, 64, 8, 1, sites[id % 3])
    for id in range(3):  # replaced: each by another size and site
        tell.say("report_buffer_alloc", tell.one, id, 50, 40, 32, 4, 1, sites[0])
    for _ in range(300):  # so that a late reader has no records to start from
        tell.ledger.drain()
        tell.say("report_launch", tell.one, 0)
    late = Ledger()
    key = tell.reporter.attach_to(late)
    late.drain()

    def listed(ledger: Ledger, key: int) -> list[tuple[Any, ...]]:
        return sorted((*row[1:12], row[13]) for row in ledger.allocations(key))

    assert listed(late, key) == listed(tell.ledger, tell.key)
