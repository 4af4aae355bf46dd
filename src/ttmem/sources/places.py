"""The directories that may hold journals.

`$TTMEM_DIR` if it is set, and only that. Else `/dev/shm/ttmem-<uid>` and `$XDG_RUNTIME_DIR/ttmem`; everybody also
learns that other users' directories are there. Root looks into all of them, into `/run/user/*/ttmem`, and into the
/dev/shm of every other mount namespace (containers), through procfs.
"""

import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from ttmem.sources import procfs

__all__ = ["Place", "Places", "Roots"]

_NAME = re.compile(r"ttmem-(\d+)")
_OTHERS_EVERY_SECONDS = 0.5


class Place(NamedTuple):
    """A directory to look into; `owner_uid` is who must own it (besides root), None for whoever."""

    path: str
    owner_uid: int | None


class Roots(NamedTuple):
    """Where a system keeps shared memory, users' runtime directories and processes."""

    shm: Path = Path("/dev/shm")
    run: Path = Path("/run/user")
    proc: Path = Path("/proc")


SYSTEM = Roots()


class Places:
    """Lists the directories worth a look, for one user; new users and containers are noticed on the way."""

    def __init__(
        self,
        *,
        uid: int,
        directory: str | None = None,
        runtime_directory: str | None = None,
        roots: Roots = SYSTEM,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.uid = uid
        self._directory = directory
        self._roots = roots
        self._clock = clock
        self._others: list[Place] = []
        self._others_due = float("-inf")
        self._own = [Place(str(roots.shm / f"ttmem-{uid}"), uid)]
        if runtime_directory:
            self._own.append(Place(os.path.join(runtime_directory, "ttmem"), uid))

    @classmethod
    def from_environment(cls, environ: Mapping[str, str], *, uid: int, roots: Roots = SYSTEM) -> "Places":
        """The places a program with this environment would report to, and a viewer should read."""
        runtime = environ.get("XDG_RUNTIME_DIR", "")
        return cls(
            uid=uid,
            directory=environ.get("TTMEM_DIR") or None,
            runtime_directory=runtime if runtime.startswith("/") else None,
            roots=roots,
        )

    @property
    def main(self) -> str:
        """The first place where this user's own journals are looked for."""
        return self._directory or self._own[0].path

    def listed(self) -> list[Place]:
        """Every directory to look into now; one that is not there is no error."""
        if self._directory is not None:
            return [Place(self._directory, None)]
        now = self._clock()
        if now >= self._others_due:  # a walk through /proc is too dear for every scan
            self._others_due = now + _OTHERS_EVERY_SECONDS
            own = {place.path for place in self._own}
            self._others = [place for place in self._find_others() if place.path not in own]
        return [*self._own, *self._others]

    def _find_others(self) -> Iterator[Place]:
        yield from _users_directories(self._roots.shm)
        if self.uid != 0:
            return
        for name in _names(self._roots.run):
            if name.isdecimal():
                yield Place(str(self._roots.run / name / "ttmem"), int(name))
        for process in procfs.one_process_per_mount_namespace(self._roots.proc):
            uids = procfs.UidMap.of(self._roots.proc, process)
            yield from _users_directories(self._roots.proc / str(process) / "root" / "dev" / "shm", uids.outside)


def _users_directories(shm: Path, outside: Callable[[int], int] = lambda uid: uid) -> Iterator[Place]:
    for name in _names(shm):
        match = _NAME.fullmatch(name)
        if match:
            yield Place(str(shm / name), outside(int(match[1])))


def _names(directory: Path) -> list[str]:
    try:
        return sorted(os.listdir(directory))
    except OSError:  # gone meanwhile, or not ours to read
        return []
