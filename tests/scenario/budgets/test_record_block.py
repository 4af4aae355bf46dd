"""`ttmem record --pid` and `with ttmem.record(...)`: what running processes do, and nothing of theirs is changed."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.journals.reporters import Nursery, a_nursery
from tests.support.timing.waiting import wait_until
from ttmem.collector.recorded import Moment
from ttmem.devices import Pool
from ttmem.errors import RecordingDamaged
from ttmem.recording import Recording

SIZE = 4096
BLOCK = """
import json, os, sys
import ttmem
chip = ttmem.open_device(0x61)
ttmem.report_buffer_alloc(chip, 1, 1 << 20)
ttmem.report_free(ttmem.report_buffer_alloc(chip, 2, 64 << 20))  # before: not in it
with ttmem.record(sys.argv[1]) as block:
    ttmem.report_free(ttmem.report_buffer_alloc(chip, 3, 5 << 20))
    child = os.fork()
    if child == 0:
        block.__exit__(None, None, None)
        os._exit(0)
    os.waitpid(child, 0)
    ttmem.report_free(ttmem.report_buffer_alloc(chip, 4, 7 << 20))
ttmem.report_free(ttmem.report_buffer_alloc(chip, 5, 64 << 20))  # afterwards: not in it
with ttmem.record(sys.argv[1]):
    print(json.dumps(sorted(os.listdir(sys.argv[1]))))
with ttmem.record("/proc/no/such"):
    pass
sys.executable = ""
with ttmem.record(sys.argv[1] + "2"):
    print("still here")
"""


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    with a_nursery() as one:
        yield one


def highest(path: Path) -> int:
    try:
        return max((peak.size_bytes for peak in Recording(path).peaks()), default=0)
    except RecordingDamaged:
        return 0


def run(journals: Path, program: str, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "TTMEM": "1", "TTMEM_DIR": str(journals), **settings}
    return subprocess.run([sys.executable, "-c", program, *arguments], env=environ, capture_output=True, text=True)


def test_a_block_is_recorded_alone_and_what_goes_wrong_is_a_line_each(journals: Path, tmp_path: Path) -> None:
    path = tmp_path / "block.ttmem"

    done = run(journals, BLOCK, str(path))

    assert done.returncode == 0, done.stderr
    files, last = done.stdout.splitlines()
    assert any(name.endswith(".sealed") for name in json.loads(files))  # complete when the block was left
    assert last == "still here"
    assert highest(path) == (1 << 20) + (7 << 20)
    first, second, third = done.stderr.splitlines()
    assert first.startswith("ttmem: nothing is recorded: ")
    assert "is there already" in first
    assert "/proc/no/such" in second
    assert "sys.executable" in third


def test_a_block_without_tracking_says_so_in_one_line(journals: Path, tmp_path: Path) -> None:
    program = f"import ttmem\nwith ttmem.record({str(tmp_path / 'off')!r}): pass"

    done = run(journals, program, TTMEM="0")

    assert done.returncode == 0
    assert "tracking is off" in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_processes_named_are_recorded_until_they_end_and_no_other(
    nursery: Nursery, journals: Path, tmp_path: Path
) -> None:
    named, other = nursery.start(journals), nursery.start(journals)
    chips = [one.open_device(0x51) for one in (named, other)]
    named.do(("report_buffer_alloc", chips[0], 1, SIZE))
    other.do(("report_buffer_alloc", chips[1], 1, 100 * SIZE))
    path = tmp_path / "named.ttmem"
    command = [sys.executable, "-m", "ttmem", "record", "--pid", str(named.pid), "-o", str(path)]
    recorder = subprocess.Popen(command, env={**os.environ, "TTMEM_DIR": str(journals)}, stderr=subprocess.PIPE)
    wait_until(lambda: highest(path) == SIZE)
    named.do(("report_buffer_alloc", chips[0], 2, SIZE))
    other.do(("report_buffer_alloc", chips[1], 2, 100 * SIZE))

    named.kill()
    _, said = recorder.communicate(timeout=60)

    assert (recorder.returncode, b"events in" in said) == (0, True), said
    assert highest(path) == 2 * SIZE
    assert not Moment(Recording(path)).snapshot.live
    other.kill()


def test_ctrl_c_ends_a_recording_of_a_process(nursery: Nursery, journals: Path, tmp_path: Path) -> None:
    reporter = nursery.start(journals)
    reporter.do(("report_buffer_alloc", reporter.open_device(0x51), 1, SIZE))
    path = tmp_path / "named.ttmem"
    command = [sys.executable, "-m", "ttmem", "record", "--pid", str(reporter.pid), "-o", str(path)]
    recorder = subprocess.Popen(command, env={**os.environ, "TTMEM_DIR": str(journals)}, stderr=subprocess.PIPE)
    wait_until(lambda: highest(path) == SIZE)

    recorder.send_signal(signal.SIGINT)
    recorder.communicate(timeout=60)

    assert recorder.returncode == 0
    assert [*path.glob("*.sealed")]
    reporter.kill()


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--pid", "0"], 2, "is no pid"),
        (["--pid", "seven"], 2, "'seven' is no pid"),
        (["--pid", "99999999"], 1, "found none of pid 99999999"),
        (["--pid", "1", "--", "true"], 2, "--pid is for processes that run already"),
    ],
)
def test_what_cannot_be_recorded_is_refused(tmp_path: Path, arguments: list[str], code: int, said: str) -> None:
    command = [sys.executable, "-m", "ttmem", "record", "-o", str(tmp_path / "none"), *arguments]

    done = subprocess.run(command, capture_output=True, text=True)

    assert (done.returncode, said in done.stderr) == (code, True), done.stderr
    assert not list(tmp_path.iterdir())


def test_a_peak_is_exact_between_any_two_moments(nursery: Nursery, journals: Path, tmp_path: Path) -> None:
    from tests.scenario.recording.test_survival import Recorded, allocate

    recorded = Recorded(journals, tmp_path / "run.ttmem")
    reporter = nursery.start(journals)
    target = reporter.open_device(0x51)
    moments, held, highs = [], [0], []
    import time

    for step in range(12):
        count = (step * 7) % 5 + 1
        allocate(reporter, target, 1 + step * 100, count)
        peak = held[-1] + count * SIZE
        reporter.do(*(("report_buffer_free", target, 1 + step * 100 + number) for number in range(1, count)))
        recorded.take() if step % 3 == 0 else None
        held.append(held[-1] + SIZE)
        highs.append(peak)
        moments.append(time.monotonic_ns())
    recorded.take()
    recorded.writer.close()
    recording = Recording(tmp_path / "run.ttmem")

    for first in range(11):
        for last in range(first + 1, 12):
            [peak_found] = recording.peaks(moments[first], moments[last])
            assert peak_found.size_bytes == max(highs[first + 1 : last + 1]), (first, last)
            moment = Moment(recording, peak=peak_found)
            [usage] = moment.snapshot.devices
            assert next(one.used_bytes for one in usage.pools if one.pool is Pool.DRAM) == peak_found.size_bytes
    reporter.kill()
