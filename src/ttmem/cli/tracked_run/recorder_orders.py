"""Orders for a recorder that another program has started: a line of JSON in, a line of JSON out.

   {"order": "sample"}   what every pool of every chip holds now, and its highest since the last sample
   {"order": "cores"}    the fullest core of each chip between two samples
   {"order": "holders"}  which lines had a pool of a chip, or its fullest core, at its highest between two samples
   {"order": "alive"}    which lines made what is alive in a pool of a chip since a moment
   {"order": "discard"}  from now on: who asks wants answers, not the recording; it goes when they end
   {"order": "end"}      the recording is complete, and packed

By the time of an answer all is read and written that was reported before the order.
"""

import json
import os
import select
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from ttmem.analysis.alive import AliveSum, sums_of
from ttmem.cli.tracked_run.chosen_journals import ChosenJournals
from ttmem.cli.tracked_run.recording_run import LiveRecording
from ttmem.collector import Collector
from ttmem.collector.watched import core_peaks
from ttmem.devices import Pool
from ttmem.errors import TtmemError
from ttmem.figures.together import TogetherPeak, holders_at, together_peaks
from ttmem.recording import CorePeak, Recording
from ttmem.snapshot.values import ChipId, Device
from ttmem.view.texts import device_word

__all__ = ["RecorderOrders"]

_LOOK_SECONDS = 0.005  # who is found soon is known to have ended when it ends
_MOST_LINES = 20


class RecorderOrders:
    """Answers orders until the last, or until the processes that were named have ended."""

    def __init__(self, recording: LiveRecording, collector: Collector, journals: ChosenJournals) -> None:
        self._recording = recording
        self._collector = collector
        self._journals = journals
        self._has_ended = self._is_discarded = False
        self._sampled_ns = 0
        self._running: set[int] = set()  # keys of processes
        self._known: set[int] = set()
        self._answers: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
            "sample": self._sample,
            "cores": self._cores,
            "holders": self._holders,
            "alive": self._alive,
            "discard": self._discard,
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
        if self._is_discarded:
            shutil.rmtree(self._recording.directory, ignore_errors=True)
            with suppress(OSError):  # made for it alone, if it is empty now
                self._recording.directory.parent.rmdir()

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
        began_ns, self._sampled_ns = self._sampled_ns, time.monotonic_ns()
        _, chips, processes, _ = self._collector.ledger.sample()
        pools = {
            (unique_id, Pool.numbered(pool)): [high, used]
            for _, unique_id, _, rows in chips
            for pool, used, high, _ in rows
        }
        if began_ns and self._has_several(processes):
            recording = Recording(self._recording.directory)
            for name, peak in together_peaks(recording, began_ns, self._sampled_ns).items():
                if name in pools:
                    pools[name][0] = max(pools[name][1], peak.size_bytes)
        return {
            "at_ns": self._sampled_ns,
            "wall_ns": time.time_ns(),
            "trouble": self._recording.trouble,
            "chips": [
                {
                    "chip": unique_id,
                    "number": number,
                    "pools": {pool.word: figures for (chip, pool), figures in pools.items() if chip == unique_id},
                }
                for number, unique_id, *_ in chips
            ],
        }

    def _has_several(self, processes: Sequence[Any]) -> bool:
        """Whether more than one process did anything since the last sample: then the order in which they were read is
        not that of time."""
        running = {row[0] for row in processes if row[3]}
        several, self._running = running | self._running | {row[0] for row in processes} - self._known, running
        self._known |= {row[0] for row in processes}
        return len(several) > 1

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
        chip, from_ns, until_ns = order["chip"], order["from_ns"], order["until_ns"]
        is_core = order["pool"] == "l1_per_core"
        core = self._core_peaks(order).get(chip) if is_core else None
        self._catch_up()
        recording = Recording(self._recording.directory)
        pool = Pool.L1 if is_core else Pool[order["pool"].upper()]
        if core is not None:
            time_ns = core.time_ns
        else:
            time_ns = together_peaks(recording, from_ns, until_ns).get((chip, pool), TogetherPeak(0, until_ns)).time_ns
        devices = self._collector.snapshot().devices
        device = next(usage.device for usage in devices if usage.device.unique_id == chip)
        return _told(device, holders_at(recording, chip, pool, time_ns, until_ns))

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

    def _discard(self, order: dict[str, Any]) -> dict[str, Any]:
        self._is_discarded = True
        return {}

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
