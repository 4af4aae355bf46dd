"""A random story of the runtime model while it is recorded, and what the recording alone says of it.

By its number a story has 1, 4 or 32 chips, and is of one process, of two on the same chips, of one that forks, or of
one with a ring of 16 events that is lapped again and again. Every order is followed by a note: the time, and what is
true by the model's arithmetic. Of a story with gaps a note is taken once the recorder is exact again, for what was
alive in between is not known; the most that was held in between is.
"""

import os
import random
import time
from pathlib import Path
from typing import NamedTuple

from tests.support.recorded.tellers import Known, Teller, Tellers, Used
from tests.support.timing.waiting import PATIENCE_SECONDS, wait_until
from ttmem.collector import Collector
from ttmem.collector.recorded import Moment
from ttmem.devices import Kind, Pool
from ttmem.recording import Meta, Recording, RecordingWriter
from ttmem.sources import Places

BOARDS = (("n150", 1, 1), ("t3000", 1, 4), ("galaxy", 8, 4))
KINDS = ("alone", "two", "fork", "gaps")
ORDERS = 25
COMPARED = 8
PEAKING = ("dram", "l1")  # whose every change is an order's: firmware and dispatch have others


class Note(NamedTuple):
    """What is true at a time, of CLOCK_MONOTONIC."""

    at_ns: int
    used: Used
    alive: list[list[int]]


class Story:
    """One story, told and recorded."""

    def __init__(self, number: int, directory: Path, starter: Tellers) -> None:
        self.chance = random.Random(number)
        self.kind = KINDS[number % len(KINDS)]
        self.board = BOARDS[number // len(KINDS) % len(BOARDS)]
        self.is_hybrid = self.kind != "gaps" and self.board[0] == "n150"
        self.path = directory / "story.ttmem"
        self.collector = Collector(Places(uid=os.geteuid(), directory=str(directory)))
        self.writer = RecordingWriter(self.path, self.collector.ledger, meta=Meta())
        self.known: dict[tuple[Teller, bool], Known] = {}
        self.most: Used = {}
        self.notes: list[Note] = []
        ring = {"TTMEM_RING": "16"} if self.kind == "gaps" else {}
        self.tellers = [starter.start(directory, **ring) for _ in range(1 + (self.kind == "two"))]

    def tell(self) -> None:
        for teller in self.tellers:
            self._order(teller, False, "open", *self.board, 0, self.is_hybrid)
        if self.kind == "fork":
            self._order(self.tellers[0], False, "make", 0, 6400, 1)
            self.tellers[0].fork()
        actors = [(teller, False) for teller in self.tellers]
        if self.kind == "fork":
            actors.append((self.tellers[0], True))
        for _ in range(ORDERS):
            self._order(*self.chance.choice(actors), *self._some_order())
            self._note()
        self._note(is_last=True)
        self.collector.tick()
        self.writer.flush()

    def end(self) -> None:
        """All its processes are gone, and the recording is whole."""
        for teller in self.tellers:
            teller.kill()
        wait_until(lambda: self.collector.tick() == 0 and not self.collector.snapshot().live)
        self.writer.close()

    def compare(self) -> None:
        """The recording alone says what was true."""
        recording = Recording(self.path)
        assert recording.troubles == []
        *notes, last = self.notes  # the last: what is still held in the end
        for note in [*self.chance.sample(notes, min(COMPARED, len(notes))), last]:
            moment = Moment(recording, at_ns=note.at_ns)
            assert not moment.lost_keys
            assert used_in(moment) == note.used
            assert alive_in(moment) == note.alive
        assert used_in(Moment(recording)) == {}
        assert self._peaks(recording) == {
            (int(chip), pool): size
            for chip, pools in self.most.items()
            for pool, size in pools.items()
            if pool in PEAKING and size
        }

    def _peaks(self, recording: Recording) -> dict[tuple[int, str], int]:
        found = {}
        for peak in recording.peaks():
            pool = Pool.numbered(peak.pool).word
            if pool not in PEAKING:
                continue
            found[peak.chip, pool] = peak.size_bytes
            if peak.is_of_gap:
                continue
            moment = Moment(recording, peak=peak)
            assert used_in(moment)[str(peak.chip)][pool] == peak.size_bytes
        return found

    def _order(self, teller: Teller, is_child: bool, *order: object) -> None:
        answer = teller.do(*order, is_child=is_child)
        others = [known for actor, known in self.known.items() if actor != (teller, is_child)]
        for chip, pools in answer.most.items():
            most = self.most.setdefault(chip, {})
            for pool, size in pools.items():
                beside = sum(known.used.get(chip, {}).get(pool, 0) for known in others)
                most[pool] = max(most.get(pool, 0), size + beside)
        self.known[teller, is_child] = answer

    def _some_order(self) -> tuple[object, ...]:
        word = self.chance.choice(("make", "make", "make", "free", "many"))
        if word == "free":
            return word, self.chance.randrange(1 << 16)
        if word == "many":
            return word, self.chance.randrange(2, 60), self.chance.randrange(1 << 16)
        place = self.chance.randrange(3 if self.is_hybrid else 2)
        return word, place, 64 * self.chance.randrange(1, 400), self.chance.randrange(1, 5)

    def _note(self, *, is_last: bool = False) -> None:
        if self.kind == "gaps":
            if self.chance.random() < 0.5 and not is_last:
                return  # more happens before anyone looks
            assert self.collector.wait_settled(PATIENCE_SECONDS)
        self.notes.append(Note(time.monotonic_ns(), self._used(), self._alive()))
        if self.kind == "gaps" or self.chance.random() < 0.3:  # looked at again, nothing had happened until then
            self.collector.tick()
        if self.kind == "gaps" or self.chance.random() < 0.3:
            self.writer.flush()

    def _used(self) -> Used:
        used: Used = {}
        for known in self.known.values():
            for chip, pools in known.used.items():
                for pool, size in pools.items():
                    used.setdefault(chip, {})[pool] = used.get(chip, {}).get(pool, 0) + size
        return used

    def _alive(self) -> list[list[int]]:
        return sorted([known.pid, *one] for known in self.known.values() for one in known.alive)


def used_in(moment: Moment) -> Used:
    found = {
        str(usage.device.unique_id): {pool.pool.word: pool.used_bytes for pool in usage.pools if pool.used_bytes}
        for usage in moment.snapshot.devices
    }
    return {chip: pools for chip, pools in found.items() if pools}


def alive_in(moment: Moment) -> list[list[int]]:
    """Pid, id, address and bytes on each chip of every buffer."""
    found = []
    for process in moment.snapshot.live:
        rows = moment.allocations(process.key)
        found += [[process.pid, row[2], row[7], row[5]] for row in rows if row[1] == Kind.BUFFER.number]
    return sorted(found)
