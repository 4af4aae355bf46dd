"""`ttmem run` as its users start it, and a program that reports."""

import os
import subprocess
import sys
from pathlib import Path

TTMEM = [sys.executable, "-m", "ttmem"]
REPORTING = "import ttmem; chip = ttmem.open_device(5, index=0); ttmem.report_buffer_alloc(chip, 1, 4 << 20)"


def ttmem(*arguments: str, directory: Path, **settings: str) -> "subprocess.CompletedProcess[str]":
    environ = {**os.environ, "TTMEM_DIR": str(directory), **settings}
    return subprocess.run([*TTMEM, *arguments], env=environ, capture_output=True, text=True)


def python(code: str) -> list[str]:
    return ["--", sys.executable, "-c", code]
