"""The walker of Python frames, compiled for tests: a library for any Python, and programs with a Python inside."""

import fcntl
import hashlib
import os
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.support.processes.native_programs import writer_half
from tests.support.processes.preloads import plain
from tests.support.processes.pythons import home_of, include_of, linking_of, python_of

ROOT = Path(__file__).parents[3]
SOURCES = ROOT / "tests" / "native" / "walker"
PROGRAM = Path(__file__).with_name("walked.py")
BUILDS = plain(ROOT) / "build" / "walker"
NO_SETTINGS: Mapping[str, str] = {}
SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer")


def python(version: str) -> str:
    found = python_of(version)
    if found is None:
        pytest.skip(f"NOT TESTED: no Python {version} with its headers here")
    return found


def library() -> Path:
    return built(SOURCES / "walker.cpp", "-shared", "-fPIC", suffix=".so")


def client(*options: str) -> Path:
    """The whole client as a library."""
    parts = writer_half("*.cpp")
    unity = "".join(f'#include "{part}"\n' for part in parts)
    shared = ["-shared", "-fPIC", "-fvisibility=hidden", "-Wl,-Bsymbolic", f"-I{ROOT / 'native' / 'include'}"]
    return built(unity, *shared, *options, suffix=".so")


def program(version: str, source: str, *options: str, is_static: bool = False) -> list[str]:
    """A program with that Python inside, and where its modules are."""
    interpreter = python(version)
    linking = linking_of(interpreter, is_static=is_static)
    if linking is None:
        pytest.skip(f"NOT TESTED: no {'static' if is_static else 'shared'} library of Python {version} here")
    includes = ["-isystem", str(include_of(interpreter))]
    return [str(built(SOURCES / source, *includes, *options, after=linking)), home_of(interpreter)]


def built(source: Path | str, *options: str, after: Sequence[str] = (), suffix: str = "") -> Path:
    """Made of a file or a text when sources or options have changed."""
    parts = [*sorted(SOURCES.iterdir()), *writer_half("*")]
    words = [str(source), *options, *after]
    mark = hashlib.sha256(b"\0".join([*(part.read_bytes() for part in parts), *map(str.encode, words)])).hexdigest()
    BUILDS.mkdir(parents=True, exist_ok=True)
    made = BUILDS / f"{mark[:16]}{suffix}"
    with open(BUILDS / f"{mark[:16]}.lock", "w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        if not made.exists():
            compiler = shlex.split(os.environ.get("CXX", "c++"))
            command = [*compiler, "-std=c++20", "-O1", "-g", f"-I{ROOT / 'native' / 'src'}", *options]
            text = source if isinstance(source, str) else None
            words = ["-x", "c++", "-", "-x", "none"] if text else [str(source)]
            subprocess.run([*command, *words, "-o", f"{made}.new", *after], input=text, text=True, check=True)
            os.replace(f"{made}.new", made)
    return made


def told(
    command: Sequence[str],
    story: str,
    count: int,
    walker: str | Path = "",
    *more: Path,
    settings: Mapping[str, str] = NO_SETTINGS,
) -> int:
    """How many stacks were equal; without a library the program itself has the walker in it."""
    words = [*command, str(PROGRAM), str(walker), story, str(count), *map(str, more)]
    environ = {**{name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}, **settings}
    done = subprocess.run(words, env=environ, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), (done.returncode, done.stderr[-4000:])
    word, number = done.stdout.split()
    assert word == "done"
    return int(number)
