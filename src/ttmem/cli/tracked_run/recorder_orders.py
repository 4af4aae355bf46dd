"""Orders for a recorder that another program has started: a line of JSON in, a line of JSON out.

   {"order": "sample"}   what every pool of every chip holds now, and its highest since the last sample
   {"order": "cores"}    the fullest core of each chip between two samples
   {"order": "holders"}  which lines had a pool of a chip, or its fullest core, at its highest between two samples
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

from ttmem.analysis.alive import AliveSum, sums_of
from ttmem.cli.tracked_run.chosen_journals import ChosenJournals
from ttmem.cli.tracked_run.recording_run import LiveRecording
from ttmem.collector import Collector
from ttmem.collector.recorded import Moment
from ttmem.collector.watched import core_peaks
from ttmem.devices import Pool
from ttmem.errors import TtmemError
from ttmem.recording import CorePeak, Recording
from ttmem.snapshot.values import ChipId, Device
from ttmem.view.device_tables import device_word

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
            "cores": self._cores,
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
        except (ValueError, KeyError, TypeError, StopIteration, TtmemError) as error:
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

    def _cores(self, order: dict[str, Any]) -> dict[str, Any]:
        found = {
            usage.device.unique_id: (usage.fullest_core_bytes or 0, "")  # if nothing happened between
            for usage in self._collector.snapshot().devices
        }
        for chip, peak in self._core_peaks(order).items():
            found[ChipId(chip)] = max(found.get(ChipId(chip), (0, "")), (peak.size_bytes, _core_text(peak.core)))
        return {"cores": [[chip, *row] for chip, row in found.items() if row[0]]}

    def _core_peaks(self, order: dict[str, Any]) -> dict[int, CorePeak]:
        """Blocks end where samples were taken."""
        self._catch_up()
        recording = Recording(self._recording.directory)
        peaks = core_peaks(recording, from_ns=order["from_ns"], until_ns=order["until_ns"])
        return {peak.chip: peak for peak in peaks}

    def _holders(self, order: dict[str, Any]) -> dict[str, Any]:
        chip = order["chip"]
        is_core = order["pool"] == "l1_per_core"
        core = self._core_peaks(order).get(chip) if is_core else None
        self._catch_up()
        recording = Recording(self._recording.directory)
        pool = Pool.L1 if is_core else Pool[order["pool"].upper()]
        peaks = [] if is_core else recording.peaks(order["from_ns"], order["until_ns"])
        peak = next((one for one in peaks if (one.chip, one.pool) == (chip, pool.number)), None)
        moment = Moment(recording, peak=peak, core=core)
        rows = {process.key: moment.allocations(process.key) for process in moment.snapshot.live}
        device = next(usage.device for usage in moment.snapshot.devices if usage.device.unique_id == chip)
        return _told(device, sums_of(rows, {}, {}, device=device.number, pool=pool.number, by=("site", "operation")))

    def _alive(self, order: dict[str, Any]) -> dict[str, Any]:
        self._catch_up()
        since_ns, pool = order["since_ns"], Pool[order["pool"].upper()].number
        snapshot = self._collector.snapshot()
        device = next(usage.device for usage in snapshot.devices if usage.device.unique_id == order["chip"])
        rows = {
            process.key: [row for row in self._collector.ledger.allocations(process.key) if row[12] >= since_ns]
            for process in snapshot.live
        }
        return _told(device, sums_of(rows, {}, {}, device=device.number, pool=pool, by=("site", "operation")))

    def _end(self, order: dict[str, Any]) -> dict[str, Any]:
        self._has_ended = True
        self._catch_up()
        self._recording.close()
        return {"events": self._recording.row_count, "trouble": self._recording.trouble}


def _core_text(core: tuple[int, int] | None) -> str:
    return "" if core is None else f"{core[0]}-{core[1]}"


def _told(device: Device, sums: list[AliveSum]) -> dict[str, Any]:
    return {
        "word": device_word(device),
        "lines": [[*one.names, one.size_bytes, one.count] for one in sums[:_MOST_LINES]],
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
