"""Other Pythons of this machine, by version: those that a workload may run on."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

VERSIONS = ("3.10", "3.11", "3.12", "3.13")


def python_of(version: str) -> str | None:
    """An interpreter of that version with its headers, or None."""
    for candidate in _candidates(version):
        if _is_whole(candidate, version):
            return candidate
    return None


def include_of(python: str) -> Path:
    return Path(_said(python, "import sysconfig; print(sysconfig.get_paths()['include'])"))


def linking_of(python: str, *, is_static: bool) -> list[str] | None:
    """What a program is linked with to have that Python inside, or None where there is no such library."""
    names = ("LIBPL", "LIBRARY") if is_static else ("LIBDIR", "LDLIBRARY")
    said = _said(python, f"import sysconfig; print(*map(sysconfig.get_config_var, {names!r}), sep='\\n')").splitlines()
    library = Path(*said)
    if not library.is_file() or library.suffix != (".a" if is_static else ".so"):
        return None
    return [str(library), f"-Wl,-rpath,{library.parent}", "-ldl", "-lm", "-lutil", "-pthread"]


def home_of(python: str) -> str:
    """Where its modules are: what a program that has it inside must be told."""
    return _said(python, "import sys; print(sys.base_prefix)")


def _candidates(version: str) -> Iterator[str]:
    if version == "{}.{}".format(*sys.version_info[:2]):
        yield sys.executable
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    yield from map(str, sorted(pyenv.glob(f"versions/{version}.*/bin/python"), reverse=True))
    yield f"python{version}"


def _is_whole(python: str, version: str) -> bool:
    if _said(python, "import sys; print('%d.%d' % sys.version_info[:2])") != version:
        return False
    return (include_of(python) / "internal" / "pycore_frame.h").exists() or version == "3.10"


def _said(python: str, program: str) -> str:
    try:
        done = subprocess.run([python, "-c", program], capture_output=True, text=True, timeout=30, check=False)
    except OSError:
        return ""
    return done.stdout.strip()
