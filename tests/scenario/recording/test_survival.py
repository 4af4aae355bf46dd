"""What survives: kills, cut and changed files, a full disk, a second recorder, recorders that come back."""

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.journals.reporters import Nursery, Reporter, a_nursery
from tests.support.timing.waiting import wait_until
from ttmem.analysis.room.answers import RoomAnswer
from ttmem.cli.recorded_answers import RecordedRequest, answered
from ttmem.collector import Collector
from ttmem.collector.recorded import Moment
from ttmem.devices import Pool
from ttmem.errors import CannotRecord, RecordingDamaged
from ttmem.recording import Meta, Recording, RecordingWriter
from ttmem.sources import Places

CHIP, SIZE = 0x51, 4096


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    with a_nursery() as one:
        yield one


class Recorded:
    """A collector and what it records."""

    def __init__(self, journals: Path, path: Path) -> None:
        self.collector = Collector(Places(uid=os.geteuid(), directory=str(journals)))
        self.writer = RecordingWriter(path, self.collector.ledger, meta=Meta())

    def take(self) -> None:
        self.collector.tick()
        self.writer.flush()

    def has_room(self) -> bool:
        """Whether it could be written now."""
        self.take()
        return not self.writer.trouble


def allocate(reporter: Reporter, target: int, first: int, count: int) -> None:
    reporter.do(*(("report_buffer_alloc", target, number, SIZE) for number in range(first, first + count)))


def held(moment: Moment) -> int:
    """Bytes of DRAM on the only chip."""
    pools = [pool for usage in moment.snapshot.devices for pool in usage.pools if pool.pool is Pool.DRAM]
    return pools[0].used_bytes if pools else 0


def highest(recording: Recording) -> int:
    return max((peak.size_bytes for peak in recording.peaks()), default=0)


def is_held(path: Path, count: int) -> bool:
    try:
        return held(Moment(Recording(path))) == count * SIZE
    except RecordingDamaged:
        return False


def a_small_recording(nursery: Nursery, journals: Path, path: Path) -> bytes:
    """Of some blocks, still plain: its bytes."""
    recorded = Recorded(journals, path)
    reporter = nursery.start(journals)
    target = reporter.open_device(CHIP)
    for part in range(6):
        allocate(reporter, target, 1 + part * 5, 5)
        recorded.take()
    del recorded.writer
    reporter.kill()
    return (path / "000001.blocks").read_bytes()


@pytest.fixture(scope="module")
def small(nursery: Nursery, tmp_path_factory: pytest.TempPathFactory) -> Path:
    journals, path = tmp_path_factory.mktemp("journals"), tmp_path_factory.mktemp("small") / "run.ttmem"
    a_small_recording(nursery, journals, path)
    return path


@contextmanager
def changed(path: Path, data: bytes) -> Iterator[None]:
    """The only segment with other bytes, for a while."""
    segment = path / "000001.blocks"
    before = segment.read_bytes()
    segment.write_bytes(data)
    try:
        yield
    finally:
        segment.write_bytes(before)


def test_all_that_a_killed_workload_did_is_there(nursery: Nursery, journals: Path, tmp_path: Path) -> None:
    recorded = Recorded(journals, tmp_path / "run.ttmem")
    reporter = nursery.start(journals)
    recorded.take()
    allocate(reporter, reporter.open_device(CHIP), 1, 300)

    reporter.kill()
    wait_until(lambda: recorded.collector.tick() == 0 and not recorded.collector.snapshot().live)
    recorded.writer.close()

    recording = Recording(tmp_path / "run.ttmem")
    assert highest(recording) == 300 * SIZE
    assert held(Moment(recording)) == 0


def test_a_program_that_was_over_before_it_was_found_is_recorded(
    nursery: Nursery, journals: Path, tmp_path: Path
) -> None:
    recorded = Recorded(journals, tmp_path / "run.ttmem")
    reporter = nursery.start(journals)
    allocate(reporter, reporter.open_device(CHIP), 1, 10)
    reporter.kill()

    recorded.take()
    recorded.writer.close()

    assert highest(Recording(tmp_path / "run.ttmem")) == 10 * SIZE


