"""The stock runtime in environments of its own: `build/ttnn`, `build/ttnn-0.78.0` and so on for other releases, and
`build/ttnn-0.81.1-python3.10` for the other Python that it is built for.

    python -m tests.support.ttnn.stock                makes what `./run test-ttnn` needs
    python -m tests.support.ttnn.stock 0.75.0 0.79.0  makes these instead

The wheel exists for two Pythons only, so it runs in another process than the tests. It is installed by name from
whatever index pip is told to use, pinned: figures and mangled names are those of one release. A release that is missing
is named in one line, with the reason; without the newest one, or any that was named, the status is 77.
"""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

RELEASE = "0.81.1"
OLDER_RELEASES = ("0.78.0", "0.80.0")  # what differs between releases is compared with these, too
PYTHONS = ("3.12", "3.10")
OTHER_PYTHON = PYTHONS[1]
# All that importing it takes; the wheel also asks for plotting libraries that only its profiler tools use.
NEEDS = ("numpy<2", "loguru", "networkx", "graphviz", "pyyaml", "click", "ml_dtypes")
HOME = Path(__file__).parents[3] / "build" / "ttnn"  # of RELEASE; others lie beside it
MISSING_STATUS = 77  # none of pytest's own, which may follow on it in ./run


class NotThere(Exception):
    """What this machine lacks to run the stock runtime."""


@dataclass(frozen=True, slots=True)
class Stock:
    """An installed wheel: the interpreter to run it with, and the directory of its package."""

    python: Path
    package: Path
    release: str = RELEASE

    @property
    def metal_library(self) -> Path:
        """libtt_metal.so, whose exported classes work without a device."""
        [library] = self.package.rglob("libtt_metal.so")
        return library


def home_of(release: str, python: str | None = None) -> Path:
    """Where a release is installed, if need be for one of its Pythons."""
    if python is not None:
        return HOME.with_name(f"{HOME.name}-{release}-python{python}")
    return HOME if release == RELEASE else HOME.with_name(f"{HOME.name}-{release}")


def installed(release: str = RELEASE, python_version: str | None = None) -> Stock:
    """What `make` left behind."""
    home = home_of(release, python_version)
    python = home / "venv" / "bin" / "python"
    packages = sorted(home.glob("venv/lib/python*/site-packages/ttnn"))
    if not (home / f"installed-{release}").exists() or not python.exists() or not packages:
        raise NotThere(f"ttnn {release} is not in {home}; ./run test-ttnn installs it")
    return Stock(python, packages[0], release)


def make(release: str = RELEASE, python: str | None = None) -> Stock:
    """Installs the wheel unless it is there already."""
    try:
        return installed(release, python)
    except NotThere:
        base = _base_python(release, PYTHONS if python is None else (python,))
        install(base, release, home_of(release, python))
    return installed(release, python)


def _base_python(release: str, versions: Sequence[str]) -> str:
    for version in versions:
        for candidate in _candidates(version):
            if _is_version(candidate, version):
                return candidate
    raise NotThere(f"the wheel of ttnn {release} is for Python {' or '.join(versions)}, which is not on this machine")


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


def install(base: str, release: str, home: Path) -> None:
    """An environment of that Python with nothing in it but the wheel and what it needs."""
    home.mkdir(parents=True, exist_ok=True)
    pip = [str(home / "venv" / "bin" / "python"), "-m", "pip", "install", "--no-deps", "--no-compile"]
    _run([base, "-m", "venv", "--clear", str(home / "venv")], release, home)
    _run([*pip, "--only-binary", ":all:", f"ttnn=={release}", *NEEDS], release, home)
    (home / f"installed-{release}").touch()


def _run(command: list[str], release: str, home: Path) -> None:
    log = home / "install.log"
    with log.open("w", encoding="utf-8") as words:
        status = subprocess.run(command, stdout=words, stderr=subprocess.STDOUT, check=False).returncode
    if status != 0:
        said = log.read_text(encoding="utf-8").strip().splitlines() or ["nothing"]
        raise NotThere(f"ttnn {release} cannot be installed here; {log} ends with: {said[-1]}")


def main(releases: Sequence[str] = ()) -> int:
    """Makes the environments; a line for each that cannot be made is what `./run test-ttnn` shows."""
    wanted: list[tuple[str, str | None]] = [(release, None) for release in releases or (RELEASE, *OLDER_RELEASES)]
    if not releases:
        wanted.append((RELEASE, OTHER_PYTHON))
    missing: set[str] = set()
    for release, python in wanted:
        try:
            make(release, python)
        except NotThere as why:
            print(f"NOT COMPARED WITH THE STOCK RUNTIME: {why}", file=sys.stderr)
            missing.update([release] if python is None else [])
            if release == RELEASE and python is None:
                break  # the same would be said of all others
    return MISSING_STATUS if missing & {RELEASE, *releases} else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
