"""A recording at a time: the answers that a living collector gives, for any moment, and the history up to it.

The recording is played into a ledger, and every figure comes from where a live one does. Keys of processes stay the
same wherever one goes, though each leap makes another ledger. The kernel is not asked about a process of the recording:
its pid may be another's today, so what it took of the host is not known here.
"""

from collections.abc import Collection, Mapping
from typing import Any, Literal

from ttmem import _native
from ttmem.collector.chip_maps import chip_map_of
from ttmem.collector.collector import MOST_KERNELS, MOST_STRETCHES
from ttmem.collector.history import HistoryRecorder
from ttmem.collector.kernel_tables import kernel_table_of
from ttmem.collector.rates import RatesRecorder
from ttmem.collector.recorded import context_of, empty_ledger
from ttmem.collector.rows import Snapshots
from ttmem.collector.rows.allocations import process_detail_of
from ttmem.devices import Pool
from ttmem.recording import Recording
from ttmem.recording.playing import Player
from ttmem.snapshot import Snapshot
from ttmem.snapshot.chip_map import ChipMap
from ttmem.snapshot.history import History
from ttmem.snapshot.kernel_table import KernelTable
from ttmem.snapshot.process_detail import ProcessDetail, found_process
from ttmem.snapshot.selection import MOST, found_device
from ttmem.snapshot.usage import DeviceUsage, ProcessUsage
from ttmem.snapshot.values import TimeNs, replace

__all__ = ["Keys", "Playback", "RecordedHistory"]

_SECOND_NS = 1_000_000_000


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
        self._player = Player(recording, empty_ledger)
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
        processes = tuple(self._row(row) for row in found.processes)
        devices = tuple(self._usage(usage) for usage in found.devices)
        time_ns = TimeNs(self.recording.wall_ns(self.at_ns))
        return replace(found, processes=processes, devices=devices, time_ns=time_ns)

    def _row(self, row: ProcessUsage) -> ProcessUsage:
        key = self._keys.of(row)
        row = row if row.key == key else replace(row, key=key)
        return replace(row, launch_count=None) if self._is_without_counts else row

    @property
    def _is_without_counts(self) -> bool:
        return self._has_all_counts and not self._player.is_from_beginning

    def _usage(self, usage: DeviceUsage) -> DeviceUsage:
        """Played from a keyframe, a ledger knows neither earlier peaks nor launches: heads of blocks know the first."""
        if not self._is_without_counts:
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
        self._at_ns = -1
        self._found: dict[tuple[int, int], int] = {}

    def of(self, at_ns: int, usage: DeviceUsage, pool: Pool) -> int:
        if at_ns != self._at_ns:
            self._at_ns, self._found = at_ns, {}
            for _, _, block in self.recording.blocks:
                if block.last_ns > at_ns:
                    continue
                for one in block.balances:
                    if one.is_known:
                        name = one.chip, one.pool
                        self._found[name] = max(self._found.get(name, 0), one.highest_bytes)
        return self._found.get((int(usage.device.unique_id), pool.number), 0)


class RecordedHistory:
    """The seconds before a moment, as the history of a living collector has them: whole seconds up to that moment."""

    def __init__(self, recording: Recording, keys: Keys) -> None:
        self._recording = recording
        self._keys = keys
        self._playback: Playback | None = None
        self._recorder: HistoryRecorder | None = None
        self._began_ns = self._shift_ns = self._wall_ns = self._told_ns = 0
        self._is_leaping = False  # into another ledger, which counts launches anew

    def take_up(self, recording: Recording) -> None:
        """The same recording, grown."""
        self._recording = recording
        if self._playback is not None:
            self._playback.take_up(recording)

    def history(self, at_ns: int, seconds: int) -> History:
        """The last `seconds` before a moment (CLOCK_MONOTONIC)."""
        wall_ns = self._recording.wall_ns(at_ns)
        shift_ns = wall_ns - at_ns
        last = wall_ns - wall_ns % _SECOND_NS - 1  # the end of the last whole second
        first_ns = max(self._recording.first_ns, last - shift_ns - seconds * _SECOND_NS)
        is_stepped = abs(shift_ns - self._shift_ns) > _SECOND_NS // 10
        if self._recorder is None or is_stepped or self._wall_ns > wall_ns or self._began_ns > first_ns:
            self._begin(first_ns, shift_ns)
        assert self._recorder is not None
        while self._wall_ns + _SECOND_NS <= last:
            self._take(self._wall_ns + _SECOND_NS)
        if self._wall_ns >= first_ns + shift_ns:
            return self._recorder.history(seconds)
        recorder = self._recorder  # not one whole second yet: next time it is begun anew
        self._take(wall_ns)
        self._recorder = None
        return recorder.history(seconds)

    def _begin(self, first_ns: int, shift_ns: int) -> None:
        self._began_ns, self._shift_ns = first_ns, shift_ns
        wall_ns = first_ns + shift_ns
        self._wall_ns = wall_ns - wall_ns % _SECOND_NS - 1
        self._told_ns = 0
        self._playback = Playback(self._recording, self._keys, has_all_counts=False)
        self._recorder = HistoryRecorder(
            self._sample,
            lambda: (),
            lambda: self._wall_ns,
            self._overview,
            RatesRecorder(stat=lambda pid: None),
        )

    def _take(self, wall_ns: int) -> None:
        """A sample of the second that ends there."""
        assert self._playback is not None
        assert self._recorder is not None
        is_fresh = self._playback.go_to(max(wall_ns - self._shift_ns, self._recording.first_ns))
        self._is_leaping = is_fresh and self._told_ns != 0
        self._wall_ns = wall_ns
        self._recorder.take_due()

    def _sample(self) -> tuple[Any, ...]:
        """As `Ledger.sample`, with the keys of screens; what a keyframe repeats of phases is left out."""
        assert self._playback is not None
        time_ns, chips, processes, events = self._playback.ledger.sample()
        keys = self._playback.raw_processes()
        processes = tuple((keys.get(row[0], -row[0]), *row[1:]) for row in processes)
        fresh = tuple((keys.get(row[0], -row[0]), *row[1:]) for row in events if row[5] > self._told_ns)
        self._told_ns = self._wall_ns
        return time_ns, chips, processes, fresh

    def _overview(self) -> Snapshot:
        assert self._playback is not None
        found = replace(self._playback.overview(), time_ns=TimeNs(self._wall_ns))
        if not self._is_leaping:
            return found
        devices = tuple(replace(usage, launch_count=None) for usage in found.devices)
        processes = tuple(replace(row, launch_count=None) for row in found.processes)
        return replace(found, devices=devices, processes=processes)
