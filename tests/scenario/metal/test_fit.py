"""`ttmem fit --l1-per-core` against the runtime model: what fits is granted, and loaded programs still run."""

import os
from collections.abc import Iterator

import pytest

from tests.support.metal.operations import a_program
from tests.support.tracked.own_journal import OwnJournal
from ttmem import GraphTracker, metal
from ttmem.analysis.fit import CoreRoom, Need, candidates
from ttmem.collector import Collector
from ttmem.devices import BufferType
from ttmem.metal import BufferSpec, MeshDevice, MeshWorkload, OutOfDeviceMemory
from ttmem.metal.programs import ProgramRefused
from ttmem.sources import Places

STEP = 32  # what sizes in L1 are rounded to
CB_BYTES = 400 * 1024
BUFFER_BYTES = 200 * 1024


@pytest.fixture
def collector(journal: OwnJournal) -> Iterator[Collector]:
    with Collector(Places(uid=os.geteuid(), directory=str(journal.directory))) as one:
        assert one.wait_settled(5)
        yield one


@pytest.fixture
def mesh(tracker: GraphTracker) -> Iterator[MeshDevice]:
    with metal.open_device("n150", tracker=tracker) as one:
        yield one


def l1_buffer(mesh: MeshDevice, per_core_bytes: int) -> metal.Buffer:
    banks = mesh.chips[0].l1_bank_count
    return mesh.create_buffer(BufferSpec(per_core_bytes * banks, per_core_bytes, BufferType.L1))


def room_for(collector: Collector, needed_bytes: int) -> CoreRoom:
    collector.tick()
    judged = candidates(collector.snapshot(), Need(l1_core_bytes=needed_bytes))
    [candidate] = [one for one in judged if one.device.open_count]
    [room] = candidate.rooms
    assert isinstance(room, CoreRoom)
    return room


def is_taken(mesh: MeshDevice, workload: MeshWorkload | None, needed_bytes: int) -> bool:
    """Whether the model grants it, and a loaded program still runs."""
    try:
        buffer = l1_buffer(mesh, needed_bytes)
    except OutOfDeviceMemory:
        return False
    try:
        if workload is not None:
            metal.enqueue(mesh, workload)
    except ProgramRefused:
        return False
    finally:
        buffer.deallocate()
    return True


def a_workload(mesh: MeshDevice) -> MeshWorkload:
    workload = MeshWorkload(a_program(cb_bytes=CB_BYTES))
    metal.enqueue(mesh, workload)
    return workload


def assert_decided_at(
    most_bytes: int, collector: Collector, mesh: MeshDevice, workload: MeshWorkload | None = None
) -> None:
    """Exactly so much fits, by `fit` and by the model."""
    for needed_bytes, fits in ((most_bytes, True), (most_bytes + STEP, False)):
        assert room_for(collector, needed_bytes).is_enough is fits
        assert is_taken(mesh, workload, needed_bytes) is fits


def l1_bytes(mesh: MeshDevice) -> int:
    """Of a core, beyond what the runtime keeps."""
    return mesh.allocator.statistics(BufferType.L1).bank_bytes


def test_an_empty_chip_takes_all_of_l1(mesh: MeshDevice, collector: Collector) -> None:
    assert_decided_at(l1_bytes(mesh), collector, mesh)


def test_without_a_buffer_circular_buffers_leave_the_rest(mesh: MeshDevice, collector: Collector) -> None:
    workload = a_workload(mesh)

    assert_decided_at(l1_bytes(mesh) - CB_BYTES, collector, mesh, workload)
    workload.destroy()


def test_without_a_program_all_below_the_lowest_buffer_is_headroom(mesh: MeshDevice, collector: Collector) -> None:
    buffer = l1_buffer(mesh, BUFFER_BYTES)

    assert_decided_at(l1_bytes(mesh) - BUFFER_BYTES, collector, mesh)
    buffer.deallocate()


def test_headroom_is_what_lies_between_both(mesh: MeshDevice, collector: Collector) -> None:
    buffer, workload = l1_buffer(mesh, BUFFER_BYTES), a_workload(mesh)

    assert_decided_at(l1_bytes(mesh) - BUFFER_BYTES - CB_BYTES, collector, mesh, workload)
    workload.destroy()
    buffer.deallocate()


def test_a_hole_above_the_lowest_buffer_takes_what_the_headroom_does_not(
    mesh: MeshDevice, collector: Collector
) -> None:
    rest = l1_bytes(mesh) - CB_BYTES - BUFFER_BYTES
    workload = a_workload(mesh)
    hole, kept = l1_buffer(mesh, BUFFER_BYTES), l1_buffer(mesh, rest)
    hole.deallocate()

    assert room_for(collector, 1).headroom_bytes == 0
    assert_decided_at(BUFFER_BYTES, collector, mesh, workload)
    workload.destroy()
    kept.deallocate()


def test_below_zero_nothing_fits_but_a_hole(mesh: MeshDevice, collector: Collector) -> None:
    workload = a_workload(mesh)
    hole = l1_buffer(mesh, BUFFER_BYTES)
    kept = l1_buffer(mesh, l1_bytes(mesh) - BUFFER_BYTES - CB_BYTES + STEP)
    room = room_for(collector, STEP)
    hole.deallocate()
    with_hole = room_for(collector, STEP)

    assert (room.hole_bytes, room.headroom_bytes, room.is_enough) == (0, -STEP, False)
    assert (with_hole.hole_bytes, with_hole.headroom_bytes, with_hole.is_enough) == (BUFFER_BYTES, -STEP, True)
    workload.destroy()
    kept.deallocate()
