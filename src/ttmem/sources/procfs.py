"""What the kernel says about processes and their host: when they started, whose children they are, which namespaces
they live in, what users and machines are called.

Paths are plain texts here and in `directories`: `pathlib` takes longer to load than all of these files to read.
"""

import os
import pwd
import sys
import time
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import NamedTuple

import ttmem
from ttmem.snapshot import Host
from ttmem.snapshot.values import clean

Folder = str | os.PathLike[str]
PROC = "/proc"
_FIRST_PID_NAMESPACE = 0xEFFFFFFC  # its number is the same on every machine
_LOCKS_MOST_BYTES = 4 << 20  # some 60,000 locks


class Stat(NamedTuple):
    """The part of /proc/<pid>/stat that identifies a process, and what it takes of the host."""

    parent: int
    start_ticks: int
    state: str = ""  # R, S, D, T, Z, ...
    cpu_ticks: int = 0  # of processor time, its own and the kernel's for it
    resident_pages: int = 0

    @property
    def is_over(self) -> bool:
        """Ended, and at most not yet waited for: it holds nothing any more."""
        return self.state in ("Z", "X", "x")


def _bytes_of(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def stat_of(pid: int, proc: Folder = PROC) -> Stat | None:
    """None if there is no such process (any more)."""
    try:
        text = _bytes_of(f"{proc}/{pid}/stat")
    except OSError:
        return None
    fields = text[text.rfind(b")") + 2 :].split()  # the command before may hold blanks and brackets
    if len(fields) <= 19:
        return None
    return Stat(
        parent=int(fields[1]),
        start_ticks=int(fields[19]),
        state=fields[0].decode(errors="replace"),
        cpu_ticks=int(fields[11]) + int(fields[12]),
        resident_pages=int(fields[21]) if len(fields) > 21 else 0,
    )


def is_descendant(pid: int, ancestor: int, proc: Folder = PROC) -> bool:
    """Whether a living process is the ancestor itself, its child, or a child's child."""
    for _ in range(1024):  # a tree that changes while it is climbed must not hold us
        if pid == ancestor:
            return True
        stat = stat_of(pid, proc)
        if stat is None or stat.parent <= 0:
            return False
        pid = stat.parent
    return False


def environment_of(pid: int, proc: Folder = PROC) -> set[str] | None:
    """The NAME=VALUE texts a process was started with; empty once it is ending, None if they may not be read."""
    try:
        text = _bytes_of(f"{proc}/{pid}/environ")
    except PermissionError:
        return None
    except OSError:
        return set()
    return set(text.decode(errors="replace").split("\0")) - {""}


def own_pid_namespace(proc: Folder = PROC) -> int | None:
    """The number that names our pid namespace."""
    try:
        return os.stat(f"{proc}/self/ns/pid").st_ino
    except OSError:
        return None


def sees_all_locks(proc: Folder = PROC) -> bool:
    """Whether `locked_inodes` lists all processes: a container sees no locks of processes outside."""
    return own_pid_namespace(proc) == _FIRST_PID_NAMESPACE


def locked_inodes(proc: Folder = PROC) -> frozenset[int]:
    """Inodes of files that a process holds a record lock on, whichever file system they are on."""
    found: set[int] = set()
    try:
        with open(f"{proc}/locks", "rb") as file:
            text = file.read(_LOCKS_MOST_BYTES)  # its cost grows with the square of its length
    except OSError:
        return frozenset()
    for line in text.splitlines():
        fields = line.split()  # 7: POSIX ADVISORY WRITE 4711 00:1b:15002 0 EOF
        if len(fields) == 8 and fields[1] == b"POSIX":
            found.add(int(fields[5].rpartition(b":")[2]))
    return frozenset(found)


class MountNamespaces:
    """A process of each mount namespace but our own: a way into containers' files.

    Processes move to another namespace when they are young, if at all, and hardly ever later: those that are not young
    are looked at in every twentieth look only. On a machine with thousands of processes that is most of the work. Nor
    are they listed in between: the kernel says which pid it gave away last, and new processes have those up to it.
    """

    _YOUNG_LOOKS = 4
    _WHOLE_LOOKS = 20
    _NEW_MOST = 256  # pids that are tried one by one

    def __init__(self, proc: Folder = PROC) -> None:
        self._proc = proc
        self._known: dict[int, str] = {}  # the namespace of each process
        self._young: dict[int, int] = {}  # processes, and for how many looks they stay young
        self._plain = {""}  # namespaces of no interest: our own, and that of those who have none
        self._others: dict[str, int] = {}  # the first process of each other namespace
        self._born = (0, 0)
        self._look_count = 0

    def others(self) -> list[int]:
        is_whole = self._look_count % self._WHOLE_LOOKS == 0
        self._look_count += 1
        own = _mount_namespace(self._proc, "self") or ""
        before, self._born = self._born, _born(self._proc) if own else (0, 0)  # else this procfs is not of our pids
        moved = self._plain != {"", own}
        self._plain = {"", own}
        if is_whole or not self._born[0] or self._has_lost_one():
            moved |= self._list()
        elif before != self._born:
            moved |= self._take_in(range(before[0] + 1, self._born[0] + 1))
        for pid in [*self._known] if is_whole else [*self._young]:
            moved |= self._look_at(pid)
        self._young = {pid: left - 1 for pid, left in self._young.items() if left > 1}
        if moved:
            self._update_others()
        return sorted(self._others.values())

    def _update_others(self) -> None:
        others = sorted(pid for pid, namespace in self._known.items() if namespace not in self._plain)
        self._others = {self._known[pid]: pid for pid in reversed(others)}

    # The rest says whether a process of another namespace came or went.

    def _list(self) -> bool:
        """Takes in processes that are new, and forgets those that are gone."""
        pids = set(map(int, filter(str.isdecimal, os.listdir(self._proc))))
        gone = [self._forget(pid) for pid in self._known.keys() - pids]
        self._know(pids - self._known.keys())
        return any(gone)

    def _take_in(self, pids: range) -> bool:
        """Pids that were given away since the last look, if the kernel says which, and if they are not too many."""
        if not 0 < len(pids) <= self._NEW_MOST:
            return self._list()
        self._know(set(pids) - self._known.keys())
        return False

    def _know(self, pids: set[int]) -> None:
        self._known.update(dict.fromkeys(pids, ""))
        self._young.update(dict.fromkeys(pids, self._YOUNG_LOOKS))

    def _forget(self, pid: int) -> bool:
        self._young.pop(pid, None)
        return self._known.pop(pid) not in self._plain

    def _look_at(self, pid: int) -> bool:
        namespace = _mount_namespace(self._proc, pid)
        if namespace is None:
            return self._forget(pid)
        before, self._known[pid] = self._known[pid], namespace
        return before != namespace and not {before, namespace} <= self._plain

    def _has_lost_one(self) -> bool:
        """Whether a process that stands for its namespace has ended, or moved on."""
        return any(_mount_namespace(self._proc, pid) != namespace for namespace, pid in self._others.items())


def _born(proc: Folder) -> tuple[int, int]:
    """The pid that was given away last, and how many processes there are: some are given a pid of their choice. Zeros
    if the kernel does not say."""
    try:
        return int(_bytes_of(f"{proc}/sys/kernel/ns_last_pid")), os.stat(proc).st_nlink
    except (OSError, ValueError):
        return 0, 0


def _mount_namespace(proc: Folder, pid: int | str) -> str | None:
    """Empty for a kernel thread, or one that is not ours to see; None for one that is gone."""
    try:
        return os.readlink(f"{proc}/{pid}/ns/mnt")
    except (FileNotFoundError, ProcessLookupError):
        return None
    except OSError:
        return ""


def start_time_ns(stat: Stat, clock_ns: Callable[[], int] = time.time_ns) -> int:
    """When a process began, in nanoseconds since 1970; right to a hundredth of a second."""
    up_ns = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    return clock_ns() - up_ns + stat.start_ticks * 1_000_000_000 // os.sysconf("SC_CLK_TCK")


def command_of(pid: int, proc: Folder = PROC, most_bytes: int = 255) -> str:
    """Its command line, cut where journals cut it; empty if it may not be read, or is a kernel's."""
    try:
        text = _bytes_of(f"{proc}/{pid}/cmdline")
    except OSError:
        return ""
    return text.rstrip(b"\0").replace(b"\0", b" ")[:most_bytes].decode(errors="replace")


class Uids(NamedTuple):
    """The user ids of a process."""

    real: int
    effective: int
    saved: int


def uids_of(pid: int, proc: Folder = PROC) -> Uids | None:
    """None if there is no such process (any more), or it may not be seen."""
    try:
        lines = _bytes_of(f"{proc}/{pid}/status").splitlines()
    except OSError:
        return None
    found = next((line.split() for line in lines if line.startswith(b"Uid:")), [])
    return Uids(*map(int, found[1:4])) if len(found) > 3 else None


def pid_namespace_of(pid: int, proc: Folder = PROC) -> int | None:
    """The number that names its pid namespace; None if that may not be seen."""
    try:
        return os.stat(f"{proc}/{pid}/ns/pid").st_ino
    except OSError:
        return None


def innermost_pid(pid: int, proc: Folder = PROC) -> int:
    """The pid by which a process knows itself."""
    try:
        lines = _bytes_of(f"{proc}/{pid}/status").splitlines()
    except OSError:
        return pid
    found = [line.split() for line in lines if line.startswith(b"NSpid:")]
    return int(found[0][-1]) if found and len(found[0]) > 1 else pid


def maps_of(pid: int, proc: Folder = PROC) -> bytes | None:
    """What a process has mapped, as text; None if that may not be seen, empty once it is gone."""
    try:
        return _bytes_of(f"{proc}/{pid}/maps")
    except PermissionError:
        return None
    except OSError:
        return b""


class UidMap(NamedTuple):
    """How user ids inside a user namespace read from outside: (first inside, first outside, count)."""

    ranges: tuple[tuple[int, int, int], ...]

    @classmethod
    def of(cls, proc: Folder, pid: int) -> "UidMap":
        try:
            lines = _bytes_of(f"{proc}/{pid}/uid_map").splitlines()
        except OSError:
            lines = []
        parts = [line.split() for line in lines]
        return cls(tuple((int(first), int(outside), int(count)) for first, outside, count in parts))

    def outside(self, uid: int) -> int:
        for first, outside, count in self.ranges:
            if first <= uid < first + count:
                return outside + uid - first
        return uid


_PAGE_BYTES, _PAGES = "SC_PAGE_SIZE", "SC_PHYS_PAGES"
_RELEASE, _DRIVER = "/etc/os-release", "/sys/module/tenstorrent/version"


def chip_directory(environ: Mapping[str, str]) -> str:
    """Where the kernel's driver lists its chips; it is there only with that driver."""
    return os.path.join(environ.get("TTMEM_SYSFS_ROOT") or "/", "sys/class/tenstorrent")


def read_host() -> Host:
    """What a snapshot says about the machine it was taken on."""
    system = os.uname()
    return Host(
        hostname=clean(system.nodename),
        os=system.sysname,
        distro=_distro(),
        kernel=system.release,
        platform=system.machine,
        python=".".join(map(str, sys.version_info[:3])),
        memory=f"{os.sysconf(_PAGE_BYTES) * os.sysconf(_PAGES) / (1 << 30):.2f} GB",  # tt-smi's word for GiB
        driver=_driver(),
        version=ttmem.__version__,
    )


@lru_cache(maxsize=1024)  # DESIGN 12, "full snapshot": a user is asked for once, not for every process
def user_name(uid: int) -> str:
    """The user's name, or the number where it has none here."""
    try:
        return clean(pwd.getpwuid(uid).pw_name)
    except (KeyError, OverflowError):
        return str(uid)


def _distro() -> str:
    lines = _text_of(_RELEASE).splitlines()
    values = dict(line.split("=", 1) for line in lines if "=" in line)
    return values.get("PRETTY_NAME", "").strip("\"'")


def _driver() -> str:
    version = _text_of(_DRIVER).strip()
    return f"TT-KMD {version}" if version else ""


def _text_of(path: str) -> str:
    """Empty if there is no such file here."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
