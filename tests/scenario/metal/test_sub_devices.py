"""Sub-devices with L1 of their own, from the runtime model through its tracker to the words of `ttmem explain`."""

from collections.abc import Iterator

import pytest

import ttmem
from tests.support.metal.refused_memory import KIB
from tests.support.tracked.own_journal import OwnJournal, an_own_journal
from tests.unit.metal.memory.test_sub_devices import LEFT, RIGHT, on
from ttmem import metal
from ttmem.devices import Kind, Pool
from ttmem.metal import CoreRanges, MeshDevice, MeshWorkload, Program
from ttmem.view import plain
from ttmem.view.incidents.story import incident_story
from ttmem.view.incidents.words import headline
from ttmem.view.page import PageOptions

BASE = 105_824
PARTS = -1


@pytest.fixture
def journal() -> Iterator[OwnJournal]:
    with an_own_journal() as one:
        yield one


@pytest.fixture
def device(journal: OwnJournal) -> Iterator[MeshDevice]:
    with metal.open_mesh("n300", (1, 2), tracker=ttmem.GraphTracker()) as one:
        one.load_sub_devices([CoreRanges.parse(LEFT), CoreRanges.parse(RIGHT)], 256 * KIB)
        yield one


def test_its_buffers_are_charged_to_its_cores_on_every_chip(device: MeshDevice, journal: OwnJournal) -> None:
    buffer = device.create_buffer(on(LEFT, 100 * KIB, 0))

    [row] = journal.allocations(Kind.BUFFER)
    assert row[PARTS] == ((BASE + 156 * KIB, 16, LEFT),)
    for chip in device.chips:
        assert journal.used(chip.unique_id)[Pool.L1] == 16 * 100 * KIB == device.truth()[0].used_bytes[Pool.L1]
    buffer.deallocate()
    assert (journal.allocations(Kind.BUFFER), journal.findings()) == ([], {})


def test_its_refusal_is_explained_on_a_line_of_its_own(device: MeshDevice, journal: OwnJournal) -> None:
    device.create_buffer(on("0,0-7,6", 900 * KIB, None))
    device.create_buffer(on(RIGHT, 250 * KIB, 1))
    device.create_buffer(on(LEFT, 40 * KIB, 0))
    scratch = device.create_buffer(on(LEFT, 150 * KIB, 0))
    with pytest.raises(metal.OutOfDeviceMemory):
        device.create_buffer(on(LEFT, 200 * KIB, 0))
    found = journal.explained_incidents()[-1]

    [line] = found.lines
    assert (line.cores, line.begin_address, line.end_address) == (LEFT, BASE, BASE + 256 * KIB)
    assert line.free_bytes == found.incident.free_per_bank_bytes == 66 * KIB
    assert (found.cause, found.notes, len(found.incident.device_ids)) == ("full", (), 2)
    assert found.freeing is not None
    assert [entry.address for entry in found.freeing.entries] == [scratch.address]
    said = headline(found.incident, ())
    assert "L1 of the sub-device on cores 0,0-3,3: asked 200 KiB per core on 16 cores, free 66.0 KiB" in said
    story = plain(incident_story(found, (), PageOptions(100)))
    assert "ADDRESSES OF THE SUB-DEVICE ON CORES 0,0-3,3" in story
    scratch.deallocate()
    device.create_buffer(on(LEFT, 200 * KIB, 0))


def test_its_buffers_clash_with_circular_buffers_of_its_cores_alone(device: MeshDevice, journal: OwnJournal) -> None:
    device.create_buffer(on(LEFT, 100 * KIB, 0))
    low = device.create_buffer(on(RIGHT, 200 * KIB, 1))
    fits, clashes = Program(), Program()
    fits.add_circular_buffer(CoreRanges.parse("0,0-1,1"), 120 * KIB)
    clashes.add_circular_buffer(CoreRanges.parse("4,0-5,1"), 120 * KIB)
    metal.enqueue(device, MeshWorkload(fits))
    with pytest.raises(metal.CircularBufferClash):
        metal.enqueue(device, MeshWorkload(clashes))

    clash = journal.explained_incidents()[-1].clash
    assert clash is not None
    assert [entry.address for entry in clash.in_the_way] == [low.address]
    assert clash.missing_bytes == (120 - 56) * KIB
