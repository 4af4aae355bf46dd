"""Lives of a recording of several processes: each has its own, whoever shares a chip or was forked from whom."""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

from ttmem.figures.growing import leaks
from ttmem.recording import Ending, EventKind, Lives, Recording

PROGRAM = Path(__file__).parents[3] / "programs" / "recording" / "forked_phases.py"


def recorded(journals: Path, path: Path) -> tuple[Recording, int, int]:
    """The recording, the parent's pid and the child's."""
    command = [sys.executable, "-m", "ttmem", "record", "-o", str(path), "--", sys.executable, str(PROGRAM)]
    environ = {**os.environ, "TTMEM_DIR": str(journals)}
    done = subprocess.run(command, env=environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    parent, child = map(int, done.stdout.split())
    return Recording(path), parent, child


def test_a_fork_and_its_parent_have_lives_of_their_own(journals: Path, tmp_path: Path) -> None:
    recording, parent, child = recorded(journals, tmp_path / "run.ttmem")

    player = Lives(recording)
    endings: Counter[tuple[int, int, Ending]] = Counter()
    launches: Counter[int] = Counter()
    for batch in player.batches():
        for life in batch.rows():
            assert life.chips == (0x61,)
            endings[player.processes[life.process].pid, life.bytes >> 20, life.ending] += 1
        for event in batch.event_rows():
            launches[player.processes[event.process].pid] += event.kind is EventKind.LAUNCHED
    assert endings == {
        (parent, 7, Ending.FREED): 1,
        (parent, 3, Ending.FREED): 4,
        (parent, 1, Ending.PROCESS_ENDED): 4,
        (child, 3, Ending.FREED): 4,
        (child, 2, Ending.PROCESS_ENDED): 4,
    }
    assert launches == {parent: 4, child: 4}
    assert Counter(player.processes[run.process].pid for run in player.phases) == {parent: 4, child: 4}
    sizes = {int(one.process.split()[1]): one.bytes_per_run for one in leaks(recording).leaks}
    assert sizes == {parent: 1 << 20, child: 2 << 20}
