"""The stock runtime in an environment of its own: `build/ttnn`, made once by `./run test-ttnn`.

    python -m tests.support.ttnn.stock      makes it, or says in one line what is missing and ends with status 77

The wheel exists for two Pythons only, so it runs in another process than the tests. It is installed by name from
whatever index pip is told to use, pinned: its figures and its mangled names are those of one release.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

RELEASE = "0.81.1"
PYTHONS = ("3.12", "3.10")
# All that importing it takes; the wheel also asks for plotting libraries that only its profiler tools use.
NEEDS = ("numpy<2", "loguru", "networkx", "graphviz", "pyyaml", "click", "ml_dtypes")
HOME = Path(__file__).parents[3] / "build" / "ttnn"
MISSING_STATUS = 77  # none of pytest's own, which may follow on it in ./run


class NotThere(Exception):
    """What this machine lacks to run the stock runtime."""


@dataclass(frozen=True, slots=True)
class Stock:
    """An installed wheel: the interpreter to run it with, and the directory of its package."""

    python: Path
    package: Path

    @property
    def metal_library(self) -> Path:
        """libtt_metal.so, whose exported classes work without a device."""
        [library] = self.package.rglob("libtt_metal.so")
        return library


def installed(home: Path | None = None) -> Stock:
    """What `make` left behind."""
    home = home or HOME
    python = home / "venv" / "bin" / "python"
    packages = sorted(home.glob("venv/lib/python*/site-packages/ttnn"))
    if not (home / f"installed-{RELEASE}").exists() or not python.exists() or not packages:
        raise NotThere(f"ttnn {RELEASE} is not in {home}; ./run test-ttnn installs it")
    return Stock(python, packages[0])


def make(home: Path | None = None) -> Stock:
    """Installs the wheel unless it is there already."""
    home = home or HOME
    try:
        return installed(home)
    except NotThere:
        install(_base_python(), home)
    return installed(home)


def _base_python() -> str:
    for version in PYTHONS:
        for candidate in _candidates(version):
            if _is_version(candidate, version):
                return candidate
    raise NotThere(f"the wheel of ttnn {RELEASE} is for Python {' or '.join(PYTHONS)}, and neither is on this machine")


def _candidates(version: str) -> Iterator[str]:
    yield f"python{version}"
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    for found in sorted(pyenv.glob(f"versions/{version}.*/bin/python"), reverse=True):
        yield str(found)


def _is_version(python: str, version: str) -> bool:
    asked = [python, "-c", "import sys, venv; print('%d.%d' % sys.version_info[:2])"]
    try:
        answer = subprocess.run(asked, capture_output=True, text=True, timeout=30, check=False)
    except OSError:
        return False
    return answer.returncode == 0 and answer.stdout.strip() == version


def install(base: str, home: Path) -> None:
    """An environment of that Python with nothing in it but the wheel and what it needs."""
    home.mkdir(parents=True, exist_ok=True)
    pip = [str(home / "venv" / "bin" / "python"), "-m", "pip", "install", "--no-deps", "--no-compile"]
    _run([base, "-m", "venv", "--clear", str(home / "venv")], home)
    _run([*pip, "--only-binary", ":all:", f"ttnn=={RELEASE}", *NEEDS], home)
    (home / f"installed-{RELEASE}").touch()


def _run(command: list[str], home: Path) -> None:
    log = home / "install.log"
    with log.open("w", encoding="utf-8") as words:
        status = subprocess.run(command, stdout=words, stderr=subprocess.STDOUT, check=False).returncode
    if status != 0:
        said = log.read_text(encoding="utf-8").strip().splitlines() or ["nothing"]
        raise NotThere(f"ttnn {RELEASE} cannot be installed here; {log} ends with: {said[-1]}")


def main() -> int:
    """Makes the environment; the one line on failure is what `./run test-ttnn` shows."""
    try:
        make()
    except NotThere as missing:
        print(f"NOT COMPARED WITH THE STOCK RUNTIME: {missing}", file=sys.stderr)
        return MISSING_STATUS
    return 0


if __name__ == "__main__":
    sys.exit(main())
