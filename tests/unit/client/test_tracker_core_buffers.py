"""Buffers that a runtime allocates core by core, as a collector then sees them."""

from collections.abc import Iterator

import pytest

import ttmem
from tests.support.tracked.own_journal import OwnJournal, an_own_journal
from tests.support.tracked.runtime import SmallCoreBuffer, SmallCores, SmallDevice, a_chip_alone, a_mesh
from ttmem import GraphTracker
from ttmem.client import notices
from ttmem.devices import Kind, Pool
from ttmem.tracking import CorePart

CHIP = 0xC0
ROW, ONE, OTHER = SmallCores(4, "0,0-3,0"), SmallCores(1, "4,0"), SmallCores(1, "5,0")
PARTS = (CorePart(0x10_0000, ROW), CorePart(0xF_0000, ONE))
SIZE, REQUESTED, ADDRESS, PER_CORE, CORES = range(5, 10)


@pytest.fixture
def journal() -> Iterator[OwnJournal]:
    with an_own_journal() as one:
        yield one


@pytest.fixture
def tracker(journal: OwnJournal) -> Iterator[GraphTracker]:
    with GraphTracker() as one:
        yield one
        assert one.fault_count == 0


def a_buffer(device: SmallDevice, *parts: tuple[CorePart, ...]) -> SmallCoreBuffer:
    return SmallCoreBuffer(device, 5 * 1024, 5000, core_parts=parts)


def test_a_buffer_by_core_is_charged_bytes_times_cores(tracker: GraphTracker, journal: OwnJournal) -> None:
    buffer = a_buffer(a_chip_alone(), PARTS)

    tracker.track_allocate(buffer)

    assert journal.used(CHIP) == {Pool.L1: 5 * 1024}
    assert journal.kinds(CHIP) == {Kind.BUFFER: (5 * 1024, 1, False)}


def test_it_is_one_row_with_all_its_parts(tracker: GraphTracker, journal: OwnJournal) -> None:
    tracker.track_allocate(a_buffer(a_chip_alone(), PARTS))

    [row] = journal.allocations(Kind.BUFFER)

    assert row[SIZE : CORES + 1] == (5 * 1024, 5000, 0x10_0000, 1024, 5)
    assert row[-1] == ((0x10_0000, 4, "0,0-3,0"), (0xF_0000, 1, "4,0"))


def test_freeing_it_ends_every_part(tracker: GraphTracker, journal: OwnJournal) -> None:
    buffer = a_buffer(a_chip_alone(), PARTS)
    tracker.track_allocate(buffer)

    tracker.track_deallocate(buffer)

    assert (journal.used(CHIP), journal.live_count(), journal.findings()) == ({}, 0, {})


def test_chips_with_the_same_parts_share_their_entries(tracker: GraphTracker, journal: OwnJournal) -> None:
    buffer = a_buffer(a_mesh(1, 2), PARTS, PARTS)

    tracker.track_allocate(buffer)

    assert [journal.used(CHIP + index) for index in range(2)] == [{Pool.L1: 5 * 1024}] * 2
    assert journal.live_count() == 1  # one allocation, however many addresses it has
    tracker.track_deallocate(buffer)
    assert (journal.live_count(), journal.findings()) == (0, {})


def test_chips_with_other_parts_are_reported_by_themselves(tracker: GraphTracker, journal: OwnJournal) -> None:
    buffer = a_buffer(a_mesh(1, 2), PARTS, (CorePart(0x10_0000, OTHER),))

    tracker.track_allocate(buffer)

    assert [journal.used(CHIP + index) for index in range(2)] == [{Pool.L1: 5 * 1024}, {Pool.L1: 1024}]
    tracker.track_deallocate(buffer)
    assert (journal.live_count(), journal.findings()) == (0, {})


def test_parts_for_another_number_of_chips_are_a_fault(
    journal: OwnJournal, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notices, "_SAID", set())
    with GraphTracker() as tracker:
        tracker.track_allocate(a_buffer(a_mesh(1, 2), PARTS))

    assert tracker.fault_count == 1
    assert "names 1 chips, its device has 2" in capfd.readouterr().err


@pytest.mark.parametrize("parts", [5, [5], [(1, 2)], [("a", 0, 1)]], ids=str)
def test_what_is_no_part_is_refused_in_words(journal: OwnJournal, parts: object) -> None:
    with pytest.raises(TypeError):
        ttmem.report_core_buffer_alloc(1, 2, 1024, parts)  # type: ignore[arg-type]
