"""A recording played forwards and backwards, over the border of segments, is the same at the same moment."""

import os
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.processes.children import Actor
from ttmem.collector import Collector
from ttmem.collector.playback import Keys, Playback
from ttmem.collector.recorded_history import RecordedHistory
from ttmem.devices import Pool
from ttmem.errors import SelectionError
from ttmem.recording import Meta, Recording, RecordingWriter
from ttmem.sources import Places

MIB = 1 << 20
STEPS = (  # what is held after each, and the highest up to then
    ("ttmem.report_buffer_alloc(chip, 1, 3 << 20)", 3, 3),
    ("ttmem.report_buffer_free(chip, 1)", 0, 3),
    ("", 0, 3),  # another segment begins
    ("ttmem.report_buffer_alloc(chip, 2, 1 << 20)", 1, 3),
    ("ttmem.report_buffer_alloc(chip, 3, 4 << 20)", 5, 5),
)


class Recorder:
    """One that follows what reports in a directory; started again, it goes on in another segment."""

    def __init__(self, directory: Path) -> None:
        self.collector = Collector(Places(uid=os.geteuid(), directory=str(directory)))
        self.writer = RecordingWriter(directory / "run.ttmem", self.collector.ledger, meta=Meta())

    def look(self) -> None:
        self.collector.wait_settled()
        self.collector.tick()
        self.writer.flush()


class Story:
    """A recording of two segments, and the moment after each step."""

    def __init__(self, directory: Path, steps: Sequence[tuple[str, int, int]] = STEPS) -> None:
        self.path = directory / "run.ttmem"
        self.moments: list[int] = []
        with Actor(directory) as actor:
            recorder = Recorder(directory)
            actor.do("import ttmem; chip = ttmem.open_device(0x61); ttmem.report_launch(chip, 1)")
            actor.do("ttmem.phase('all of it').__enter__()")
            for statements, *_ in steps:
                if not statements:
                    recorder.writer.close()
                    recorder = Recorder(directory)
                actor.do(statements or "pass")
                recorder.look()
                self.moments.append(time.monotonic_ns())
            recorder.writer.close()


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Story:
    return Story(tmp_path_factory.mktemp("journals"))


def seen(playback: Playback, at_ns: int) -> tuple[int, int, int]:
    """Held, highest so far, and the key of the process."""
    playback.go_to(at_ns)
    snapshot = playback.overview()
    [process] = snapshot.processes
    [usage] = snapshot.devices
    dram = next(pool for pool in usage.pools if pool.pool is Pool.DRAM)
    return dram.used_bytes // MIB, dram.peak_bytes // MIB, process.key


@pytest.mark.parametrize("order", [range(5), range(4, -1, -1), (4, 0, 3, 1, 2)])
def test_a_moment_is_the_same_whatever_was_shown_before(story: Story, order: tuple[int, ...]) -> None:
    playback = Playback(Recording(story.path), Keys())

    found = {number: seen(playback, story.moments[number]) for number in order}

    assert len(Recording(story.path).segments) == 2
    assert [found[number] for number in range(5)] == [(held, highest, 1) for _, held, highest in STEPS]


@pytest.mark.parametrize(("steps", "launches"), [(STEPS[:2], 1), (STEPS, None)])
def test_launches_are_known_if_all_of_them_were_played(
    tmp_path: Path, steps: Sequence[tuple[str, int, int]], launches: int | None
) -> None:
    story = Story(tmp_path, steps)
    playback = Playback(Recording(story.path), Keys())

    playback.go_to(story.moments[-1])

    assert playback.overview().processes[0].launch_count == launches


def test_a_process_is_found_close_up_by_the_key_that_screens_have(story: Story) -> None:
    playback = Playback(Recording(story.path), Keys())
    playback.go_to(story.moments[4])
    [row] = playback.overview().processes

    found = playback.process(row.pid, key=row.key)

    assert found.process.key == row.key
    assert [holding.allocation.size_bytes // MIB for holding in found.largest] == [4, 1]
    with pytest.raises(SelectionError, match="no process 999999"):
        playback.process(999_999)


def test_a_part_that_cannot_be_read_is_a_finding_and_the_rest_is_shown(tmp_path: Path) -> None:
    story = Story(tmp_path, STEPS[:2])
    [segment] = story.path.glob("*.sealed")
    blocks = Recording(story.path).segments[0].blocks
    content = bytearray(segment.read_bytes())
    content[blocks[-1].offset + blocks[-1].size - 1] ^= 1
    segment.write_bytes(content)

    playback = Playback(Recording(story.path), Keys())
    playback.go_to(story.moments[-1])

    [finding] = playback.overview().findings
    assert finding.name == "unread_part"
    assert segment.name in finding.path
    assert playback.overview().devices[0].used_bytes(Pool.DRAM) == 3 * MIB


def test_the_history_says_when_phases_began_and_the_highest_so_far(story: Story) -> None:
    recording = Recording(story.path)
    history = RecordedHistory(recording, Keys())

    late = history.history(story.moments[4], 60)
    again = history.history(story.moments[4], 60)

    assert late == again
    assert [mark.text for mark in late.marks if mark.what == "phase_began"] == ["all of it"]
    [dram] = [one for one in late.series if one.pool is Pool.DRAM]
    assert dram.highest_bytes in (1 * MIB, 3 * MIB, 5 * MIB)  # a second may have ended in between
    [rates] = late.processes
    assert rates.host_cpu_share is None
