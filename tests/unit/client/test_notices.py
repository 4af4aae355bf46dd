"""What reporting says goes to stderr, and nowhere else."""

import subprocess
import sys
from pathlib import Path

from tests.support.programs import tracked

WITHOUT_STDERR = """\
import os, sys
import ttmem
from tests.support.tracked.runtime import a_chip_alone

file = open(sys.argv[1], "w")
assert file.fileno() == 2, file.fileno()
with ttmem.GraphTracker() as tracker:
    tracker.track_kernel_load(100, 1, a_chip_alone())
    tracker.track_allocate(None)
    assert tracker.fault_count == 1
print("done")
"""


def test_without_stderr_nothing_is_written_into_the_programs_own_file(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    journals = tmp_path / "journals"
    journals.mkdir(mode=0o700)
    script = tmp_path / "program.py"
    script.write_text(WITHOUT_STDERR)
    environ = tracked(journals, TT_METAL_KERNEL_BACKTRACE="1", PYTHONPATH=str(Path(__file__).parents[3]))
    shell = ["sh", "-c", 'exec "$@" 2>&-', "sh", sys.executable, str(script), str(victim)]

    done = subprocess.run(shell, env=environ, stdout=subprocess.PIPE, text=True, check=True)

    assert done.stdout == "done\n"
    assert victim.read_text() == ""
