"""A moment of a recording, as figures: the same structs that a living collector hands out.

The recording is played into a ledger of its own, so every figure comes from where a live one does. Incidents stand
beside the segments as answers of the collector that recorded them: `keep_incidents` writes, `KeptIncidents` reads.
"""

import os
import socket
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ttmem import _native
from ttmem.collector.chips import BANK_SIZES
from ttmem.collector.collector import Collector
from ttmem.collector.rows import SnapshotContext, Snapshots
from ttmem.devices import Pool
from ttmem.errors import NothingToRead
from ttmem.recording import CorePeak, Peak, Recording
from ttmem.recording.meta import read_meta
from ttmem.snapshot import Host, Snapshot
from ttmem.snapshot.codec import decoded, encoded
from ttmem.snapshot.incidents import IncidentCopy
from ttmem.snapshot.values import Device, TimeNs, replace
from ttmem.sources.procfs import user_name

__all__ = ["KeptIncidents", "Moment", "OnCore", "context_of", "empty_ledger", "keep_incidents"]

_ROWS_AT_ONCE = 8192
_INCIDENTS, _SNAPSHOT = "incidents", "snapshot.json"

Row = Sequence[Any]  # of `Ledger.allocations`


class OnCore(NamedTuple):
    """What lies on a core: a buffer of all cores, one of its own, or a circular buffer of the program that ran last."""

    process: int  # key
    kind: int
    id: int
    sequence: int
    pool: Pool
    address: int
    size_bytes: int  # on that core
    program: int


class Moment:
    """What was alive at one moment of a recording: of a time (CLOCK_MONOTONIC), of a peak, of a core's, or its end."""

    def __init__(
        self,
        recording: Recording,
        *,
        at_ns: int | None = None,
        peak: Peak | None = None,
        core: CorePeak | None = None,
    ) -> None:
        self._ledger = empty_ledger()
        self._replay = recording.play(self._ledger, until_ns=at_ns, peak=peak, core=core)
        self.monotonic_ns = at_ns if at_ns is not None else self._replay.time_ns() or recording.first_ns
        self.time_ns = TimeNs(self.monotonic_ns + self._replay.wall_offset_ns())
        snapshot = Snapshots(self._ledger).snapshot(context_of(recording))
        self.snapshot: Snapshot = replace(snapshot, time_ns=self.time_ns)
        self.phases = self._replay.phases()  # by process key: (name, began, ended or 0, thread)
        self.gap_peaks = self._replay.gap_peaks()  # (process key, chips, pool, bytes, time_ns)
        self.lost_keys = frozenset(self._replay.lost())  # of processes of which is not known what they hold

    def allocations(self, key: int) -> Iterator[Row]:
        """What a process has alive, as `Ledger.allocations` has it: never all of it in memory at once."""
        first = 0
        while rows := self._ledger.allocations(key, first=first, count=_ROWS_AT_ONCE):
            yield from rows
            first += len(rows)

    def on_core(self, device: Device, core: tuple[int, int]) -> list[OnCore]:
        """What lies on one core of a chip of the snapshot, the largest first within each process."""
        rows = _native.recording.on_core(self._ledger, device.number, core[1] * 256 + core[0])
        return [OnCore._make((*row[:4], Pool.numbered(row[4]), *row[5:])) for row in rows]


def empty_ledger() -> _native.Ledger:
    """One that knows how large banks are."""
    ledger = _native.Ledger()
    for arch, sizes in BANK_SIZES.items():
        ledger.set_bank_sizes(arch, *sizes)
    return ledger


def context_of(recording: Recording) -> SnapshotContext:
    """Where its figures come from."""
    return SnapshotContext(
        source=f"recording {recording.path}",
        places=(str(recording.path),),
        host=Host(recording.meta.host, "", "", "", "", "", version=recording.meta.version),
        user_of=user_name if recording.meta.host == socket.gethostname() else str,
    )


def keep_incidents(collector: Collector, directory: Path) -> None:
    """Writes all incidents that the collector knows, with what was alive at each."""
    snapshot = collector.snapshot()
    place = directory / _INCIDENTS
    place.mkdir(mode=0o700, exist_ok=True)
    for process in snapshot.processes:
        for incident in process.incidents:
            path = place / f"{process.pid}-{process.key}-{incident.number}.json"
            copy = None if path.exists() else collector.incident_copy(process.pid, incident.number, key=process.key)
            if copy is not None:
                _write(path, encoded(copy))
    if any(process.was_refused for process in snapshot.processes):
        _write(place / _SNAPSHOT, encoded(snapshot))


def _write(path: Path, text: bytes) -> None:
    fresh = path.with_name(f".{path.name}")
    fresh.write_bytes(text)
    os.chmod(fresh, 0o600)
    fresh.replace(path)


class KeptIncidents:
    """The incidents of a recording, to be explained."""

    def __init__(self, directory: Path) -> None:
        self._place = directory / _INCIDENTS
        meta = read_meta(directory)
        try:
            self._snapshot = decoded((self._place / _SNAPSHOT).read_bytes(), Snapshot)
        except FileNotFoundError:
            if meta.is_redacted:
                text = f"{directory}: a redacted recording has no incidents, for their texts are the runtime's own"
                raise NothingToRead(f"{text}; record again without --redact") from None
            self._snapshot = Moment(Recording(directory)).snapshot

    def snapshot(self) -> Snapshot:
        """As the recorder saw it last."""
        return self._snapshot

    def incident_copy(self, pid: int, number: int, *, key: int) -> IncidentCopy | None:
        """An incident with what was alive then."""
        try:
            return decoded((self._place / f"{pid}-{key}-{number}.json").read_bytes(), IncidentCopy)
        except FileNotFoundError:
            return None
