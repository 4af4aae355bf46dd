"""A tracked program forks: of what its parent holds a child is charged nothing, and it reports for itself.

Prints for each of two children its live allocations, findings and faults, then whether the parent still holds all.
"""

import os
from collections.abc import Callable

import ttmem
from tests.support.tracked.own_journal import OwnJournal
from tests.support.tracked.runtime import a_chip_alone
from tests.unit.client.test_tracker_crowds import CHIP, EVERYTHING, end_everything, tell_everything

tracker, device = ttmem.GraphTracker(), a_chip_alone()
tracker.track_device_opened(device)
held = tell_everything(tracker, device)


def report_in_child() -> OwnJournal:
    own = tell_everything(tracker, device)
    journal = OwnJournal()
    assert journal.used(CHIP) == EVERYTHING, journal.used(CHIP)
    end_everything(tracker, device, own)
    return journal


def end_in_child() -> OwnJournal:
    end_everything(tracker, device, held)  # its parent's: nothing to the child
    return OwnJournal()


def in_child(what: Callable[[], OwnJournal]) -> None:
    child = os.fork()
    if child == 0:
        [process] = what().rows()["processes"]
        print(process["live_count"], sum(process["findings"].values()), tracker.fault_count, flush=True)
        os._exit(0)
    os.waitpid(child, 0)


in_child(report_in_child)
in_child(end_in_child)
print(OwnJournal().used(CHIP) == EVERYTHING)
