"""Makes the sample of the format that stands in `tests/data/recordings`, once for every format that is released:

    python -m tests.support.recorded.sample

It is redacted, so it names no machine's paths; what it must say is in `expected.json` beside it.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from ttmem._native import Ledger
from ttmem.recording import Meta, Recording, RecordingWriter
from ttmem.recording.meta import FORMAT

SAMPLES = Path(__file__).parents[2] / "data" / "recordings"
PROGRAM = """
import sys, ttmem
from ttmem import _native
chip = ttmem.open_device(0x51)
print(_native.client.journal_path(), flush=True)
sys.stdin.readline()
with ttmem.phase("load"):
    for number in range(1, 6):
        ttmem.report_buffer_alloc(chip, number, 4096 * number)
for number in (4, 5):
    ttmem.report_buffer_free(chip, number)
print("done", flush=True)
sys.stdin.readline()
"""


def main() -> None:
    path = SAMPLES / f"format-{FORMAT}"
    ledger = Ledger()
    with tempfile.TemporaryDirectory() as directory:
        writer = RecordingWriter(path, ledger, meta=Meta(is_redacted=True, host="sample"))
        environ = {**os.environ, "TTMEM": "1", "TTMEM_DIR": directory}
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM], env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert process.stdin is not None
        assert process.stdout is not None
        journal = process.stdout.readline().strip()
        facts = os.stat(journal)
        ledger.attach(journal, facts.st_dev, facts.st_ino)
        print(file=process.stdin, flush=True)
        process.stdout.readline()
        ledger.drain()
        writer.flush()
        writer.close()
        process.kill()
        process.communicate()
    (path / "lock").unlink()
    recording = Recording(path)
    expected = {
        "rows": recording.row_count,
        "peaks": [[peak.chip, peak.pool, peak.size_bytes] for peak in recording.peaks()],
        "held_bytes": 4096 * (1 + 2 + 3),
    }
    (path / "expected.json").write_text(json.dumps(expected, indent=2) + "\n")


if __name__ == "__main__":
    main()
