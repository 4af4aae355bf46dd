"""Small C++ programs for tests, compiled once per run with the system's compiler."""

import fcntl
import os
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.support.processes.preloads import library_directory

ROOT = Path(__file__).parents[3]
SOURCES = ROOT / "tests" / "support" / "native"
CLIENT_LIBRARY = library_directory() / "libttmem_client.so.0"


@dataclass(frozen=True)
class NativePrograms:
    """Where the compiled programs are.

    `writer` reports on command and keeps a log, `freezer` stops a thread, `host_library` is a shared library with a
    copy of the whole client inside.
    """

    directory: Path

    @property
    def writer(self) -> Path:
        return self.directory / "writer"

    @property
    def freezer(self) -> Path:
        return self.directory / "freezer"

    @property
    def host_library(self) -> Path:
        return self.directory / "libhost.so"

    @classmethod
    def compiled(cls, directory: Path) -> "NativePrograms":
        """Compiles what is not there yet; parallel workers share the directory, hence the lock."""
        directory.mkdir(mode=0o700, exist_ok=True)
        programs = cls(directory)
        with open(directory / "users", "a") as users:
            fcntl.flock(users, fcntl.LOCK_EX)
            users.write(f"{os.getpid()}\n")
            _compile(programs.freezer, str(SOURCES / "freezer.cpp"))
            rpath = f"-Wl,-rpath,{CLIENT_LIBRARY.parent}"
            _compile(programs.writer, "-pthread", str(SOURCES / "writer.cpp"), str(CLIENT_LIBRARY), rpath)
            parts = [SOURCES / "host_copy.cpp", *writer_half("*.cpp")]
            unity = "".join(f'#include "{part}"\n' for part in parts)
            options = ["-O0", "-fPIC", "-shared", "-fvisibility=hidden", "-Wl,-Bsymbolic", f"-I{ROOT}/native/src"]
            _compile(programs.host_library, *options, "-x", "c++", "-", source=unity)
        return programs

    def remove(self) -> None:
        """Removes the directory when its last user leaves."""
        with open(self.directory / "users", "r+") as users:
            fcntl.flock(users, fcntl.LOCK_EX)
            others = [line for line in users if line.strip() != str(os.getpid())]
            if not others:
                shutil.rmtree(self.directory)
                return
            users.seek(0)
            users.truncate()
            users.writelines(others)


def writer_half(pattern: str) -> list[Path]:
    """The sources of what a reporting process has inside."""
    folders = (ROOT / "native" / "src" / name for name in ("interpreter", "journal", "traces", "writer"))
    return [part for folder in folders for part in sorted(folder.glob(pattern))]


def _compile(made: Path, *options: str, source: str = "") -> None:
    if made.exists():
        return
    compiler = shlex.split(os.environ.get("CXX", "c++"))
    common = ["-std=c++20", "-O2", "-Wall", "-Wextra", f"-I{ROOT}/native/include"]
    command = [*compiler, *common, *options, "-ldl", "-o", str(made)]
    subprocess.run(command, input=source, text=True, check=True)
