"""The balances of socket clients on disk, so that a restarted daemon still knows them.

A process that reports through a journal needs none of this: its journal is the truth. What came through the socket is
remembered nowhere else. One file, replaced as a whole; what its bytes mean, the ledger knows.
"""

import os
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol

__all__ = ["Checkpoint"]

_MOST_BYTES = 4 << 30


class Remembering(Protocol):
    """The part of a ledger that can be stored."""

    def checkpoint(self) -> bytes | None: ...
    def restore(self, checkpoint: bytes, /) -> tuple[int, str]: ...


class Checkpoint:
    """One file, and the ledger it is about. Written by one thread at a time."""

    def __init__(self, path: str, ledger: Remembering, *, say: Callable[[str], None]) -> None:
        self.path = path
        self._ledger = ledger
        self._say = say
        self._pending: bytes | None = None
        self._restored_count = 0
        self._written_ns: int | None = None
        self._written_bytes = 0
        self._error = ""

    def restore(self) -> None:
        """Gives the ledger what was stored; a file that cannot be used is set aside and said so in one line."""
        try:
            stored = _read(self.path)
        except FileNotFoundError:
            return
        except OSError as error:
            self._say(f"{self.path}: the checkpoint cannot be read ({error.strerror}); going on without it")
            return
        self._restored_count, why = self._ledger.restore(stored)
        if why:
            aside = f"{self.path}.damaged"
            with suppress(OSError):
                os.replace(self.path, aside)
            self._say(f"{self.path}: the checkpoint is not used: {why}; it is moved to {aside}")

    def write(self) -> None:
        """Writes what changed since the last time; what could not be written is tried again the next time."""
        self._pending = self._ledger.checkpoint() or self._pending
        if self._pending is None:
            return
        try:
            _replace(self.path, self._pending)
        except OSError as error:
            if not self._error:
                self._say(f"{self.path}: the checkpoint cannot be written ({error.strerror}); trying on")
            self._error = error.strerror or str(error)
            return
        self._error = ""
        self._written_bytes = len(self._pending)
        self._written_ns = time.time_ns()
        self._pending = None

    @property
    def trouble(self) -> str:
        """Why it could not be written the last time; empty if it could."""
        lost = "what programs report by socket would be lost at a restart"
        return f"{self.path}: the checkpoint cannot be written ({self._error}): {lost}" if self._error else ""

    def facts(self) -> dict[str, Any]:
        """What /healthz says about it."""
        return {
            "path": self.path,
            "restored": self._restored_count,
            "written_time_ns": self._written_ns,
            "bytes": self._written_bytes,
            "error": self._error or None,
        }


def _read(path: str) -> bytes:
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    with open(file, "rb") as opened:
        facts = os.fstat(file)
        if not stat.S_ISREG(facts.st_mode) or facts.st_uid != os.geteuid() or facts.st_size > _MOST_BYTES:
            raise PermissionError(1, "not a file of this user, or too large")
        return opened.read()


def _replace(path: str, text: bytes) -> None:
    new = f"{path}.new"
    with suppress(FileNotFoundError):
        os.unlink(new)
    file = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with open(file, "wb") as opened:
            opened.write(text)
        os.replace(new, path)
    except OSError:
        with suppress(OSError):  # half a checkpoint is of no use, least of all on a full disk
            os.unlink(new)
        raise
