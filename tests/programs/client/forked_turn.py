"""A program forks while another of its threads holds the trackers' lock; the child loads a kernel and opens a device.

Prints the child's exit code and the faults of the tracker.
"""

import os
import threading

import ttmem
from tests.support.tracked.runtime import a_chip_alone
from ttmem.client.claims import turn

tracker, device = ttmem.GraphTracker(), a_chip_alone()
tracker.track_device_opened(device)
has_turn, may_end = threading.Event(), threading.Event()


def hold() -> None:
    with turn():
        has_turn.set()
        may_end.wait()


threading.Thread(target=hold).start()
has_turn.wait()
child = os.fork()
if child == 0:
    tracker.track_kernel_load(100, 1, device, 0, 2)
    tracker.track_device_opened(a_chip_alone(0xC1))
    os._exit(7)
may_end.set()
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), tracker.fault_count)
