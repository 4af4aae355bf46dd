"""Tells random stories of phases and launches, records them, and holds the answers about growth against own arithmetic:

    python -m tests.support.recorded.grown.growing FIRST COUNT

The story keeps what is alive in a dictionary and copies it at the end of every phase, and at every launch; nothing of
the recording goes into what is expected. With TTMEM_RING=16 there may be gaps: then a leak that is reported must have
happened, and the answer must say that it is not sure. Prints of each how many leaks, changed lines and temporary ones.
"""

import os
import random
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import ttmem
from ttmem import _native
from ttmem.analysis.growth import LeakReport
from ttmem.collector import Collector
from ttmem.figures.growing import growth, leaks, temporary
from ttmem.recording import Lives, Meta, Recording, RecordingWriter
from ttmem.sources import Places

POOLS = ("dram", "l1")
LINES = tuple(f"model.py:{number} made" for number in range(6))
WARMUPS = 1

Place = tuple[int, str, str]  # chip, pool, line
Alive = dict[Place, tuple[int, int]]  # count, bytes


class Buffer(NamedTuple):
    place: Place
    size: int
    thread: str


class Story:
    """One chip or two, one thread or two, lines that keep, keep sometimes, or keep for one round."""

    def __init__(self, seed: int, directory: Path) -> None:
        self.random = random.Random(seed)
        self.collector = Collector(Places(uid=os.geteuid(), directory=str(directory)))
        self.writer = RecordingWriter(directory / "story.ttmem", self.collector.ledger, meta=Meta())
        self.chips = [0x1000 + 16 * seed + number for number in range(self.random.randint(1, 2))]
        self.targets = {chip: ttmem.open_device(chip) for chip in self.chips}
        self.alive: dict[tuple[int, int], Buffer] = {}  # by chip and id
        self.last: dict[tuple[str, int, str], int] = {}  # id that a thread made in a pool
        self.temporary: Counter[Place] = Counter()
        self.made: Counter[tuple[int, str]] = Counter()
        self.ends: dict[str, list[Alive]] = {}
        self.launches: list[Alive] = []
        self.next_id = 1
        self.other = ThreadPoolExecutor(1)

    def make(self, line: str, *, is_anywhere: bool = True) -> tuple[int, int]:
        chip, pool, thread = self.random.choice(self.chips), self.random.choice(POOLS), self._thread()
        if not is_anywhere:
            chip, pool = self.chips[-1], POOLS[LINES.index(line) % 2]
        number, size = self.next_id, 1024 * self.random.randint(1, 9)
        self.next_id += 1
        if self.alive and self.random.random() < 0.05:  # one that is alive is replaced
            old_chip, number = self.random.choice(list(self.alive))
            chip = old_chip
            pool = self.alive[chip, number].place[1]
            del self.alive[chip, number]
        site = _native.client.intern(line)
        self._call(
            thread, ttmem.report_buffer_alloc, self.targets[chip], number, size, 0, 0, 0, POOLS.index(pool), site
        )
        self.alive[chip, number] = Buffer((chip, pool, line), size, thread)
        self.last[thread, chip, pool] = number
        self.made[chip, pool] += 1
        return chip, number

    def free(self, chip: int, number: int) -> None:
        place, _, thread = self.alive.pop((chip, number))
        self._call(self._thread(), ttmem.report_buffer_free, self.targets[chip], number, POOLS.index(place[1]))
        self.temporary[place] += self.last[thread, chip, place[1]] == number

    def launch(self, program: int) -> None:
        self.launches.append(self.held())
        ttmem.report_launch(self.targets[self.chips[0]], program)

    def held(self) -> Alive:
        sums: dict[Place, list[int]] = {}
        for one in self.alive.values():
            its = sums.setdefault(one.place, [0, 0])
            its[0] += 1
            its[1] += one.size
        return {place: (count, size) for place, (count, size) in sums.items()}

    def close(self) -> None:
        self.collector.tick()
        for target in self.targets.values():
            _native.client.close_target(target)
        self.other.shutdown()
        self.collector.tick()
        self.writer.close()

    def _thread(self) -> str:
        return self.random.choice(("main", "other"))

    def _call(self, thread: str, function: object, *arguments: int) -> None:
        assert callable(function)
        if thread == "main":
            function(*arguments)
        else:
            self.other.submit(function, *arguments).result()


def tell(story: Story, *, has_phases: bool) -> None:
    chance = story.random
    habits = {line: chance.choice(("keeps", "sometimes", "one round", "frees")) for line in LINES}
    later: list[tuple[int, int]] = []
    for _ in range(chance.randint(0, 4)):
        story.make(chance.choice(LINES))
    if not has_phases:
        story.launch(900)
    programs = [*chance.choices(range(100, 104), k=chance.randint(1, 5)), 200]
    for _ in range(chance.randint(5, 8)):
        now, later = later, []
        if not has_phases:
            one_round(story, habits, now, later, programs)
            continue
        with ttmem.phase("step"):
            one_round(story, habits, now, later, [])
        story.ends.setdefault("step", []).append(story.held())
        if chance.random() < 0.3:
            story.make(chance.choice(LINES))
        story.collector.tick()
    if not has_phases:
        story.launch(901)


