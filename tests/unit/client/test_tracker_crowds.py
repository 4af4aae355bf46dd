"""A tracker that is not alone: several threads, several trackers, a `Client` beside it, a forked child."""

import random
import sys
import threading
from collections.abc import Iterator

import pytest

from tests.support.tracked.own_journal import OwnJournal, an_own_journal
from tests.support.tracked.runtime import SmallCores, a_chip_alone
from ttmem import GraphTracker

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
