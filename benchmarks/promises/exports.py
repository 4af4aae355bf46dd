"""Promise: Parquet of a recording is written at 1.5 million events per second and core, or faster.

Events are the rows of a recording of a program that frees and makes buffers in a loop: one of its lives is two events.
The figure is events per second of CPU time of the whole command `ttmem export`, with the start of Python and with
DuckDB's process. DuckDB must be installed; without it that row is missing. The other rows are for comparison.
"""

import importlib.util
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.figures.rows import Row, row
from benchmarks.stage.setting import Setting
from ttmem.recording import Recording

EVENTS, QUICK_EVENTS = 4_000_000, 50_000
_TURNS = 4096  # of the loop, between two pauses in which the recorder catches up
_PROGRAM = f"""
import random, sys, time, ttmem
random.seed(4)
sizes = [4096 * random.randrange(1, 4000) for _ in range(1024)]
chip = ttmem.open_device(0x61, index=0)
alive = [*range(1, 1001)]
for buffer in alive:
    ttmem.report_buffer_alloc(chip, buffer, sizes[buffer % 1024])
last = 1000
while last < int(sys.argv[1]) // 2:
    for _ in range({_TURNS}):
        place, last = random.randrange(1000), last + 1
        ttmem.report_buffer_free(chip, alive[place])
        ttmem.report_buffer_alloc(chip, last, sizes[last % 1024])
        alive[place] = last
    time.sleep(0.003)
"""


def measure(setting: Setting) -> Iterator[Row]:
    event_count = setting.repeats(EVENTS, QUICK_EVENTS)
    with setting.fresh_directory() as own:
        path = Path(own.directory) / "loop.ttmem"
        environ = {**os.environ, "TTMEM_DIR": str(own.directory), "TTMEM_RING": str(1 << 18)}
        record = ["record", "-o", str(path), "--", sys.executable, "-c", _PROGRAM, str(event_count)]
        subprocess.run([sys.executable, "-m", "ttmem", *record], env=environ, check=True, capture_output=True)
        recorded = Recording(path).row_count
        for form in ("parquet", "csv", "perfetto"):
            if form == "parquet" and importlib.util.find_spec("duckdb") is None:
                continue
            seconds = _cpu_seconds(path, form)
            target = ">= 1.5" if form == "parquet" else None
            yield row(f"to {form}", recorded / seconds / 1e6, "M events/s of CPU", target=target)


def _cpu_seconds(path: Path, form: str) -> float:
    """Of the whole command, and of what it starts."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    output = path.with_suffix(f".{form}")
    command = [sys.executable, "-m", "ttmem", "export", str(path), "--to", form, "-o", str(output)]
    subprocess.run(command, check=True, capture_output=True)
    output.unlink()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
