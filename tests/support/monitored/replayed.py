"""Plays a workload while it is recorded, and compares the monitor on the recording with the model's truth:

    python -m tests.support.monitored.replayed NAME SHARE SEED

Some steps, about SHARE of all, are noted with the model's truth, 50 of them; afterwards a headless monitor goes to each
of these moments, in another order, and every figure on its picture is compared. The report of each moment must agree.
In a process of its own, since a journal never forgets a chip. Prints how many moments were compared, how many of them
differ, and how many figures that were.
"""

import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.monitored.cards import cards_of, figures_in
from tests.support.monitored.expected import expected_of, wrong_in
from tests.support.recorded.recorded_run import RecordedRun
from ttmem import GraphTracker
from ttmem.collector.recorded import Moment
from ttmem.devices import BufferType, Pool
from ttmem.figures.recorded import moment_report
from ttmem.figures.replay_clock import ReplayClock
from ttmem.figures.replayed import RecordedFigures
from ttmem.metal import MeshDevice
from ttmem.metal.workloads import WORKLOADS, Player
from ttmem.monitor.feed import frame_of
from ttmem.monitor.settings import Settings
from ttmem.monitor.state import MonitorState
from ttmem.recording import Recording
from ttmem.view.picture import picture

MOMENTS = 50
COLUMNS, ROWS = 120, 80
UNHELD = ("dram_peak", "l1_peak")  # held to the model by `recorded/comparison.py`: they may lie within a step


class Noted(NamedTuple):
    at_ns: int
    chips: list[dict[str, Any]]


def truth_of(mesh: MeshDevice) -> list[dict[str, Any]]:
    """Of every chip, as `expected_of` takes it."""
    kinds = (BufferType.DRAM, BufferType.L1)
    found = {kind.name.lower(): mesh.allocator.statistics(kind) for kind in kinds}
    l1 = mesh.allocator.base_address(BufferType.L1)
    begins = [l1 + block.offset_bytes for block in mesh.allocator.blocks(BufferType.L1) if block.is_allocated]
    truths = []
    for chip, accounts in zip(mesh.truth().chips, mesh.chip_accounts, strict=True):
        ends = [end for account in accounts for _, end, _ in account.footprint.regions]
        used = {pool.word: size for pool, size in chip.used_bytes.items()}
        truths.append(
            {
                "used": {word: used.get(word, 0) for word in ("dram", "trace", "l1", "l1_small")},
                "kernels": {kind.name.lower(): size for kind, size in chip.kernel_type_bytes.items()},
                "counts": {kind.word: count for kind, count in chip.counts.items()},
                "planned": chip.cb_planned_bytes,
                "resident": chip.cb_resident_bytes,
                "worst_planned": chip.cb_planned.worst_core_bytes,
                "worst_resident": chip.cb_resident.worst_core_bytes,
                "headroom": min(begins) - max(ends) if begins and ends else None,
                "launches": chip.launch_count,
                "peak": {"dram": 0, "l1": 0},
                "capacity": {word: one.bank_bytes * one.bank_count for word, one in found.items()},
                "largest": {word: one.largest_free_bytes * one.bank_count for word, one in found.items()},
            }
        )
    return truths


class Story(RecordedRun):
    """A recorded run and the moments that were noted of it."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.noted: list[Noted] = []

    def note(self, mesh: MeshDevice) -> None:
        with self.still() as at_ns:
            self.noted.append(Noted(at_ns, truth_of(mesh)))

    def play(self, name: str, share: float, chance: random.Random) -> None:
        with GraphTracker() as tracker:
            workload = WORKLOADS[name]
            mesh = workload.open(tracker=tracker)
            for number, _ in enumerate(Player(mesh).play(workload.steps(mesh.chips[0]))):
                if number % 50 == 0:
                    self.collector.tick()
                if chance.random() < share:
                    self.note(mesh)
                if len(self.noted) == MOMENTS:
                    break
            mesh.close()
        self.collector.tick()
        self.writer.close()


class Replayed:
    """A monitor without a terminal, on the recording."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.clock = ReplayClock(recording.first_ns, recording.last_ns)
        self.figures = RecordedFigures(recording, self.clock)
        settings = Settings(layout="full")
        self.state = MonitorState(settings, {}, is_readonly=True, banner="", replay=self.clock)
        self.state.resize(COLUMNS, ROWS)

    def picture_at(self, at_ns: int) -> str:
        self.clock.go_to(at_ns)
        self.state.take(frame_of(self.figures, self.state.wanted()))
        return picture(self.state.picture(), title="ttmem", columns=COLUMNS, is_light=False)

    def compare(self, noted: Noted) -> int:
        """How many figures were right; one that is wrong is an AssertionError."""
        cards = cards_of(self.picture_at(noted.at_ns), len(noted.chips))
        assert sorted(cards) == list(range(len(noted.chips)))
        grid = self.figures.overview().devices[0].device.grid
        assert grid is not None
        count = 0
        for index, truth in enumerate(noted.chips):
            wrong = wrong_in(cards[index], expected_of(truth, grid))
            unheld = (*UNHELD, "headroom") if truth["headroom"] is None else UNHELD  # one end is not a buffer's
            wrong = {name: why for name, why in wrong.items() if name not in unheld}
            assert wrong == {}, (index, wrong)
            count += len(figures_in(cards[index]))
        self._compare_report(noted)
        return count

    def _compare_report(self, noted: Noted) -> None:
        """`ttmem report --at` of the same moment says the same."""
        found = moment_report(self.recording, Moment(self.recording, at_ns=noted.at_ns), by=["kind"])
        told = {(chip.index, one.pool): one.size_bytes for one in found.pools for chip in one.chips}
        expected = {
            (index, pool): truth["used"][pool.word]
            for index, truth in enumerate(noted.chips)
            for pool in (Pool.DRAM, Pool.L1, Pool.L1_SMALL, Pool.TRACE)
            if truth["used"][pool.word]
        }
        assert {name: told.get(name) for name in expected} == expected


def compared(story: Story, chance: random.Random) -> Iterator[int]:
    replayed = Replayed(Recording(story.path))
    for noted in chance.sample(story.noted, len(story.noted)):
        yield replayed.compare(noted)


def main(name: str, share: str, seed: str) -> None:
    chance = random.Random(int(seed))
    story = Story(Path(os.environ["TTMEM_DIR"]))
    story.play(name, float(share), chance)
    counts = list(compared(story, chance))
    print(len(counts), len({str(noted.chips) for noted in story.noted}), sum(counts))


if __name__ == "__main__":
    main(*sys.argv[1:])
