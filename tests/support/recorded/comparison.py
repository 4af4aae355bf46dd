"""Plays a workload while it is recorded, and compares what the recording alone says with the model's truth:

    python -m tests.support.recorded.comparison NAME STRIDE ROUNDS

At every STRIDEth step the model's truth is noted, with what a ledger has alive; afterwards every one of these moments,
and every peak, is asked of the recording, first while it goes on and then when it is packed. In a process of its own,
since a journal never forgets a chip. With TTMEM_RING=16 the collector is lapped again and again. Prints how
many moments were compared, how many rows were recorded and how many records were lost.
"""

import os
import sys
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.recorded.lives import compare_held, compare_lives
from tests.support.recorded.recorded_run import RecordedRun
from tests.support.tracked.agreement import differences
from ttmem import GraphTracker
from ttmem.collector.recorded import Moment
from ttmem.devices import Pool
from ttmem.metal import MeshDevice
from ttmem.metal.workloads import WORKLOADS, Player
from ttmem.recording import Recording
from ttmem.snapshot import Snapshot


class Noted(NamedTuple):
    """One moment, as the model and a living ledger have it."""

    monotonic_ns: int
    used: dict[int, dict[str, Any]]  # by chip and pool
    alive: list[tuple[Any, ...]]
    fullest: dict[int, int | None]


def true_use(mesh: MeshDevice) -> dict[int, dict[str, Any]]:
    return {
        chip.unique_id: {pool.word: size for pool, size in chip.used_bytes.items() if size}
        for chip in mesh.truth().chips
    }


def use_in(snapshot: Snapshot) -> dict[int, dict[str, Any]]:
    return {
        usage.device.unique_id: {pool.pool.word: pool.used_bytes for pool in usage.pools if pool.used_bytes}
        for usage in snapshot.devices
    }


def alive_in(source: Any, snapshot: Snapshot) -> list[tuple[Any, ...]]:
    """Kind, id, pool, sizes, place, thread, sequence, names: all but numbers of devices, and times."""
    rows = [row for process in snapshot.live for row in source.allocations(process.key)]
    return sorted((*row[1:12], *row[13:14], *row[16:]) for row in rows)


def fullest_in(snapshot: Snapshot) -> dict[int, int | None]:
    return {usage.device.unique_id: usage.fullest_core_bytes for usage in snapshot.devices}


class Story(RecordedRun):
    """A recorded run and the moments that were noted of it."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.noted: list[Noted] = []

    def note(self, mesh: MeshDevice) -> None:
        with self.still() as at_ns:
            snapshot = self.collector.snapshot()
            alive = alive_in(self.collector.ledger, snapshot)
            self.noted.append(Noted(at_ns, true_use(mesh), alive, fullest_in(snapshot)))

    def compare(self, *, has_gaps: bool) -> None:
        recording = Recording(self.path)
        assert recording.troubles == []
        for number, noted in enumerate(self.noted):
            moment = Moment(recording, at_ns=noted.monotonic_ns)
            told = use_in(moment.snapshot)
            assert differences(told, noted.used) == [], (
                f"moment {number} {noted.monotonic_ns}: {differences(told, noted.used)[:4]}"
            )
            assert alive_in(moment, moment.snapshot) == noted.alive, f"moment {number}"
            assert fullest_in(moment.snapshot) == noted.fullest, f"moment {number}"
        self._compare_peaks(recording, has_gaps=has_gaps)
        compare_lives(recording, [(one.monotonic_ns, one.used, one.alive) for one in self.noted])

    def _compare_peaks(self, recording: Recording, *, has_gaps: bool) -> None:
        snapshot = self.collector.snapshot()
        known = {
            (usage.device.unique_id, pool.pool): pool.peak_bytes
            for usage in snapshot.devices
            for pool in usage.pools
            if pool.peak_bytes
        }
        found = {(peak.chip, Pool.numbered(peak.pool)): peak for peak in recording.peaks()}
        told_peaks = {name: peak.size_bytes for name, peak in found.items()}
        assert told_peaks == known, {name: (told_peaks.get(name), size) for name, size in known.items()}
        for (chip, pool), peak in found.items():
            if has_gaps:
                continue
            told = use_in(Moment(recording, peak=peak).snapshot)
            assert told[chip][pool.word] == peak.size_bytes


def main(name: str, stride: str, round_count: str) -> None:
    has_gaps = os.environ.get("TTMEM_RING") == "16"
    story = Story(Path(os.environ["TTMEM_DIR"]))
    with GraphTracker() as tracker:
        workload = WORKLOADS[name]
        mesh = workload.open(tracker=tracker)
        player = Player(mesh)
        for number, _ in enumerate(player.play(workload.steps(mesh.chips[0]))):
            if not has_gaps and number % 50 == 0:
                story.collector.tick()
            if number % int(stride) == 0:
                story.note(mesh)
            if player.round_count >= int(round_count):
                break
        story.note(mesh)
        story.compare(has_gaps=has_gaps)
        mesh.close()
    story.collector.tick()
    story.writer.close()
    story.compare(has_gaps=has_gaps)
    if not has_gaps:
        compare_held(Recording(story.path), story.noted[-1].used)
    print(len(story.noted), story.writer.rows, story.writer.lost_records)


if __name__ == "__main__":
    main(*sys.argv[1:])
