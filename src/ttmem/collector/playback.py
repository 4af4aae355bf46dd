"""A recording at a time: the answers that a living collector gives, for any moment.

The recording is played into a ledger, and every figure comes from where a live one does. Keys of processes stay the
same wherever one goes, though each leap makes another ledger. The kernel is not asked about a process of the recording:
its pid may be another's today, so what it took of the host is not known here.
"""

from collections.abc import Collection, Mapping
from typing import Literal

from ttmem import _native
from ttmem.collector.chip_maps import chip_map_of
from ttmem.collector.collector import MOST_KERNELS, MOST_STRETCHES
from ttmem.collector.kernel_tables import kernel_table_of
from ttmem.collector.recorded import context_of, empty_ledger
from ttmem.collector.rows import Snapshots
from ttmem.collector.rows.allocations import process_detail_of
from ttmem.devices import Pool
from ttmem.recording import Recording
from ttmem.recording.playing import RecordingPlayer
from ttmem.snapshot import Snapshot
from ttmem.snapshot.chip_map import ChipMap
from ttmem.snapshot.host import Finding
from ttmem.snapshot.kernel_table import KernelTable
from ttmem.snapshot.process_detail import ProcessDetail, found_process
from ttmem.snapshot.selection import MOST, found_device
from ttmem.snapshot.usage import DeviceUsage, ProcessUsage
from ttmem.snapshot.values import TimeNs, clean, replace

__all__ = ["Keys", "Playback"]


class Keys:
    """Keys by which processes are known on screens: the same in every ledger that the recording is played into."""

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], int] = {}

    def of(self, row: ProcessUsage) -> int:
        name = (row.pid, row.start_ticks, row.source, row.claimed_pid)
        return self._known.setdefault(name, len(self._known) + 1)


class Playback:
    """One moment of a recording, and then another."""

    def __init__(self, recording: Recording, keys: Keys, *, has_all_counts: bool = True) -> None:
        self._player = RecordingPlayer(recording, empty_ledger)
        self._keys = keys
        self._has_all_counts = has_all_counts  # launches are counted from the first on, or are not known
        self._snapshots = Snapshots(self._player.ledger)
        self._highest = _Highest(recording)
        self.at_ns = 0

    @property
    def recording(self) -> Recording:
        return self._player.recording

    @property
    def ledger(self) -> _native.Ledger:
        return self._player.ledger

    def take_up(self, recording: Recording) -> None:
        """The same recording, grown."""
        self._player.recording = self._highest.recording = recording

    def go_to(self, at_ns: int) -> bool:
        """To a moment (CLOCK_MONOTONIC). Whether the ledger is another one now."""
        is_fresh = self._player.go_to(at_ns)
        if is_fresh:
            self._snapshots = Snapshots(self._player.ledger)
        self.at_ns = at_ns
        return is_fresh

    def overview(self, details: Collection[int] | Literal["all"] = ()) -> Snapshot:
        """Everything at that moment; details of processes, by their keys, where asked for."""
        found = self._snapshots.snapshot(context_of(self.recording), "all" if details == "all" else ())
        if details and details != "all":
            wanted = [row.key for row in found.processes if self._keys.of(row) in details]
            found = self._snapshots.snapshot(context_of(self.recording), wanted)
        unsure = self._uncounted(found)
        processes = tuple(self._row(row) for row in found.processes)
        devices = tuple(self._usage(usage, is_counted=usage.device.number not in unsure) for usage in found.devices)
        time_ns = TimeNs(self.recording.wall_ns(self.at_ns))
        doubts = tuple(Finding("unread_part", 1, path=clean(trouble)) for trouble in self.recording.troubles)
        findings = (*found.findings, *doubts)
        return replace(found, processes=processes, devices=devices, time_ns=time_ns, findings=findings)

    def _uncounted(self, found: Snapshot) -> frozenset[int]:
        """Chips whose launches are not all known: they came before the keyframe that was begun with, or in a gap."""
        if not self._has_all_counts:
            return frozenset()
        if not self._player.is_from_beginning:
            return frozenset(usage.device.number for usage in found.devices)
        return frozenset(number for row in found.processes if row.lost_record_count for number in row.chips)

    def _row(self, row: ProcessUsage) -> ProcessUsage:
        key = self._keys.of(row)
        row = row if row.key == key else replace(row, key=key)
        is_counted = self._player.is_from_beginning and not row.lost_record_count
        return row if is_counted or not self._has_all_counts else replace(row, launch_count=None)

    def _usage(self, usage: DeviceUsage, *, is_counted: bool) -> DeviceUsage:
        """A ledger knows peaks only of what was played into it: heads of blocks know the others."""
        if is_counted:
            return usage
        pools = tuple(
            replace(pool, peak_bytes=max(pool.peak_bytes, self._highest.of(self.at_ns, usage, pool.pool)))
            for pool in usage.pools
        )
        return replace(usage, pools=pools, launch_count=None)

    def raw_key(self, key: int) -> int:
        """The ledger's own key of a process; -1 if it is not there."""
        rows = self._snapshots.snapshot(context_of(self.recording), ()).processes
        return next((row.key for row in rows if self._keys.of(row) == key), -1)

    def chip(self, word: str) -> ChipMap:
        usage = found_device(self.overview().devices, word)
        found = chip_map_of(usage, self.ledger.chip(usage.device.number, MOST_STRETCHES))
        return replace(found, time_ns=TimeNs(self.recording.wall_ns(self.at_ns)))

    def kernels(self, word: str, most: int = MOST_KERNELS) -> KernelTable:
        found = self._snapshots.snapshot(context_of(self.recording), ())
        usage = found_device(self.overview().devices, word)
        table = kernel_table_of(usage, found.processes, self.ledger.kernels(usage.device.number, most))
        return replace(table, time_ns=TimeNs(self.recording.wall_ns(self.at_ns)))

    def process(self, pid: int, *, key: int | None = None, most: int = MOST) -> ProcessDetail:
        found = found_process(self.overview().processes, pid, key)
        snapshot = self.overview(details=[found.key])
        process = found_process(snapshot.processes, pid, found.key)
        rows = self.ledger.process(pid, self.raw_key(process.key), most)
        return process_detail_of(process, rows, time_ns=snapshot.time_ns)

    def raw_processes(self) -> Mapping[int, int]:
        """The key of each process by the ledger's own key."""
        rows = self._snapshots.snapshot(context_of(self.recording), ()).processes
        return {row.key: self._keys.of(row) for row in rows}


class _Highest:
    """What every pool was at its highest up to a moment, by the heads of blocks."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self._begin()

    def _begin(self) -> None:
        self._at_ns = self._segment = self._block = 0
        self._found: dict[tuple[int, int], int] = {}

    def of(self, at_ns: int, usage: DeviceUsage, pool: Pool) -> int:
        if at_ns < self._at_ns:
            self._begin()
        if at_ns > self._at_ns:
            self._go_on(at_ns)
        return self._found.get((int(usage.device.unique_id), pool.number), 0)

    def _go_on(self, at_ns: int) -> None:
        self._at_ns = at_ns
        while self._segment < len(self.recording.segments):
            blocks = self.recording.segments[self._segment].blocks
            for block in blocks[self._block :]:
                if block.last_ns > at_ns:
                    return
                self._block += 1
                for one in block.balances:
                    name = one.chip, one.pool
                    if one.is_known and one.highest_bytes > self._found.get(name, 0):
                        self._found[name] = one.highest_bytes
            if self._segment + 1 == len(self.recording.segments):
                return  # it may grow
            self._segment, self._block = self._segment + 1, 0
