"""Builds the benchmark programs with CMake into build/bench."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "bench"


class BuildFailed(Exception):
    """The programs could not be built; the message ends with the compiler's own words."""


def build_programs() -> Path:
    """Returns the directory of the built programs."""
    cmake = shutil.which("cmake", path=f"{Path(sys.executable).parent}:{_search_path()}")
    if cmake is None:
        raise BuildFailed("cmake was not found: install it, or add it to the environment of this Python")
    print("building the benchmark programs", file=sys.stderr)
    _run([cmake, "-S", str(ROOT / "benchmarks"), "-B", str(BUILD)])
    _run([cmake, "--build", str(BUILD), "--parallel", "2"])
    return BUILD / "bin"


def _search_path() -> str:
    return os.environ.get("PATH", os.defpath)


def _run(command: list[str]) -> None:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise BuildFailed(f"{' '.join(command)} ended with status {done.returncode}:\n{done.stdout[-4000:]}")
