"""A recording beside what is collected: a thread follows the journals, and every 75 ms what happened is written."""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import click

from ttmem import __version__
from ttmem.cli.common.recordings import SUFFIX
from ttmem.collector import Collector
from ttmem.collector.recorded import keep_incidents
from ttmem.errors import CannotRecord
from ttmem.recording import Meta, RecordingWriter, remove_recording

__all__ = ["LiveRecording", "checked_output", "ended_by_ctrl_c", "record_until_interrupted"]

_FLUSH_SECONDS = 0.075  # each block has a head; a recorder that is killed loses 100 ms at most
_LOOK_SECONDS = 0.02  # a program may report two million events a second from its first call on
_SHOW_SECONDS = 0.1
_NICENESS = -15  # of the thread that reads rings; not of what it starts


def checked_output(path: Path, *, is_forced: bool, is_continued: bool = False) -> Path:
    """The directory of a recording, which must not be there yet; with force, an older recording goes."""
    if path.name and not path.suffix:
        path = path.with_name(path.name + SUFFIX)
    if not path.exists():
        if not path.parent.is_dir():
            raise CannotRecord(f"{path}: there is no directory {path.parent}; make it, or give another place")
        return path
    is_recording = path.is_dir() and (path / "meta.json").exists()
    if is_continued and is_recording:
        return path
    if not is_forced:
        raise click.BadParameter(
            f"{path} is there already; choose another name, --append to go on with that recording, "
            "or --force to replace it",
            param_hint="-o",
        )
    if not is_recording:
        raise click.BadParameter(
            f"{path} is there and is no recording, so --force does not remove it; choose another name", param_hint="-o"
        )
    remove_recording(path)
    return path


class LiveRecording:
    """Records what a collector follows. Made before anything is attached; `close` ends it."""

    def __init__(
        self,
        path: Path,
        collector: Collector,
        *,
        command: tuple[str, ...] = (),
        label: str = "",
        is_redacted: bool = False,
        last_seconds: float | None = None,
        max_bytes: int | None = None,
    ) -> None:
        meta = Meta(version=__version__, label=label, command=command, is_redacted=is_redacted)
        self._collector = collector
        self._writer = RecordingWriter(
            path, collector.ledger, meta=meta, last_seconds=last_seconds, max_bytes=max_bytes
        )
        self._incidents = 0
        self._has_warned = False
        self._writing = threading.Lock()
        self._is_stopping = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="ttmem-recording", daemon=True)
        self._thread.start()

    @property
    def directory(self) -> Path:
        return self._writer.directory

    @property
    def row_count(self) -> int:
        return self._writer.rows

    @property
    def trouble(self) -> str:
        """Why nothing can be written now; empty if all is well."""
        return self._writer.trouble

    def begin_here(self) -> None:
        """What was read so far is left out, but for what is alive now."""
        with self._writing:
            self._writer.begin_here()

    def flush(self) -> None:
        """All that was read is in the file."""
        with self._writing:
            self._writer.flush()

    def close(self) -> None:
        """All that has happened by now is read and written."""
        self._is_stopping.set()
        self._collector.ledger.stop()
        self._thread.join()
        self._collector.ledger.drain()
        self._take_incidents(is_last=True)
        self._writer.close()

    def _follow(self) -> None:
        _come_first()
        while not self._is_stopping.is_set():
            self._collector.ledger.run(_FLUSH_SECONDS)
            self.flush()
            self._take_incidents(is_last=False)
            if self._writer.trouble and not self._has_warned:
                self._has_warned = True
                text = f"ttmem: {self.directory}: {self._writer.trouble}; nothing is recorded until there is room"
                click.echo(text, err=True)

    def _take_incidents(self, *, is_last: bool) -> None:
        """With what was alive then; a redacted recording has none of them, for their texts are the runtime's own."""
        if self._writer.meta.is_redacted or (self._writer.incidents == self._incidents and not is_last):
            return
        self._incidents = self._writer.incidents
        try:
            keep_incidents(self._collector, self.directory)
        except OSError as error:
            self._writer.trouble = error.strerror or "cannot be written"


def _come_first() -> None:
    """A recorder that waits for a processor longer than rings last loses events: before others, where it may."""
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)


@contextmanager
def ended_by_ctrl_c() -> Iterator[threading.Event]:
    """Ctrl-C ends a recording and breaks nothing off, however early it comes: what was read is still written."""
    is_interrupted = threading.Event()
    before = signal.signal(signal.SIGINT, lambda *_: is_interrupted.set())
    try:
        yield is_interrupted
    finally:
        signal.signal(signal.SIGINT, before)


def record_until_interrupted(
    recording: LiveRecording,
    look: Callable[[], None],
    *,
    seconds: float | None,
    is_interrupted: threading.Event,
    is_over: Callable[[], bool] = lambda: False,
) -> None:
    """Looks for new journals until Ctrl-C, for so long, or until it is over."""
    deadline = None if seconds is None else time.monotonic() + seconds
    shown = 0.0
    while not is_interrupted.is_set() and (deadline is None or time.monotonic() < deadline):
        look()
        if is_over():
            break
        if sys.stderr.isatty() and time.monotonic() - shown >= _SHOW_SECONDS:
            shown = time.monotonic()
            click.echo(
                f"\rttmem: {recording.row_count:,} events in {recording.directory}, Ctrl-C ends it",
                nl=False,
                err=True,
            )
        is_interrupted.wait(_LOOK_SECONDS)
    if sys.stderr.isatty():
        click.echo("", err=True)
