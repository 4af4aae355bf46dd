"""Started with stderr closed: the file named by the first argument gets descriptor 2, and must stay empty.

Whatever reporting has to say would go to descriptor 2.
"""

import sys
from typing import Any

import ttmem
from tests.support.tracked.runtime import a_chip_alone

nothing: Any = None
file = open(sys.argv[1], "w")  # noqa: SIM115 - open until the program ends
assert file.fileno() == 2, file.fileno()
with ttmem.GraphTracker() as tracker:
    tracker.track_kernel_load(100, 1, a_chip_alone())
    tracker.track_allocate(nothing)
    assert tracker.fault_count == 1
print("done")
