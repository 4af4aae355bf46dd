"""Builds the packages into dist/, the sdist first and from it a wheel for each Python: `./run wheels [VERSION...]`.

What comes out depends on the sources and the compiler only, not on where, when or by whom it is built: files have one
date, archives are sorted, and the packages that build are those of uv.lock. All wheels are made in one build directory,
so what does not depend on Python is compiled once. A wheel is refused that would not run on the systems its name
promises (auditwheel finds out), that brings libraries of others, names a directory of this machine, or is too large.
"""

import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
BUILD = ROOT / "build" / "wheels"
VERSIONS = ("3.10", "3.11", "3.12", "3.13")
PLATFORM = f"manylinux_2_34_{platform.machine()}"  # glibc of Ubuntu 22.04, Debian 12, RHEL 9; as ttnn's own wheel
LARGEST = 1_500_000
BUILDING = ("scikit-build-core", "nanobind", "hatch-fancy-pypi-readme")
ONE_DATE = "1735689600"  # 2025-01-01, of every file
_WRITTEN_BY_AUDITWHEEL = re.compile(r"\.dist-info/(WHEEL|RECORD)$")


class Refused(Exception):
    """Why there is no package."""


def main(versions: Sequence[str]) -> int:
    """Builds all of them, or the named versions only; 1 if one that was named, or any at all, could not be built."""
    os.umask(0o022)
    DIST.mkdir(exist_ok=True)
    try:
        sdist = made_sdist()
        source = unpacked(sdist)
        made = [sdist]
        for version in versions or VERSIONS:
            python = python_of(version)
            if python is not None:
                made.append(made_wheel(source, python, version))
                continue
            say(f"*** NOT BUILT: the wheel for Python {version}, which is not on this machine")
            if versions:
                return 1
    except Refused as error:
        say(str(error))
        return 1
    for path in made:
        print(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.stat().st_size:>9,}  {path.relative_to(ROOT)}")
    return 0 if len(made) > 1 else 1


def say(text: str) -> None:
    print(f"ttmem: {text}", file=sys.stderr, flush=True)


def made_sdist() -> Path:
    clear(DIST, "ttmem-*.tar.gz")
    name = build_with(Path(sys.executable), ROOT, "build_sdist", DIST)
    return DIST / name


def unpacked(sdist: Path) -> Path:
    """Its sources, in a place of their own. All have one date, so objects are used again for equal sources only."""
    mark, digest = BUILD / "made-from", hashlib.sha256(sdist.read_bytes()).hexdigest()
    source = BUILD / sdist.name.removesuffix(".tar.gz")
    if not mark.exists() or mark.read_text() != digest:
        shutil.rmtree(BUILD, ignore_errors=True)
        BUILD.mkdir(parents=True)
        with tarfile.open(sdist) as archive:
            archive.extractall(BUILD)
        mark.write_text(digest)
    return source


def made_wheel(source: Path, python: str, version: str) -> Path:
    """The wheel for one Python, checked and named for the systems it runs on."""
    say(f"building the wheel for Python {version}")
    (BUILD / "objects" / "CMakeCache.txt").unlink(missing_ok=True)  # it names the Python before; objects stay
    raw = BUILD / version / build_with(environment(python, version), source, "build_wheel", BUILD / version)
    tag = f"cp{version.replace('.', '')}"
    clear(DIST, f"ttmem-*-{tag}-*.whl")
    words = [sys.executable, "-m", "auditwheel", "repair", "--plat", PLATFORM, "--only-plat", "-w", str(DIST), str(raw)]
    run(words, f"{version}-auditwheel", ROOT)
    [wheel] = DIST.glob(f"ttmem-*-{tag}-{tag}-{PLATFORM}.whl")
    run([sys.executable, "-m", "tools.packing", str(wheel)], f"{version}-packing", ROOT)
    check(wheel, raw)
    return wheel


