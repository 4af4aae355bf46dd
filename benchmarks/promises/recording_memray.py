"""Beside it: what memray, the profiler of host memory, takes for the high-water mark of as many events as one report.

memray lives in an environment of its own in `build/`, made when it is first needed. Its recording is made by a program
that allocates and frees as our reporting process does, 10,000 alive; then one process reads what was alive at the
high-water mark. Ours is in `recording`: peaks, and what was alive at them.
"""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.figures.rows import Row, row
from benchmarks.stage.build import ROOT
from benchmarks.stage.commands import cost_of
from benchmarks.stage.setting import Setting

HOME = ROOT / "build" / "bench-memray"
EVENTS = 10_000_000
WRITING = """
import sys, memray
from memray._test import MemoryAllocator
alive, state = [MemoryAllocator() for _ in range(10_000)], 1
with memray.Tracker(sys.argv[1]):
    for one in alive:
        one.malloc(4096)
    for _ in range(int(sys.argv[2]) // 2):
        state = (state * 6364136223846793005 + 1442695040888963407) & 0xFFFFFFFFFFFFFFFF
        one = alive[(state >> 32) * 10_000 >> 32]
        one.free()
        one.malloc(4096)
"""
READING = """
import sys, memray
reader = memray.FileReader(sys.argv[1])
print(sum(one.size for one in reader.get_high_watermark_allocation_records()))
"""


def measure(setting: Setting) -> Iterator[Row]:
    python = str(_environment() / "bin" / "python")
    with setting.fresh_directory() as own:
        path = own.directory / "memray.bin"
        subprocess.run([python, "-c", WRITING, str(path), str(setting.repeats(EVENTS, 10_000))], check=True)
        cost = cost_of(own, [python, "-c", READING, str(path)], times=3)
        yield row("high-water mark of 10 M events: CPU", cost.seconds, "s")
        yield row("high-water mark of 10 M events: memory", cost.resident_bytes / 1e6, "MB")
        yield row("an event", path.stat().st_size / EVENTS, "B")


def _environment() -> Path:
    if not (HOME / "bin" / "memray").exists():
        print("installing memray", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", str(HOME)], check=True)
        subprocess.run([str(HOME / "bin" / "pip"), "install", "--quiet", "memray"], check=True)
    return HOME