def one_round(
    story: Story, habits: dict[str, str], now: list[tuple[int, int]], later: list[tuple[int, int]], programs: list[int]
) -> None:
    chance = story.random
    for line, habit in habits.items():
        for program in programs[:1] if programs and line == LINES[0] else []:
            story.launch(program)
        key = story.make(line, is_anywhere=habit != "keeps")
        if habit == "frees" or (habit == "sometimes" and chance.random() < 0.5):
            if key in story.alive:
                story.free(*key)
        elif habit == "one round":
            later.append(key)
    for key in now:
        if key in story.alive:
            story.free(*key)
    for program in programs[1:]:
        story.launch(program)


def risen(ends: list[Alive]) -> dict[Place, list[tuple[int, int]]]:
    places = {place for end in ends for place in end}
    courses = {place: [end.get(place, (0, 0)) for end in ends] for place in places}
    return {place: its for place, its in courses.items() if all(a[0] < b[0] for a, b in pairwise(its))}


def changed(ends: list[Alive]) -> dict[Place, list[int]]:
    places = {place for end in ends for place in end}
    courses = {place: [end.get(place, (0, 0))[1] for end in ends] for place in places}
    return {place: its for place, its in courses.items() if its[0] != its[-1]}


def compared_ends(story: Story, report: LeakReport) -> list[Alive]:
    """Of the story's own ends those that an answer says it has compared."""
    [series] = report.series
    if not series.is_inferred:
        return [story.ends[series.name][run - 1] for run in series.runs]
    length = int(series.name.split()[0])
    return [story.launches[1 + run * length] for run in series.runs]  # behind the one before the rounds


def check(story: Story) -> tuple[int, int, int]:
    recording = Recording(story.writer.directory)
    found, grown, gone = leaks(recording, warmups=WARMUPS), growth(recording, warmups=WARMUPS), temporary(recording)
    ends = compared_ends(story, found)
    [series] = found.series
    all_ends = story.ends.get("step")
    assert series.is_inferred == (all_ends is None)
    assert len(ends) == (len(all_ends) - WARMUPS if all_ends else series.run_count - WARMUPS)
    told = {(one.chips[0].unique_id, one.pool.word, one.line): one for one in found.leaks}
    expected = risen(ends)
    assert {place: list(zip(one.counts, one.sizes, strict=True)) for place, one in told.items()} == expected
    for one in found.leaks:
        assert one.first_survivor is not None
        assert one.bytes_per_run == (one.sizes[-1] - one.sizes[0]) // (len(one.sizes) - 1)
    assert {(one.chips[0].unique_id, one.pool.word, one.line): list(one.sizes) for one in grown.lines} == changed(ends)
    held = {(one.chips[0].unique_id, one.pool.word, one.line): (one.count, one.size_bytes) for one in found.held}
    assert held == story.held()
    assert {one.until for one in found.held} <= {"device closed"}
    made = {(one.chips[0].unique_id, one.pool.word): one.count for one in gone.pools}
    assert made == dict(story.made)
    its = {(one.chips[0].unique_id, one.pool.word, one.line): one.temporary_count for one in gone.lines}
    assert its == {place: count for place, count in story.temporary.items() if count}
    assert found.is_sure == (not series.is_inferred and not found.doubts)
    return len(expected), len(changed(ends)), sum(its.values())


def check_gaps(story: Story) -> tuple[int, int, int]:
    recording = Recording(story.writer.directory)
    found = leaks(recording, warmups=WARMUPS)
    courses = [[end.get(place, (0, 0)) for end in story.ends["step"]] for place in _places(found)]
    for one, course in zip(found.leaks, courses, strict=True):
        left = iter(course)
        assert all(pair in left for pair in zip(one.counts, one.sizes, strict=True)), (one, course)
    lives = Lives(recording)
    assert list(lives.rows())
    assert not (found.is_sure and any(process.gap_count for process in lives.processes))
    return len(found.leaks), 0, 0


def _places(report: LeakReport) -> list[Place]:
    return [(one.chips[0].unique_id, one.pool.word, one.line) for one in report.leaks]


def told_and_checked(seed: int) -> tuple[int, int, int]:
    has_gaps = os.environ.get("TTMEM_RING") == "16"
    directory = Path(os.environ["TTMEM_DIR"], str(seed))
    directory.mkdir(mode=0o700)
    os.environ["TTMEM_DIR"] = str(directory)
    story = Story(seed, directory)
    tell(story, has_phases=has_gaps or seed % 2 == 0)
    story.close()
    return (check_gaps if has_gaps else check)(story)


def main(first: str, count: str) -> None:
    """Every story in a process of its own: what an earlier one reported can still be read."""
    for seed in range(int(first), int(first) + int(count)):
        child = os.fork()
        if child == 0:
            print(*told_and_checked(seed), flush=True)
            os._exit(0)
        if os.waitpid(child, 0)[1] != 0:
            raise SystemExit(f"story {seed}")


if __name__ == "__main__":
    main(*sys.argv[1:])