def test_a_killed_recorder_leaves_what_it_had_written(nursery: Nursery, journals: Path, tmp_path: Path) -> None:
    path = tmp_path / "box.ttmem"
    command = [sys.executable, "-m", "ttmem", "record", "-o", str(path)]
    recorder = subprocess.Popen(command, env={**os.environ, "TTMEM_DIR": str(journals)}, stderr=subprocess.PIPE)
    try:
        reporter = nursery.start(journals)
        target = reporter.open_device(CHIP)
        allocate(reporter, target, 1, 200)
        wait_until(lambda: is_held(path, 200))
    finally:
        recorder.send_signal(signal.SIGKILL)
        recorder.communicate()

    written = Recording(path)
    assert written.troubles == []
    assert is_held(path, 200)
    again = Recorded(journals, path)
    allocate(reporter, target, 201, 50)
    again.take()
    again.writer.close()
    assert len(Recording(path).segments) == len(written.segments) + 1
    assert is_held(path, 250)
    reporter.kill()


def test_a_second_recorder_is_refused(journals: Path, tmp_path: Path) -> None:
    first = Recorded(journals, tmp_path / "run.ttmem")

    with pytest.raises(CannotRecord, match="another recorder is writing this recording"):
        Recorded(journals, tmp_path / "run.ttmem")

    first.writer.close()


def test_a_full_disk_loses_what_happens_meanwhile_and_nothing_else(
    nursery: Nursery, journals: Path, tmp_path: Path
) -> None:
    recorded = Recorded(journals, tmp_path / "run.ttmem")
    reporter = nursery.start(journals)
    target = reporter.open_device(CHIP)
    allocate(reporter, target, 1, 10)
    recorded.take()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, ((tmp_path / "run.ttmem" / "000001.blocks").stat().st_size + 40, hard))
    try:
        allocate(reporter, target, 11, 500)
        recorded.take()
        assert recorded.writer.trouble
        assert Recording(tmp_path / "run.ttmem").troubles == []
        assert is_held(tmp_path / "run.ttmem", 10)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    allocate(reporter, target, 511, 5)

    wait_until(recorded.has_room)
    allocate(reporter, target, 516, 1)
    recorded.take()
    recorded.writer.close()

    assert is_held(tmp_path / "run.ttmem", 516)
    assert Recording(tmp_path / "run.ttmem").lost_record_count >= 500
    reporter.kill()


def test_a_file_cut_anywhere_in_its_last_two_blocks_has_all_blocks_before(small: Path) -> None:
    whole = Recording(small).segments[0].blocks
    data = (small / "000001.blocks").read_bytes()
    for size in range(whole[-2].offset, len(data)):
        with changed(small, data[:size]):
            recording = Recording(small)
        kept = recording.segments[0].blocks
        assert kept == whole[: len(whole) - (2 if size < whole[-1].offset else 1)]
        assert bool(recording.troubles) == (size not in (whole[-2].offset, whole[-1].offset))


def test_no_flipped_bit_is_taken_for_a_figure(small: Path) -> None:
    data = bytearray((small / "000001.blocks").read_bytes())
    whole = Recording(small)
    expected, first_size = highest(whole), whole.segments[0].blocks[0].size
    for at in range(0, len(data), 7):
        data[at] ^= 1 << at % 8
        with changed(small, bytes(data)):
            recording = Recording(small) if at >= first_size else None
            assert recording is None or recording.troubles, f"byte {at}"
            if recording is not None:
                assert highest(recording) <= expected
                Moment(recording)
        data[at] ^= 1 << at % 8


@pytest.mark.parametrize("answer", ["core", "holes", "floor", "headroom", "trace_safety", "advise"])
def test_no_answer_about_room_is_sure_of_a_damaged_recording(small: Path, answer: str) -> None:
    data = bytearray((small / "000001.blocks").read_bytes())
    data[len(data) // 2] ^= 1
    with changed(small, bytes(data)):
        recording = Recording(small)
        found = answered(answer, RecordedRequest(recording, ("site",), None, None, 0)).figures

    assert isinstance(found, RoomAnswer)
    assert found.certainty == "at_least"
    assert recording.troubles[0] in found.why


def test_the_oldest_segments_go_first_and_the_rest_is_whole(nursery: Nursery, journals: Path, tmp_path: Path) -> None:
    path = tmp_path / "run.ttmem"
    collector = Collector(Places(uid=os.geteuid(), directory=str(journals)))
    writer = RecordingWriter(path, collector.ledger, meta=Meta(), max_bytes=64 << 10)
    reporter = nursery.start(journals)
    target = reporter.open_device(CHIP)
    deadline = time.monotonic() + 30
    first = 1
    while (path / "000001.blocks").exists() or (path / "000001.sealed").exists():
        assert time.monotonic() < deadline
        allocate(reporter, target, first, 200)
        first += 200
        collector.tick()
        writer.flush()
    writer.close()

    assert is_held(path, first - 1)
    assert sum(file.stat().st_size for file in path.iterdir()) < 3 * (64 << 10)
    reporter.kill()
