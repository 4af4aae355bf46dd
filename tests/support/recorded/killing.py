"""One round of a kill: a workload that notes what it did, a recorder beside it, and what is in the recording."""

import mmap
import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from tests.support.timing.waiting import wait_until
from ttmem.collector.recorded import Moment
from ttmem.devices import Pool
from ttmem.errors import RecordingDamaged
from ttmem.recording import Recording

ROOT = Path(__file__).parents[3]
SIZE = 4096
CALLS = 40_000  # fewer than a ring has room for: nothing is ever lost to a lap


class Workload:
    """A process that allocates, and its notes of when each call had returned."""

    def __init__(self, directory: Path, journals: Path, *, pause_us: int) -> None:
        notes = directory / "notes"
        notes.write_bytes(bytes((CALLS + 1) * 8))
        with notes.open("r+b") as file:
            self._words = memoryview(mmap.mmap(file.fileno(), 0)).cast("Q")
        command = [sys.executable, "-m", "tests.programs.recording.steady", str(notes), str(CALLS), str(pause_us)]
        environ = {**os.environ, "TTMEM": "1", "TTMEM_DIR": str(journals)}
        self.process = subprocess.Popen(
            command, cwd=ROOT, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    @property
    def done(self) -> int:
        """How many calls have returned."""
        return int(self._words[0])

    def time_ns(self, number: int) -> int:
        """When that call had returned."""
        return int(self._words[number])

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


class RecorderProcess:
    """`ttmem record`, and how long its threads had waited for a processor at some moments."""

    def __init__(self, path: Path, journals: Path) -> None:
        self.path = path
        command = [sys.executable, "-m", "ttmem", "record", "-o", str(path)]
        environ = {**os.environ, "TTMEM_DIR": str(journals)}
        self.process = subprocess.Popen(command, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self._delays: list[tuple[int, int]] = []

    def look(self) -> None:
        """Takes note of how long it has waited for processors so far."""
        total = 0
        with suppress(OSError):
            for thread in os.listdir(f"/proc/{self.process.pid}/task"):
                with suppress(OSError, IndexError):
                    stat = Path(f"/proc/{self.process.pid}/task/{thread}/schedstat").read_text()
                    total += int(stat.split()[1])
        self._delays.append((time.monotonic_ns(), total))

    def waited_ns(self, since_ns: int) -> int:
        """How long it waited for processors from that moment on until it was looked at last."""
        before = [total for at_ns, total in self._delays if at_ns <= since_ns]
        return self._delays[-1][1] - (before[-1] if before else 0)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def end(self, signal_number: int) -> int:
        """Asks it to end; its exit code."""
        self.process.send_signal(signal_number)
        return self.process.wait(timeout=60)


def row_count(path: Path) -> int:
    """0 while there is nothing to be read yet."""
    try:
        return Recording(path).row_count
    except RecordingDamaged:
        return 0


def recorded(path: Path) -> tuple[int, bool]:
    """How many buffers are alive at the end of a recording, and whether some process is."""
    try:
        moment = Moment(Recording(path))
    except RecordingDamaged:
        return 0, False
    sizes = [
        pool.used_bytes or 0 for usage in moment.snapshot.devices for pool in usage.pools if pool.pool is Pool.DRAM
    ]
    return sum(sizes) // SIZE, bool(moment.snapshot.live)


def highest(path: Path) -> int:
    """How many buffers were alive at the most."""
    return max((peak.size_bytes for peak in Recording(path).peaks()), default=0) // SIZE


def wait_for_calls(workload: Workload, recorder: RecorderProcess, more: int) -> None:
    """Until it is recorded, and has done so many more calls."""
    wait_until(lambda: row_count(recorder.path) > 1)
    goal = min(workload.done + more, CALLS)

    def has_come() -> bool:
        recorder.look()
        return workload.done >= goal

    wait_until(has_come)
