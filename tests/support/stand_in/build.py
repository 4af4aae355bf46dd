"""Our own stand-in for libtt_metal.so, compiled with the system's compiler when its sources have changed.

One object file is linked once for each release that is played: the names that a release does not export are bound
inside the library, as a compiler binds a function that it inlines, so that nobody outside finds or replaces them.
"""

import fcntl
import hashlib
import os
import shlex
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.support.processes.preloads import plain

ROOT = Path(__file__).parents[3]
SOURCES = ROOT / "tests" / "native" / "fake_metal"
BUILDS = plain(ROOT) / "build" / "stand-in"

CURRENT, OLD, OLDEST = "0.81", "0.78", "0.70"
FUTURE = "future"  # calls the functions that are replaced, but whatever could be asked is called otherwise now
NAMELESS = "nameless"  # every name is gone
STRIPPED = "stripped"  # the current one without what `strip` takes away
STATUSLESS = "statusless"  # says nothing of where binaries are
BASELESS = "baseless"  # the old one, and it does not say where its banks begin
HOLLOW = "0.69"  # the oldest one, and it gives kernels their binaries by a call that can be seen


@dataclass(frozen=True)
class Export:
    """A name, the releases that export it, and the library that has it there."""

    first: str
    last: str
    library: str
    name: str


def exports() -> list[Export]:
    lines = (SOURCES / "exports.txt").read_text(encoding="utf-8").splitlines()
    return [Export(*line.split()) for line in lines if not line.startswith("#")]


def _is_function(export: Export) -> bool:
    return export.name.startswith("_ZN2tt")


def _is_exported_by(release: str) -> Callable[[Export], bool]:
    return lambda export: export.first <= release <= export.last


RELEASES: dict[str, Callable[[Export], bool]] = {
    **{release: _is_exported_by(release) for release in (CURRENT, OLD, OLDEST)},
    BASELESS: lambda export: _is_exported_by(OLD)(export) and "get_base_allocator_addr" not in export.name,
    HOLLOW: lambda export: _is_exported_by(OLDEST)(export) or export.first == HOLLOW,
    FUTURE: lambda export: _is_function(export) and export.last == CURRENT,
    NAMELESS: lambda export: False,
    STATUSLESS: lambda export: export.last == CURRENT and "get_program_binary_status" not in export.name,
}


@dataclass(frozen=True)
class StandIn:
    """Where it is: a library for each release, another that launches through it, and a program that uses them."""

    directory: Path

    @property
    def driver(self) -> Path:
        return self.directory / "driver"

    def library(self, release: str = CURRENT) -> Path:
        return self.directory / release / "libtt_metal.so"

    def operations(self, release: str = CURRENT) -> Path:
        return self.directory / release / "_ttnncpp.so"

    @classmethod
    def built(cls) -> "StandIn":
        """Builds what is not there; parallel workers meet at the lock."""
        BUILDS.mkdir(parents=True, exist_ok=True)
        with open(BUILDS / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            stand_in = cls(BUILDS / _digest())
            if not stand_in.directory.exists():
                unfinished = cls(BUILDS / f"unfinished-{os.getpid()}")
                unfinished._build()
                for old in BUILDS.iterdir():
                    if old.is_dir() and old != unfinished.directory:
                        shutil.rmtree(old)
                unfinished.directory.rename(stand_in.directory)
        return stand_in

    def _build(self) -> None:
        self.directory.mkdir()
        compilers = [
            _start("-Wall", "-Wextra", "-pthread", str(SOURCES / "driver.cpp"), "-ldl", "-o", str(self.driver)),
            _start("-Wall", "-Wextra", "-fPIC", "-c", str(SOURCES / "unity.cpp"), "-o", str(self._object)),
        ]
        for compiler in compilers:
            assert compiler.wait() == 0
        linkers = [self._link(release) for release in RELEASES]
        for linker in linkers:
            assert linker.wait() == 0
        shutil.copytree(self.directory / CURRENT, self.directory / STRIPPED)
        subprocess.run(["strip", str(self.library(STRIPPED))], check=True)
        for release in (CURRENT, STRIPPED):
            options = ["-fPIC", "-shared", str(SOURCES / "operations.cpp"), str(self.library(release))]
            made = ["-Wl,-rpath,$ORIGIN", "-o", str(self.operations(release))]
            assert _start(*options, *made).wait() == 0

    @property
    def _object(self) -> Path:
        return self.directory / "runtime.o"

    def _link(self, release: str) -> "subprocess.Popen[bytes]":
        library = self.library(release)
        library.parent.mkdir()
        names = "".join(f"{export.name};" for export in exports() if RELEASES[release](export))
        script = library.with_suffix(".map")
        script.write_text(f"{{ global: fake_*; {names} local: *; }};\n", encoding="utf-8")
        options = [f"-Wl,--version-script={script}", "-Wl,-soname,libtt_metal.so", "-pthread", "-o", str(library)]
        return _start("-shared", str(self._object), *options)


def _digest() -> str:
    files = [*sorted(path for path in SOURCES.rglob("*") if path.is_file()), Path(__file__)]
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:16]


def _start(*options: str) -> "subprocess.Popen[bytes]":
    compiler = shlex.split(os.environ.get("CXX", "c++"))
    return subprocess.Popen([*compiler, "-std=c++20", "-O0", *options])
