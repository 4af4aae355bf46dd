"""`ttmem run` on programs of many processes: launchers, test runners, children that come and go."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

RUN = [sys.executable, "-m", "ttmem", "run"]
REPORTS = """
import os, sys, ttmem
chip = ttmem.open_device(500 + int(sys.argv[1]), index=int(sys.argv[1]))
ttmem.report_buffer_alloc(chip, 1, (1 + int(sys.argv[1])) << 20)
os._exit(0)
"""
LAUNCHES = """
import os, subprocess, sys
ranks = [subprocess.Popen([sys.executable, sys.argv[1], str(rank)]) for rank in range(4)]
codes = [rank.wait() for rank in ranks]
sys.exit(9 if codes == [0, 0, 0, 0] else 1)
"""
# Ends only when its journal is open in the process above, and has the file removed then, as a daemon would.
VANISHES = """
import os, sys, ttmem
ttmem.report_buffer_alloc(ttmem.open_device(5, index=0), 1, 3 << 20)
[journal] = [entry.path for entry in os.scandir(os.environ["TTMEM_DIR"]) if entry.name.startswith(str(os.getpid()))]
def target(link):
    try:
        return os.readlink(link)
    except OSError:  # closed meanwhile
        return ""
above = f"/proc/{os.getppid()}/fd"
while journal not in [target(f"{above}/{name}") for name in os.listdir(above)]:
    pass
os.remove(journal)
"""


def run(directory: Path, *command: str) -> "subprocess.CompletedProcess[str]":
    environ = {**os.environ, "TTMEM_DIR": str(directory)}
    return subprocess.run([*RUN, "--", *command], env=environ, capture_output=True, text=True, cwd=directory)


def test_every_rank_of_a_launcher_is_in_the_summary_and_its_exit_code_is_ours(tmp_path: Path) -> None:
    (tmp_path / "rank.py").write_text(REPORTS)
    (tmp_path / "launcher.py").write_text(LAUNCHES)

    result = run(tmp_path, sys.executable, "launcher.py", "rank.py")

    assert (result.returncode, result.stdout) == (9, "")
    peaks = re.findall(r"^ *(\d+) .* (\d) +dram +(\d\.\d\d MiB)", result.stderr, flags=re.MULTILINE)
    assert sorted(peak[1:] for peak in peaks) == [(str(rank), f"{rank + 1}.00 MiB") for rank in range(4)]
    assert len({pid for pid, _, _ in peaks}) == 4


@pytest.mark.slow
def test_what_a_test_run_holds_is_seen(tmp_path: Path) -> None:
    test = "import ttmem\ndef test_it():\n    ttmem.report_buffer_alloc(ttmem.open_device(5, index=0), 1, 2 << 20)\n"
    (tmp_path / "test_it.py").write_text(test)

    result = run(
        tmp_path, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "test_it.py"
    )

    assert (result.returncode, "1 passed" in result.stdout) == (0, True)
    assert "2.00 MiB" in result.stderr


def test_a_journal_that_was_removed_meanwhile_still_counts(tmp_path: Path) -> None:
    result = run(tmp_path, sys.executable, "-c", VANISHES)

    assert (result.returncode, list(tmp_path.glob("*.journal"))) == (0, [])
    assert "3.00 MiB never freed" in result.stderr
