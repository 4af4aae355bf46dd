"""Writes a recording: what the native recorder hears goes into segments; those that are full are packed.

One thread calls `flush` at least every 100 ms. A segment that is full is packed by a thread of its own (keeping.py),
block by block, and replaces its plain file under another name; a recorder that is killed leaves plain files, which read
as well.
"""

import fcntl
import os
import shutil
import socket
import time
from pathlib import Path

import msgspec

from ttmem import _native
from ttmem.errors import CannotRecord
from ttmem.recording.keeping import Keeper, files_of, sealed
from ttmem.recording.meta import META, SEGMENT, Meta, read_meta, write_meta
from ttmem.recording.sealing import segment_numbers

__all__ = ["RecordingWriter", "remove_recording"]

_SEGMENT_BYTES = 48 << 20
_RETRY_SECONDS = 1.0
_LOCK = "lock"


class RecordingWriter:
    """One recording that is being made. It listens from the beginning: make it before anything is attached."""

    def __init__(
        self,
        directory: Path,
        ledger: _native.Ledger,
        *,
        meta: Meta,
        last_seconds: float | None = None,
        max_bytes: int | None = None,
    ) -> None:
        self.directory = directory
        self._ledger = ledger
        self._last_seconds, self._max_bytes = last_seconds, max_bytes
        self._lock = _claimed(directory)
        self.meta = _made_meta(directory, meta)
        self._recorder = _native.recording.Recorder(ledger, redact=meta.is_redacted)
        self._keeper = Keeper(directory, last_seconds=last_seconds, max_bytes=max_bytes)
        self._number = max(segment_numbers(directory), default=0)
        self._began = 0.0
        self._all_rows = self._rows_before = self.dropped_rows = self.lost_records = self.incidents = 0
        self.trouble = ""  # why nothing can be written now; empty if all is well
        self._retry_at = 0.0
        self._begin_segment()

    def flush(self) -> None:
        """What has happened since goes to disk. A full disk is no error: it is tried again, and nothing waits."""
        if self.trouble:
            if time.monotonic() < self._retry_at:
                return
            self._begin_segment()
        written, self._all_rows, self.dropped_rows, self.lost_records, self.incidents, error = self._recorder.flush(
            self._ledger
        )
        if error:
            self.trouble = os.strerror(error)
            self._retry_at = time.monotonic() + _RETRY_SECONDS
        elif written >= self._segment_bytes or time.monotonic() - self._began >= self._segment_seconds:
            self._begin_segment()

    def begin_here(self) -> None:
        """What happened before is left out: the recording begins with what is alive now."""
        self.flush()
        earlier, self._rows_before = self._number, self._all_rows
        self._begin_segment()
        self._keeper.wait()
        for path in files_of(self.directory, earlier) if earlier != self._number else ():
            path.unlink()

    @property
    def rows(self) -> int:
        """How many events there are."""
        return self._all_rows - self._rows_before

    @property
    def _segment_bytes(self) -> int:
        return min(_SEGMENT_BYTES, (self._max_bytes or _SEGMENT_BYTES * 8) // 8)

    @property
    def _segment_seconds(self) -> float:
        return max(1.0, (self._last_seconds or 4800.0) / 8)

    def close(self) -> None:
        """Everything so far is written and packed."""
        self.flush()
        del self._recorder
        self._keeper.close()
        for number in segment_numbers(self.directory):
            sealed(self.directory, number)
        os.close(self._lock)

    def _begin_segment(self) -> None:
        before, self._number = self._number, self._number + 1
        path = self.directory / f"{self._number:06}{SEGMENT}"
        try:
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_APPEND, 0o600)
        except OSError as error:
            self.trouble, self._number = error.strerror or "cannot be written", before
            self._retry_at = time.monotonic() + _RETRY_SECONDS
            return
        self.trouble = ""
        self._began = time.monotonic()
        self._recorder.begin_segment(self._ledger, file, self._number)
        os.close(file)
        if before:
            self._keeper.add(before, self._began)


def remove_recording(directory: Path) -> None:
    """What is still being written is a CannotRecord, and stays."""
    lock = _claimed(directory)
    shutil.rmtree(directory)
    os.close(lock)


def _claimed(directory: Path) -> int:
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(directory / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise CannotRecord(
            f"{directory}: a recording is a directory that can be made there: {error.strerror}"
        ) from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        raise CannotRecord(
            f"{directory}: another recorder is writing this recording; end it, or choose another name with -o"
        ) from None
    return lock


def _made_meta(directory: Path, meta: Meta) -> Meta:
    if (directory / META).exists():
        known = read_meta(directory)
        if known.boot_id != _boot_id():
            raise CannotRecord(f"{directory}: was recorded before this machine started; choose another name with -o")
        return known
    made = msgspec.structs.replace(
        meta,
        host=meta.host or socket.gethostname(),
        boot_id=_boot_id(),
        began_ns=time.time_ns(),
        command=() if meta.is_redacted else meta.command,
    )
    write_meta(directory, made)
    return made


def _boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
