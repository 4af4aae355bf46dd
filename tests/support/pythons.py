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
