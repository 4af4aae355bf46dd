"""Two to four processes on one chip that allocate and free in quick turns, while a recorder hears one after the other.

Only one of them acts at a time, so the order of all that happens is known; the recorder reads each to its end before
the next, finds some of them late, and closes blocks in between.
"""

import random
import time
from pathlib import Path
from typing import NamedTuple

from tests.support.journals.reporters import Nursery
from ttmem._native import Ledger
from ttmem.collector.recorded import Moment
from ttmem.devices import Pool
from ttmem.recording import Recording, RecordingWriter

CHIP = 0x51
POOLS = (Pool.DRAM, Pool.L1)
_UNIT = 4096
_NOTES_EACH = 5  # events between two notes

Sums = dict[int, int]  # by number of the pool


class Note(NamedTuple):
    at_ns: int  # CLOCK_MONOTONIC
    used: Sums
    alive: list[tuple[int, int]]  # pid, id


class Sharing:
    """What happens, by a seed, and what was true by plain sums in the order of time."""

    def __init__(self, seed: int, nurseries: list[Nursery], directory: Path) -> None:
        self.chance = random.Random(seed)
        count = 2 + seed % 3
        self.reporters = [nurseries[number % len(nurseries)].start(directory) for number in range(count)]
        self._targets = [one.open_device(CHIP) for one in self.reporters]
        self._alive: dict[tuple[int, int], tuple[Pool, int]] = {}  # by place of the process and id
        self._next_id = 0
        self.used: Sums = {pool.number: 0 for pool in POOLS}
        self.highest: Sums = dict(self.used)
        self.notes: list[Note] = []
        self.waiting = list(self.reporters[1:])  # the recorder has not found them yet

    def burst(self) -> None:
        """Some of them do something, each after the other."""
        for _ in range(self.chance.randrange(1, 40)):
            place = self.chance.randrange(len(self.reporters))
            own = [key for key in self._alive if key[0] == place]
            if own and self.chance.random() < 0.55:
                self._free(place, self.chance.choice(own)[1])
            else:
                self._allocate(place)
            if self.chance.randrange(_NOTES_EACH) == 0:
                self.note()

    def note(self) -> None:
        alive = sorted((self.reporters[place].pid, number) for place, number in self._alive)
        self.notes.append(Note(time.monotonic_ns(), dict(self.used), alive))

    def _allocate(self, place: int) -> None:
        self._next_id += 1
        pool, size = self.chance.choice(POOLS), _UNIT * self.chance.choice((1, 2, 3, 50))
        kind = 0 if pool is Pool.DRAM else 1
        self.reporters[place].call("report_buffer_alloc", self._targets[place], self._next_id, size, size, 0, 0, kind)
        self._alive[place, self._next_id] = (pool, size)
        self.used[pool.number] += size
        self.highest[pool.number] = max(self.highest[pool.number], self.used[pool.number])

    def _free(self, place: int, number: int) -> None:
        self.reporters[place].call("report_buffer_free", self._targets[place], number)
        pool, size = self._alive.pop((place, number))
        self.used[pool.number] -= size

    def record(self, ledger: Ledger, writer: RecordingWriter) -> None:
        """What happened until now is read, or of some processes nothing yet; a block ends, or does not."""
        for one in list(self.waiting):
            if self.chance.random() < 0.4:
                self.waiting.remove(one)
                one.attach_to(ledger)
        if self.chance.random() < 0.8:
            ledger.drain()
        if self.chance.random() < 0.6:
            writer.flush()

    def compare(self, recording: Recording) -> None:
        """The recording alone says what was true."""
        peaks = {peak.pool: peak for peak in recording.peaks()}
        assert {pool: peak.size_bytes for pool, peak in peaks.items()} == self.highest
        for pool, peak in peaks.items():
            assert used_in(Moment(recording, peak=peak))[pool] == self.highest[pool]
        for note in self.notes:
            moment = Moment(recording, at_ns=note.at_ns)
            assert used_in(moment) == note.used
            assert alive_in(moment) == note.alive


def used_in(moment: Moment) -> Sums:
    found = {pool.number: 0 for pool in POOLS}
    for usage in moment.snapshot.devices:
        for pool in usage.pools:
            if pool.pool in POOLS:
                found[pool.pool.number] += pool.used_bytes or 0
    return found


def alive_in(moment: Moment) -> list[tuple[int, int]]:
    return sorted((process.pid, row[2]) for process in moment.snapshot.live for row in moment.allocations(process.key))
