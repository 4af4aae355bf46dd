"""Asks a Python where its ttnn is, without importing it."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from typing import NamedTuple

from ttmem.errors import TtmemError

__all__ = ["Package", "likely_pythons", "package_of", "sites_trouble"]

_ANSWER_SECONDS = 20.0
_WORDS_MOST = 80  # of an error: some repeat the whole question
# Not from the current directory: in a checkout of the runtime a folder of that name lies there.
_QUESTION = """
import importlib.util, json, sys
from importlib import metadata
sys.path[:] = [place for place in sys.path if place]
spec = importlib.util.find_spec("ttnn")
try:
    version = metadata.version("ttnn")
except metadata.PackageNotFoundError:
    version = ""
print(json.dumps([list(spec.submodule_search_locations or []) if spec else None, version]))
"""


_FRAMES_QUESTION = """
import ctypes, platform, sys
trouble = ctypes.PyDLL(sys.argv[1]).ttmem_hook_python
trouble.restype = ctypes.c_char_p
print(platform.python_version(), trouble().decode(), sep="\\t")
"""


class Package(NamedTuple):
    """The package ttnn: its directories, and its version if an installer left one."""

    places: tuple[str, ...]
    version: str


def likely_pythons(environ: Mapping[str, str]) -> list[str]:
    """The interpreter that `python` means here (of the active environment, else the one on PATH), and our own."""
    active = os.path.join(environ.get("VIRTUAL_ENV", ""), "bin", "python")
    path = environ.get("PATH")
    meant = active if environ.get("VIRTUAL_ENV") and os.path.exists(active) else shutil.which("python", path=path)
    meant = meant or shutil.which("python3", path=path)
    return list(dict.fromkeys([*([meant] if meant else []), sys.executable]))


def package_of(python: str, environ: Mapping[str, str]) -> Package | None:
    """The ttnn that this interpreter would import; None if there is none. TtmemError if it cannot be asked."""
    try:
        places, version = json.loads(_answer(python, environ, _QUESTION))
    except ValueError as error:
        raise TtmemError(f"{python}: expected where its ttnn is, found something else: {error}") from error
    return None if places is None else Package(tuple(map(str, places)), str(version))


def sites_trouble(python: str, environ: Mapping[str, str], hook: str) -> tuple[str, str]:
    """The version of this interpreter, and why its lines cannot be recorded: empty if they can. TtmemError if it cannot
    be asked."""
    version, _, trouble = _answer(python, environ, _FRAMES_QUESTION, hook).partition("\t")
    return version, trouble


def _answer(python: str, environ: Mapping[str, str], question: str, *arguments: str) -> str:
    """The last line that an interpreter prints."""
    quiet = {name: value for name, value in environ.items() if name != "LD_PRELOAD"}
    command = [python, "-c", question, *arguments]
    try:
        asked = subprocess.run(command, env=quiet, capture_output=True, text=True, timeout=_ANSWER_SECONDS, check=False)
    except OSError as error:
        raise TtmemError(f"{python}: expected a Python that answers, found: {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        raise TtmemError(f"{python}: expected a Python that answers, found none within {error.timeout:g} s") from error
    if asked.returncode or not asked.stdout.strip():
        said = (asked.stderr.strip().splitlines() or ["no word"])[-1][:_WORDS_MOST]
        found = f"exit code {asked.returncode} and {said}"
        raise TtmemError(f"{python}: expected a Python that answers, found {found}")
    return asked.stdout.splitlines()[-1]
