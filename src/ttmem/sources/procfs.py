"""What /proc tells about processes: when they started, whose children they are, which namespaces they live in."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

PROC = Path("/proc")


class Stat(NamedTuple):
    """The part of /proc/<pid>/stat that identifies a process."""

    parent: int
    start_ticks: int


def stat_of(pid: int, proc: Path = PROC) -> Stat | None:
    """None if there is no such process (any more)."""
    try:
        text = (proc / str(pid) / "stat").read_bytes()
    except OSError:
        return None
    fields = text[text.rfind(b")") + 2 :].split()  # the command before may hold blanks and brackets
    return Stat(parent=int(fields[1]), start_ticks=int(fields[19])) if len(fields) > 19 else None


def is_descendant(pid: int, ancestor: int, proc: Path = PROC) -> bool:
    """Whether a living process is the ancestor itself, its child, or a child's child."""
    for _ in range(1024):  # a tree that changes while it is climbed must not hold us
        if pid == ancestor:
            return True
        stat = stat_of(pid, proc)
        if stat is None or stat.parent <= 0:
            return False
        pid = stat.parent
    return False


def environment_of(pid: int, proc: Path = PROC) -> set[str] | None:
    """The NAME=VALUE texts a process was started with; empty once it is ending, None if they may not be read."""
    try:
        text = (proc / str(pid) / "environ").read_bytes()
    except PermissionError:
        return None
    except OSError:
        return set()
    return set(text.decode(errors="replace").split("\0")) - {""}


def own_pid_namespace(proc: Path = PROC) -> int | None:
    """The number that names our pid namespace."""
    try:
        return os.stat(proc / "self" / "ns" / "pid").st_ino
    except OSError:
        return None


def one_process_per_mount_namespace(proc: Path = PROC) -> Iterator[int]:
    """A process of each mount namespace but our own: a way into containers' files."""
    seen = {_mount_namespace(proc, "self")}
    for name in sorted(filter(str.isdecimal, os.listdir(proc)), key=int):
        namespace = _mount_namespace(proc, name)
        if namespace and namespace not in seen:
            seen.add(namespace)
            yield int(name)


def _mount_namespace(proc: Path, name: str) -> str:
    try:
        return os.readlink(proc / name / "ns" / "mnt")
    except OSError:  # ended meanwhile, a kernel thread, or not ours to see
        return ""


class UidMap(NamedTuple):
    """How user ids inside a user namespace read from outside: (first inside, first outside, count)."""

    ranges: tuple[tuple[int, int, int], ...]

    @classmethod
    def of(cls, proc: Path, pid: int) -> "UidMap":
        try:
            lines = (proc / str(pid) / "uid_map").read_text().splitlines()
        except OSError:
            lines = []
        parts = [line.split() for line in lines]
        return cls(tuple((int(first), int(outside), int(count)) for first, outside, count in parts))

    def outside(self, uid: int) -> int:
        for first, outside, count in self.ranges:
            if first <= uid < first + count:
                return outside + uid - first
        return uid
