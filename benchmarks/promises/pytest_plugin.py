"""Promise: the plugin of pytest costs a run that does not ask for it at most 1 ms to load.

Measured in a fresh interpreter that has loaded pytest, as installed: without the finder of an editable install.
"""

import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import ttmem
from benchmarks.figures.rows import Row, row
from benchmarks.stage.setting import Setting

_PROGRAM = """
import time, pytest
began = time.thread_time_ns()
import ttmem.pytest_plugin
print(time.thread_time_ns() - began)
"""


def measure(setting: Setting) -> Iterator[Row]:
    places = [str(Path(module.__file__ or "").parents[1]) for module in (ttmem, pytest)]
    with setting.fresh_directory() as own:
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(places),
            "PYTHONPYCACHEPREFIX": str(own.directory / "bytecode"),
        }
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        _load_ms(environment)  # its bytecode is there from now on
        value = statistics.median(_load_ms(environment) for _ in range(setting.repeats(15, 2)))
    yield row("pytest plugin, loaded and not asked for", value, "ms CPU", target="<= 1")


def _load_ms(environment: dict[str, str]) -> float:
    done = subprocess.run([sys.executable, "-S", "-c", _PROGRAM], env=environment, capture_output=True, check=True)
    return int(done.stdout) / 1e6
