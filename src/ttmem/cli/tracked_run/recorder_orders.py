"""Orders for a recorder that another program has started: a line of JSON in, a line of JSON out.

   {"order": "sample"}   what every pool of every chip holds now, and its highest since the last sample
   {"order": "holders"}  which lines had a pool of a chip at its highest between two moments
   {"order": "alive"}    which lines made what is alive in a pool of a chip since a moment
   {"order": "end"}      the recording is complete, and packed

By the time of an answer all is read and written that was reported before the order.
"""

import json
import os
import select
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from ttmem.analysis.alive import AliveSum, Phases, sums_of
from ttmem.cli.tracked_run.chosen_journals import ChosenJournals
from ttmem.cli.tracked_run.recording_run import LiveRecording
from ttmem.collector import Collector
from ttmem.collector.recorded import Moment
from ttmem.devices import Pool
from ttmem.errors import TtmemError
from ttmem.recording import Recording

__all__ = ["RecorderOrders"]

_LOOK_SECONDS = 0.05
_MOST_LINES = 20


class RecorderOrders:
    """Answers orders until the last, or until the processes that were named have ended."""

    def __init__(self, recording: LiveRecording, collector: Collector, journals: ChosenJournals) -> None:
        self._recording = recording
        self._collector = collector
        self._journals = journals
        self._has_ended = False
        self._answers: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
            "sample": self._sample,
            "holders": self._holders,
            "alive": self._alive,
            "end": self._end,
        }

    def serve(self) -> None:
        """Says where it records, then answers."""
        _say({"recording": str(self._recording.directory)})
        lines = _lines(0, self._journals.look)
        while not self._journals.is_over and not self._has_ended:
            line = next(lines, None)
            if line is None:  # nobody asks any more; the processes go on
                time.sleep(_LOOK_SECONDS)
                self._journals.look()
            elif line:
                _say(self._answer(line))
        if not self._has_ended:
            self._catch_up()
            self._recording.close()

    def _answer(self, line: bytes) -> dict[str, Any]:
        try:
            order = json.loads(line)
            return self._answers[order["order"]](order)
        except (ValueError, KeyError, TypeError, TtmemError) as error:
            return {"trouble": f"{type(error).__name__}: {error}"}

    def _catch_up(self) -> None:
        self._journals.catch_up()
        self._recording.flush()

    def _sample(self, order: dict[str, Any]) -> dict[str, Any]:
        self._catch_up()
        _, chips, processes, _ = self._collector.ledger.sample()
        return {
            "at_ns": time.monotonic_ns(),
            "wall_ns": time.time_ns(),
            "process_count": len(processes),
            "trouble": self._recording.trouble,
            "chips": [
                {
                    "chip": unique_id,
                    "number": number,
                    "name": name,
                    "pools": {Pool.numbered(pool).word: [high, used] for pool, used, high, _ in pools},
                }
                for number, unique_id, name, pools in chips
            ],
        }

    def _holders(self, order: dict[str, Any]) -> dict[str, Any]:
        self._catch_up()
        recording = Recording(self._recording.directory)
        pool, chip = Pool[order["pool"].upper()], order["chip"]
        peaks = recording.peaks(order["from_ns"], order["until_ns"])
        for peak in peaks:
            if (peak.chip, peak.pool) == (chip, pool.number):
                moment = Moment(recording, peak=peak)
                keys = [process.key for process in moment.snapshot.live]
                device = _number(moment, chip)
                rows = {key: moment.allocations(key) for key in keys}
                return _told(sums_of(rows, {}, {}, device=device, pool=pool.number, by=("site", "operation")))
        return {"lines": []}

    def _alive(self, order: dict[str, Any]) -> dict[str, Any]:
        self._catch_up()
        since_ns, pool = order["since_ns"], Pool[order["pool"].upper()].number
        snapshot = self._collector.snapshot()
        rows = {
            process.key: [row for row in self._collector.ledger.allocations(process.key) if row[12] >= since_ns]
            for process in snapshot.live
        }
        phases: dict[int, Phases] = {}
        return _told(sums_of(rows, phases, {}, device=order["number"], pool=pool, by=("site", "operation")))

    def _end(self, order: dict[str, Any]) -> dict[str, Any]:
        self._has_ended = True
        self._catch_up()
        self._recording.close()
        return {"events": self._recording.row_count, "trouble": self._recording.trouble}


def _number(moment: Moment, chip: int) -> int:
    return next(usage.device.number for usage in moment.snapshot.devices if usage.device.unique_id == chip)


def _told(sums: list[AliveSum]) -> dict[str, Any]:
    return {
        "lines": [[*one.names, one.size_bytes, one.count] for one in sums[:_MOST_LINES]],
        "more": len(sums) - len(sums[:_MOST_LINES]),
    }


def _say(answer: dict[str, Any]) -> None:
    with suppress(OSError):  # who asked is gone
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def _lines(file: int, idle: Callable[[], None]) -> Iterator[bytes]:
    """Orders as they come; an empty one after each moment without any. Ends when their sender has ended."""
    unread = b""
    while True:
        if b"\n" in unread:
            line, _, unread = unread.partition(b"\n")
            yield line
        elif select.select([file], [], [], _LOOK_SECONDS)[0]:
            try:
                more = os.read(file, 1 << 16)
            except OSError:
                return
            if not more:
                return
            unread += more
        else:
            idle()
            yield b""
