"""Which journals belong to a program we started, and to what that started in turn; and what they say in the end.

A journal carries the marks of the runs it belongs to: its writer found them in its environment. One that was started
without an environment is known by its ancestors, while it lives. A journal of ours is opened when it is found: later a
daemon, or the next of many processes, may have removed the file of one that ended.
"""

import os
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ttmem.sources import FoundJournal, Journals, Places, procfs

if TYPE_CHECKING:
    from ttmem.cli.tracked_run.recording_run import LiveRecording
    from ttmem.collector import Collector
    from ttmem.snapshot import ProcessUsage
    from ttmem.snapshot.incidents import IncidentCopy
    from ttmem.snapshot.values import Device

__all__ = ["ChildJournals", "RecordingOrder", "marks_of", "writer_of"]

_SETTLE_SECONDS = 2.0
_STEP_SECONDS = 0.002
_READ_EVERY_SECONDS = 0.1  # refusals are in records alone, and the oldest of those are written over
_NAME = re.compile(r"(\d+)-(\d+)-[0-9a-f]+\.journal")


class RecordingOrder(NamedTuple):
    """Where a run is to be recorded, and how."""

    path: Path
    is_redacted: bool = False
    last_seconds: float | None = None
    max_bytes: int | None = None


class ChildJournals:
    """The journals of one program and its descendants; journals that were there before are not counted."""

    def __init__(self, places: Places, *, mark: str) -> None:
        self._journals = Journals(places)
        self._journals.scan()
        self._places = places
        self._collector: Collector | None = None
        self._mark = mark
        self._pid = 0
        self._read_due = 0.0
        self._recording: LiveRecording | None = None
        self.paths: set[str] = set()

    def record(self, order: RecordingOrder, *, command: tuple[str, ...], label: str) -> None:
        """Records from now on what they say; before the program begins."""
        from ttmem.cli.tracked_run.recording_run import LiveRecording

        self._recording = LiveRecording(
            order.path,
            self._collecting(),
            command=command,
            label=label,
            is_redacted=order.is_redacted,
            last_seconds=order.last_seconds,
            max_bytes=order.max_bytes,
        )

    @property
    def is_recording(self) -> bool:
        """Whether what they say is recorded."""
        return self._recording is not None

    def end_recording(self) -> None:
        """Everything is read and written."""
        recording, self._recording = self._recording, None
        if recording is None:
            return
        if self.paths:
            self.usages()
        recording.close()

    def began(self, pid: int) -> None:
        """Names the program, as soon as it runs."""
        self._pid = pid

    @property
    def has_begun(self) -> bool:
        """Whether the program could be started."""
        return self._pid != 0

    def look(self) -> None:
        """Takes note of journals that have appeared."""
        for found in self._journals.scan():
            if self._is_ours(found):
                self.paths.add(found.path)
                self._collecting().ledger.attach(*found)
        if self.paths and time.monotonic() >= self._read_due:
            self._collecting().ledger.drain()
            self._read_due = time.monotonic() + _READ_EVERY_SECONDS

    def usages(self) -> "list[ProcessUsage]":
        """What every process of ours held, in the order of their pids."""
        deadline = time.monotonic() + _SETTLE_SECONDS
        ledger = self._collecting().ledger
        ledger.drain()
        found = self._ours()
        while any(process.reason == "settling" for process in found) and time.monotonic() < deadline:
            ledger.run(_STEP_SECONDS)
            found = self._ours()
        return sorted(found, key=lambda process: process.pid)

    def devices(self) -> "list[Device]":
        """The chips that processes of ours had open."""
        return [usage.device for usage in self._collecting().snapshot().devices]

    def incident_copy(self, pid: int, number: int, *, key: int) -> "IncidentCopy | None":
        """An incident of a process of ours, with what was alive then."""
        return self._collecting().incident_copy(pid, number, key=key)

    def _ours(self) -> "list[ProcessUsage]":
        return [process for process in self._collecting().snapshot().processes if process.path in self.paths]

    def _collecting(self) -> "Collector":
        """Never started: it looks at what is attached, not around. Loaded for programs that report, no others."""
        if self._collector is None:
            from ttmem.collector import Collector

            self._collector = Collector(self._places)
        return self._collector

    def _is_ours(self, found: FoundJournal) -> bool:
        writer = writer_of(found.path)
        if writer is None:
            return False
        pid, start_ticks = writer
        if pid == self._pid or self._mark in marks_of(found.path):
            return True
        stat = procfs.stat_of(pid)
        is_living = stat is not None and stat.start_ticks == start_ticks
        return is_living and procfs.is_descendant(pid, self._pid)


def writer_of(path: str) -> tuple[int, int] | None:
    """The pid and the start of the process that a journal is named for."""
    match = _NAME.fullmatch(os.path.basename(path))
    return None if match is None else (int(match[1]), int(match[2]))


def marks_of(path: str) -> list[str]:
    """Of the runs that the writer of a journal belongs to."""
    from ttmem.events import STRUCTS

    field = STRUCTS["Identity"].fields["run"]  # a journal begins with its identity
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return []
    try:
        text = os.pread(file, field.size_bytes, field.offset_bytes)
    except OSError:
        return []
    finally:
        os.close(file)
    return text.partition(b"\0")[0].decode(errors="replace").split(",")
