"""The lock beside a socket: its holder serves.

PATH.lock is a file with the holder's pid, locked with flock for as long as the holder lives and removed when it ends.
A lock that a killed server left behind is free at once: the kernel let go of it. The pid is for messages only: on a
full file system the file is empty, and locks all the same. A file with other names (hard links) is never written to: it
may be anything.
"""

import errno
import fcntl
import os
import stat
from contextlib import suppress

from ttmem.errors import CannotServe, PlaceBlocked
from ttmem.sources.procfs import user_name

__all__ = ["FULL", "LockHeld", "ServingLock", "is_foreign"]

_FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_TRIES = 100
FULL = (errno.ENOSPC, errno.EDQUOT)


class LockHeld(CannotServe):
    """Another process holds the lock; `pid` is which, None if that is not known."""

    def __init__(self, path: str, pid: int | None) -> None:
        super().__init__(f"{path}: held by {f'pid {pid}' if pid else 'another process'}")
        self.pid = pid


class ServingLock:
    """A lock that is ours until `release`."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._file = _locked(path)
        with suppress(OSError):
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Removes the file, then lets go: who waited for this one sees that it is gone, and makes its own."""
        if self._file < 0:
            return
        with suppress(OSError):
            if _is_at(self.path, self._file):
                os.unlink(self.path)
        os.close(self._file)
        self._file = -1


def _locked(path: str) -> int:
    """The descriptor of the file at `path`, locked; not of one that was removed or replaced meanwhile."""
    for _ in range(_TRIES):
        file = _opened(path)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pid = _pid_in(file)
            os.close(file)
            raise LockHeld(path, pid) from None
        if _is_at(path, file):
            return file
        os.close(file)
    raise CannotServe(f"{path}: is removed as often as it is made; end whatever does that and try again")


def _opened(path: str) -> int:
    with suppress(FileNotFoundError):
        _check(path, os.lstat(path))
    try:
        file = os.open(path, _FLAGS, 0o600)
    except OSError as error:
        if error.errno in FULL:
            text = f"{path}: the lock cannot be made ({error.strerror}); free some space there, or choose another path"
            raise PlaceBlocked(text) from error
        raise CannotServe(f"{path}: cannot be made or opened as the lock ({error.strerror}); remove it") from error
    try:
        _check(path, os.fstat(file))
    except CannotServe:
        os.close(file)
        raise
    return file


def _check(path: str, facts: os.stat_result) -> None:
    if is_foreign(facts):
        owner = f"{user_name(facts.st_uid)} (uid {facts.st_uid})"
        what = "this lock" if stat.S_ISREG(facts.st_mode) else f"{kind_word(facts.st_mode)} in the place of the lock"
        raise PlaceBlocked(
            f"{path}: {what} belongs to {owner}, not to {user_name(os.geteuid())}; "
            "if that user's server has ended, its owner or root may remove it"
        )
    if not stat.S_ISREG(facts.st_mode):
        raise CannotServe(f"{path}: expected the lock of a server, found {kind_word(facts.st_mode)}; remove it")
    if facts.st_nlink > 1:
        found = f"a file with {facts.st_nlink} names (hard links)"
        raise PlaceBlocked(f"{path}: expected the lock of a server, found {found}; remove this one")


def is_foreign(facts: os.stat_result) -> bool:
    """Whether a file is another user's; to all users but root, root's as well."""
    return facts.st_uid != os.geteuid()


def kind_word(mode: int) -> str:
    """What a file is, in a word."""
    for is_so, word in (
        (stat.S_ISSOCK, "a socket"),
        (stat.S_ISREG, "a file"),
        (stat.S_ISDIR, "a directory"),
        (stat.S_ISLNK, "a link"),
        (stat.S_ISFIFO, "a pipe"),
    ):
        if is_so(mode):
            return word
    return "a device"


def _is_at(path: str, file: int) -> bool:
    try:
        return os.path.samestat(os.lstat(path), os.fstat(file))
    except FileNotFoundError:
        return False


def _pid_in(file: int) -> int | None:
    text = os.pread(file, 32, 0).strip()
    return int(text) if text.isdigit() else None
