"""The walker of Python frames against the interpreter's own answers, in each Python from 3.10 to 3.13."""

import fcntl
import hashlib
import os
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.support.preloads import plain
from tests.support.pythons import VERSIONS, python_of

ROOT = Path(__file__).parents[3]
SOURCE = ROOT / "tests" / "native" / "walker" / "walker.cpp"
PROGRAM = ROOT / "tests" / "support" / "walked.py"
BUILDS = plain(ROOT) / "build" / "walker"
SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer")


def built(*options: str) -> Path:
    """The library; made when its sources have changed."""
    parts = [SOURCE, *sorted((ROOT / "native" / "src" / "interpreter").iterdir())]
    mark = hashlib.sha256(b"\0".join([*(part.read_bytes() for part in parts), *map(str.encode, options)])).hexdigest()
    BUILDS.mkdir(parents=True, exist_ok=True)
    made = BUILDS / f"{mark[:16]}.so"
    with open(BUILDS / "lock", "w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        if not made.exists():
            compiler = shlex.split(os.environ.get("CXX", "c++"))
            command = [*compiler, "-std=c++20", "-O1", "-g", "-shared", "-fPIC", f"-I{ROOT / 'native' / 'src'}"]
            subprocess.run([*command, *options, str(SOURCE), "-o", f"{made}.new"], check=True)
            os.replace(f"{made}.new", made)
    return made


def python(version: str) -> str:
    found = python_of(version)
    if found is None:
        pytest.skip(f"NOT TESTED: no Python {version} with its headers here")
    return found


def told(version: str, story: str, count: int, library: Path, **settings: str) -> int:
    """How many stacks were equal."""
    command = [python(version), "-X", "faulthandler", str(PROGRAM), str(library), story, str(count)]
    environ = {**{name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}, **settings}
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), (done.returncode, done.stderr[-4000:])
    word, number = done.stdout.split()
    assert word == "done"
    return int(number)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("story", ["shapes", "threads", "fork", "exit", "wrong"])
def test_every_frame_is_the_interpreters_own(version: str, story: str) -> None:
    assert told(version, story, 800, built()) >= (1 if story == "wrong" else 50)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("version", VERSIONS)
def test_a_million_stacks_of_eight_threads_are_right_under_sanitizers(version: str) -> None:
    compiler = shlex.split(os.environ.get("CC", "cc"))
    asked = subprocess.run([*compiler, "-print-file-name=libasan.so"], capture_output=True, text=True, check=True)
    library = built(*SANITIZERS)
    settings = {"LD_PRELOAD": asked.stdout.strip(), "ASAN_OPTIONS": "detect_leaks=0", "PYTHONMALLOC": "malloc"}

    assert told(version, "shapes", 2000, library, **settings) >= 2000
    assert told(version, "wrong", 1, library, **settings) >= 1
    assert told(version, "fork", 1, library, **settings) >= 100
    assert told(version, "threads", 40_000, library, **settings) >= 40_000  # each of them is walked 26 times