def environment(python: str, version: str) -> Path:
    """An environment of that Python with the packages that build, in the locked versions if they can be had."""
    place = BUILD / f"python{version}"
    executable = place / "bin" / "python"
    if not (place / "complete").exists():
        run([python, "-m", "venv", "--clear", "--without-pip", str(place)], f"{version}-venv", ROOT)
        install = [sys.executable, "-m", "pip", "--python", str(executable), "install"]
        exact = [f"{name}=={locked(name)}" for name in BUILDING]
        try:
            run([*install, *exact], f"{version}-packages", ROOT)
        except Refused:
            say(f"the index here lacks one of {', '.join(exact)}: other versions are used")
            run([*install, *BUILDING], f"{version}-packages", ROOT)
        (place / "complete").touch()
    return executable


def locked(name: str) -> str:
    text = (ROOT / "uv.lock").read_text(encoding="utf-8")
    found = re.search(rf'^name = "{re.escape(name)}"\nversion = "([^"]+)"$', text, flags=re.MULTILINE)
    if found is None:
        raise Refused(f"uv.lock has no {name}; run uv lock")
    return found[1]


def build_with(python: Path, source: Path, what: str, into: Path) -> str:
    """Asks the build backend for an archive; its name."""
    into.mkdir(parents=True, exist_ok=True)
    code = f"import sys, scikit_build_core.build as b; print(b.{what}(sys.argv[1], {{'build-dir': sys.argv[2]}}))"
    said = run([str(python), "-c", code, str(into), str(BUILD / "objects")], f"{into.name}-{what}", source)
    return said.splitlines()[-1]


def run(command: Sequence[str], name: str, place: Path) -> str:
    """What a command prints, also in a log; its end is shown if it fails."""
    log = ROOT / "build" / "logs" / f"wheels-{name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    path = f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}"
    environ = {**os.environ, "PATH": path, "SOURCE_DATE_EPOCH": ONE_DATE, "PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8"}
    ended = subprocess.run(command, cwd=place, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    log.write_text(ended.stdout, encoding="utf-8")
    if ended.returncode != 0:
        raise Refused("\n".join([f"{name} failed, and {log} ends with:", *ended.stdout.splitlines()[-40:]]))
    return ended.stdout


def check(wheel: Path, raw: Path) -> None:
    """That the wheel is what was built: nothing grafted, nothing of this machine in it, and not too large."""
    with zipfile.ZipFile(wheel) as repaired, zipfile.ZipFile(raw) as built:
        before, after = files(built), files(repaired)
    changed = sorted(dict(before.items() ^ after.items()))
    if changed:
        raise Refused(f"{wheel.name}: auditwheel changed {', '.join(changed)}; libraries of others are not bundled")
    built_here = {name: content for name, content in after.items() if not name.endswith(".py")}
    private = sorted(name for name, content in built_here.items() if any(has(content, ROOT, Path.home())))
    if private:
        raise Refused(f"{wheel.name}: these files name directories of this machine: {', '.join(private)}")
    if wheel.stat().st_size > LARGEST:
        raise Refused(f"{wheel.name} has {wheel.stat().st_size:,} bytes, more than {LARGEST:,}")


def files(archive: zipfile.ZipFile) -> dict[str, bytes]:
    """What is in it, apart from what carries the name of the platform."""
    names = [name for name in archive.namelist() if not name.endswith("/")]
    return {name: archive.read(name) for name in names if not _WRITTEN_BY_AUDITWHEEL.search(name)}


def has(content: bytes, *places: Path) -> Iterator[bool]:
    return (os.fsencode(place) + b"/" in content for place in places)


def clear(place: Path, pattern: str) -> None:
    for old in place.glob(pattern):
        old.unlink()


def python_of(version: str) -> str | None:
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    found = [str(path) for path in sorted(pyenv.glob(f"versions/{version}.*/bin/python"), reverse=True)]
    for candidate in (f"python{version}", *found):
        asked = [candidate, "-c", f"import sys, venv; sys.exit('%d.%d' % sys.version_info[:2] != '{version}')"]
        if shutil.which(candidate) and subprocess.run(asked, capture_output=True).returncode == 0:
            return candidate
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
