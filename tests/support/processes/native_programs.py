"""Small C++ programs for tests, compiled once per run with the system's compiler."""

import fcntl
import os
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

from ttmem import _native

ROOT = Path(__file__).parents[3]
SOURCES = ROOT / "tests" / "support" / "native"
CLIENT_LIBRARY = Path(_native.__file__).parent / "lib" / "libttmem_client.so.0"


@dataclass(frozen=True)
class NativePrograms:
    """Where the compiled programs are; each is made when it is first asked for."""

    directory: Path

    @property
    def writer(self) -> Path:
        """Reports on command and keeps a log: `native/writer.cpp`."""
        rpath = f"-Wl,-rpath,{CLIENT_LIBRARY.parent}"
        return self._made("writer", "-pthread", str(SOURCES / "writer.cpp"), str(CLIENT_LIBRARY), rpath)

    @property
    def freezer(self) -> Path:
        """Stops a thread: `native/freezer.cpp`."""
        return self._made("freezer", str(SOURCES / "freezer.cpp"))

    @property
    def host_library(self) -> Path:
        """A shared library with its own copy of the whole client: `native/host_copy.cpp`."""
        parts = [SOURCES / "host_copy.cpp", *sorted(ROOT.glob("native/src/[jw]*/*.cpp"))]
        unity = "".join(f'#include "{part}"\n' for part in parts)
        options = ["-O0", "-fPIC", "-shared", "-fvisibility=hidden", "-Wl,-Bsymbolic", "-x", "c++", "-"]
        return self._made("libhost.so", f"-I{ROOT}/native/src", *options, source=unity)

    def _made(self, name: str, *options: str, source: str = "") -> Path:
        """Compiles unless that was done; parallel workers share the directory, hence the lock."""
        made = self.directory / name
        with open(self.directory / f"{name}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not made.exists():
                compiler = shlex.split(os.environ.get("CXX", "c++"))
                new = self.directory / f"new-{name}"
                common = ["-std=c++20", "-O2", "-Wall", "-Wextra", f"-I{ROOT}/native/include"]
                subprocess.run(
                    [*compiler, *common, *options, "-ldl", "-o", str(new)], input=source, text=True, check=True
                )
                new.rename(made)
        return made
