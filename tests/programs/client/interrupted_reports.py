"""A timer's handler interrupts reports: it reports by itself, and every second time raises out of the report.

Prints how many reports the handler made, whether any call was broken off, and how many reports were lost.
"""

import os
import signal
from types import FrameType

import ttmem
from ttmem import AllocationClient

REPORTS = 20_000
PACKAGE = os.path.dirname(ttmem.__file__)  # the checkout may have that name, too


class Alarm(Exception):
    """Raised in the middle of a report."""


class Handler:
    """Acts only within a report, and not within itself."""

    def __init__(self) -> None:
        self.report_count = 0
        self._is_busy = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self._is_busy or frame is None or not frame.f_code.co_filename.startswith(PACKAGE):
            return
        self._is_busy = True
        self.report_count += 1
        AllocationClient.report_allocation(1, 1, 0, self.report_count)
        self._is_busy = False
        if self.report_count % 2:
            raise Alarm


handler = Handler()
raised_count = sent_count = 0
AllocationClient.report_allocation(0, 1, 0, 0)  # connected
signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.0002, 0.0002)
while sent_count < REPORTS:
    try:
        AllocationClient.report_allocation(0, 1, 0, buffer_id=sent_count)  # by name: not by the native core alone
    except Alarm:
        raised_count += 1
    else:
        sent_count += 1
signal.setitimer(signal.ITIMER_REAL, 0)
print(handler.report_count, raised_count > 0, AllocationClient.lost_count())
