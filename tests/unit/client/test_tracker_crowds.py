"""A tracker that is not alone: several threads, several trackers, a `Client` beside it, a forked child."""

import random
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import ttmem
from tests.support.processes.programs import command_of, tracked
from tests.support.tracked.own_journal import OwnJournal, an_own_journal
from tests.support.tracked.runtime import SmallBuffer, SmallCores, SmallDevice, a_chip_alone, a_mesh
from ttmem import Client, GraphTracker
from ttmem.devices import BinaryStatus, Pool
from ttmem.tracking import KernelFacts

CHIP = 0xC0
CORES = SmallCores(4, "0,0-1,1")


@pytest.fixture
def journal() -> Iterator[OwnJournal]:
    with an_own_journal() as one:
        yield one


@pytest.fixture
def eager_threads() -> Iterator[None]:
    """Threads that give way to each other at every step."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("eager_threads")
def test_threads_lose_no_circular_buffer_of_programs_they_share(journal: OwnJournal) -> None:
    tracker, device = GraphTracker(), a_chip_alone()
    tracker.track_device_opened(device)

    def work(seed: int) -> None:
        choices = random.Random(seed)
        for _ in range(2000):
            program = choices.randint(1, 3)
            address = 16 * choices.randint(0, 9)
            tracker.track_allocate_cb(CORES, address, 16, False, device, program=program, cb_id=program)
            if choices.random() < 0.3:
                tracker.track_deallocate_cb(device, program=choices.randint(0, 3))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for program in (1, 2, 3):
        tracker.track_deallocate_cb(device, program=program)

    assert (tracker.fault_count, journal.used(CHIP), journal.findings()) == (0, {}, {})


# ---- several who report on the same chips


@pytest.mark.parametrize("shape", [(1, 1), (1, 2)])
def test_trackers_do_not_end_each_others_memory(journal: OwnJournal, shape: tuple[int, int]) -> None:
    first, second, device = GraphTracker(), GraphTracker(), a_mesh(*shape)
    first.track_allocate(SmallBuffer(device, 300, unique_id=7))
    second.track_allocate(SmallBuffer(device, 5000, address=0x2000, unique_id=7))
    assert journal.used(CHIP) == {Pool.DRAM: 5300}

    second.close()
    assert (journal.used(CHIP), journal.open_chips()) == ({Pool.DRAM: 300}, {chip.unique_id for chip in device.chips})
    first.close()

    assert (journal.used(CHIP), journal.open_chips(), journal.findings()) == ({}, set(), {})


@pytest.mark.parametrize("is_tracker_first", [True, False])
@pytest.mark.parametrize("has_tracker_closed_first", [True, False])
def test_a_client_and_a_tracker_do_not_end_each_others_memory(
    journal: OwnJournal, is_tracker_first: bool, has_tracker_closed_first: bool
) -> None:
    tracker, client, device = GraphTracker(), Client(), a_chip_alone()
    if is_tracker_first:
        tracker.track_allocate(SmallBuffer(device, 300, unique_id=7))
    client.report_buffer_alloc(client.open_device(CHIP), 7, 5000)
    if not is_tracker_first:
        tracker.track_allocate(SmallBuffer(device, 300, unique_id=7))
    assert journal.used(CHIP) == {Pool.DRAM: 5300}

    (tracker if has_tracker_closed_first else client).close()
    left_bytes = 5000 if has_tracker_closed_first else 300
    assert (journal.used(CHIP), journal.open_chips()) == ({Pool.DRAM: left_bytes}, {CHIP})
    (client if has_tracker_closed_first else tracker).close()

    assert (journal.used(CHIP), journal.open_chips(), journal.findings()) == ({}, set(), {})


def test_what_a_tracker_opened_closes_with_the_client_it_was_given(journal: OwnJournal) -> None:
    with Client() as client:
        GraphTracker(client).track_allocate(SmallBuffer(a_chip_alone()))  # dropped at once: claims nothing
        tracker = GraphTracker(client)
        tracker.track_allocate(SmallBuffer(a_chip_alone()))

    assert (journal.used(CHIP), journal.open_chips()) == ({}, set())


def test_trackers_that_were_dropped_take_no_targets_from_others(journal: OwnJournal) -> None:
    for _ in range(300):  # a journal has room for 255
        GraphTracker().track_allocate(SmallBuffer(a_chip_alone(), unique_id=7))

    assert journal.used(CHIP) == {Pool.DRAM: 4096}
    with GraphTracker() as last:
        last.track_allocate(SmallBuffer(a_chip_alone(), unique_id=7))
    assert journal.used(CHIP) == {}


# ---- a fresh beginning


def tell_everything(tracker: GraphTracker, device: SmallDevice) -> SmallBuffer:
    binaries = SmallBuffer(device, 4096, program=1)
    tracker.track_allocate(binaries)
    tracker.track_binary_status(1, BinaryStatus.COMMITTED, device)
    tracker.track_kernel_load(100, 1, device, 0, 2, facts=KernelFacts(program=1, image=5, payload_bytes=64))
    tracker.track_allocate_cb(CORES, 0, 16, False, device, program=1, cb_id=1)
    return binaries


def end_everything(tracker: GraphTracker, device: SmallDevice, binaries: SmallBuffer) -> None:
    tracker.track_deallocate_cb(device, program=1)
    tracker.track_kernel_unload(1, device)
    tracker.track_deallocate(binaries)
    tracker.track_program_end(1, device)


EVERYTHING = {Pool.DRAM: 4096, Pool.KERNEL: 200, Pool.CB: 64}


def test_tracking_that_is_turned_on_again_hears_of_everything_again(journal: OwnJournal) -> None:
    with GraphTracker() as tracker:
        device = a_chip_alone()
        tell_everything(tracker, device)
        ttmem.disable()
        assert journal.used(CHIP) == {}

        ttmem.enable()
        tell_everything(tracker, device)

        assert (journal.used(CHIP), journal.open_chips()) == (EVERYTHING, {CHIP})


def test_a_forked_child_is_charged_what_its_parent_had_loaded_too(tmp_path: Path) -> None:
    done = subprocess.run(command_of("client.forked_tracker"), env=tracked(tmp_path), capture_output=True, text=True)

    assert done.stdout == "0 0 0\n0 0 0\nTrue\n", done.stderr
