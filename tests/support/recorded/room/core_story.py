"""Plays a workload while it is recorded, and says of the recording alone what each core held, how low buffers came, how
much room launches had and what was free, and whether that is what the runtime's calls add up to:

    python -m tests.support.recorded.room.core_story NAME ROUNDS

The judge is plain arithmetic over the calls that the runtime model makes; it knows neither ledger nor recording.
In a process of its own, since a journal never forgets a chip. Prints how many figures were compared.
"""

import os
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from ttmem import GraphTracker
from ttmem.collector import Collector
from ttmem.collector.watched import core_peaks, walked
from ttmem.devices import BufferType, Pool
from ttmem.figures.room import RoomRun, floor_report, trace_report
from ttmem.metal import MeshDevice
from ttmem.metal.workloads import WORKLOADS, Player
from ttmem.recording import Meta, Recording, RecordingWriter
from ttmem.sources import Places

Core = tuple[int, int]
_IN_L1 = {BufferType.L1: 0, BufferType.L1_SMALL: 1}


class Laid(NamedTuple):
    """One circular buffer."""

    cores: frozenset[Core]
    begin: int
    end: int


class Held(NamedTuple):
    """An address of a buffer, what it takes of each core, and of which; None: of all."""

    address: int
    size_bytes: int
    is_l1: bool
    cores: frozenset[Core] | None = None


class Traced:
    """A captured trace: buffers that were made while it could be replayed, and those alive at a replay."""

    def __init__(self) -> None:
        self.is_live = True
        self.replay_count = 0
        self.made: dict[int, int] = {}
        self.over: set[int] = set()


class Judge(GraphTracker):
    """What the calls add up to, for a workload that uses all its chips as one."""

    def __init__(self) -> None:
        super().__init__()
        self.buffers: dict[int, list[Held]] = {}  # of the first chip
        self.laid: dict[int, list[Laid]] = {}
        self.order: list[int] = []  # programs, as they were launched; the latest last
        self.ring_bytes = 0
        self.fullest = self.everywhere = 0
        self.of_core: dict[Core, int] = {}
        self.lowest: int | None = None
        self.alive: dict[int, int] = {}  # buffers of any memory, and their bytes
        self.traces: dict[int, Traced] = {}
        self.least_room: int | None = None

    def track_device_opened(self, device: Any) -> None:
        super().track_device_opened(device)
        self.ring_bytes = device.chips[0].kernel_ring_bytes
        self.bank_count = device.chips[0].l1_bank_count
        self.weigh()

    def track_allocate(self, buffer: Any) -> None:
        super().track_allocate(buffer)
        if buffer.reserved_bytes and not buffer.program:
            self.alive[buffer.unique_id] = buffer.reserved_bytes
            for trace in self.traces.values():
                if trace.is_live:
                    trace.made[buffer.unique_id] = buffer.reserved_bytes
        if buffer.buffer_type not in _IN_L1 or not buffer.reserved_bytes:
            return
        is_l1 = buffer.buffer_type is BufferType.L1
        parts = getattr(buffer, "core_parts", ())
        if parts and parts[0]:
            size = buffer.reserved_bytes // sum(len(list(part.cores)) for part in parts[0])
            held = [Held(part.address, size, True, frozenset(part.cores)) for part in parts[0]]
        else:
            held = [Held(buffer.address, buffer.reserved_bytes // self.bank_count, is_l1)]
        self.buffers[buffer.unique_id] = held
        if is_l1:
            self.lowest = min([*(one.address for one in held), *([] if self.lowest is None else [self.lowest])])
        self.weigh()

    def track_deallocate(self, buffer: Any) -> None:
        super().track_deallocate(buffer)
        self.alive.pop(buffer.unique_id, None)
        self.buffers.pop(buffer.unique_id, None)

    def track_allocate_cb(self, core_ranges: Any, address: int, size_bytes: int, *rest: Any, **named: Any) -> None:
        super().track_allocate_cb(core_ranges, address, size_bytes, *rest, **named)
        if not rest[0]:
            laid = Laid(frozenset(core_ranges), address, address + size_bytes)
            self.laid.setdefault(named.get("program", 0), []).append(laid)
            self.weigh()

    def track_deallocate_cb(self, device: Any, *, program: int = 0) -> None:
        super().track_deallocate_cb(device, program=program)
        self.laid.pop(program, None)
        self.weigh()  # what ran there before may be larger

    def track_program_end(self, program: int, device: Any) -> None:
        super().track_program_end(program, device)
        self.laid.pop(program, None)
        if program in self.order:
            self.order.remove(program)
        self.weigh()

    def track_launch(self, program: int, device: Any) -> None:
        super().track_launch(program, device)
        if program in self.order:
            self.order.remove(program)
        self.order.append(program)
        self.weigh()
        self.note_room(program, device)

    def track_trace_captured(self, trace: int, size_bytes: int, device: Any) -> None:
        super().track_trace_captured(trace, size_bytes, device)
        self.traces[trace] = Traced()

    def track_trace_replayed(self, trace: int, device: Any) -> None:
        super().track_trace_replayed(trace, device)
        self.traces[trace].replay_count += 1
        self.traces[trace].over |= self.traces[trace].made.keys() & self.alive.keys()

    def track_trace_released(self, trace: int, device: Any) -> None:
        super().track_trace_released(trace, device)
        if trace in self.traces:
            self.traces[trace].is_live = False

    def note_room(self, program: int, device: Any) -> None:
        own = self.laid.get(program)
        if not own:
            return
        chip = device.chips[0]
        end_of_l1 = chip.architecture.l1_unreserved_base + chip.l1_bank_bytes
        cores = frozenset(core for one in own for core in one.cores)
        floor = min(
            (one.address for one in self.held if one.is_l1 and (one.cores is None or one.cores & cores)),
            default=end_of_l1,
        )
        room = floor - max(one.end for one in own)
        self.least_room = room if self.least_room is None else min(self.least_room, room)

    @property
    def held(self) -> list[Held]:
        return [one for parts in self.buffers.values() for one in parts]

    def most_on(self, core: Core) -> int:
        """The highest of a core, also while it had nothing of its own."""
        return max(self.everywhere, self.of_core.get(core, 0))

    def resident(self, core: Core) -> Iterable[Laid]:
        for program in reversed(self.order):
            own = [one for one in self.laid.get(program, ()) if core in one.cores]
            if own:
                return own
        return ()

    def weigh(self) -> None:
        """All cores as they are now."""
        everywhere = self.ring_bytes + sum(one.size_bytes for one in self.held if one.cores is None)
        own = [one for one in self.held if one.cores is not None]
        cores = {core for laid in self.laid.values() for one in laid for core in one.cores}
        self.fullest = max(self.fullest, everywhere)
        self.everywhere = max(self.everywhere, everywhere)
        for core in cores.union(*(one.cores or () for one in own)):
            used = everywhere + union(self.resident(core))
            used += sum(one.size_bytes for one in own if core in (one.cores or ()))
            self.fullest = max(self.fullest, used)
            self.of_core[core] = max(self.of_core.get(core, 0), used)


def union(laid: Iterable[Laid]) -> int:
    size, at = 0, 0
    for one in sorted(laid, key=lambda one: one.begin):
        size += max(0, one.end - max(at, one.begin))
        at = max(at, one.end)
    return size


class Noted(NamedTuple):
    """What was free in one bank, by the model's allocator."""

    monotonic_ns: int
    free: dict[Pool, tuple[int, int, int]]  # free bytes of a bank, the largest block, how many there are


def free_now(mesh: MeshDevice) -> dict[Pool, tuple[int, int, int]]:
    found = {}
    for pool, buffer_type in ((Pool.DRAM, BufferType.DRAM), (Pool.L1, BufferType.L1)):
        statistics = mesh.allocator.statistics(buffer_type)
        hole_count = sum(not block.is_allocated for block in mesh.allocator.blocks(buffer_type))
        found[pool] = (statistics.free_bytes, statistics.largest_free_bytes, hole_count)
    return found


def compare_free(noted: list[Noted], recording: Recording) -> int:
    count = 0
    walk = walked(recording, [one.monotonic_ns for one in noted])
    assert [one.monotonic_ns for one in walk.instants] == [one.monotonic_ns for one in noted]
    for told, known in zip(walk.instants, noted, strict=True):
        for usage in told.snapshot.devices:
            for pool in usage.pools:
                if pool.pool in known.free and pool.largest_free_bytes is not None and pool.capacity_bytes:
                    banks = pool.largest_free_bytes // max(pool.largest_free_bank_bytes or 1, 1) or 1
                    found = ((pool.free_bytes or 0) // banks, pool.largest_free_bank_bytes, pool.hole_count)
                    assert found == known.free[pool.pool], (told.monotonic_ns, pool.pool, found, known.free)
                    count += 1
    return count


def compare_answers(run: RoomRun, judge: Judge) -> None:
    """Floor and traces, as `ttmem report` has them."""
    for chips in floor_report(run, by=("site",), most=0).chips:
        assert chips.lowest_address == judge.lowest, (chips.lowest_address, judge.lowest)
    told = [
        (one.trace, one.replay_count, one.made_count, one.made_bytes, one.replayed_over_count)
        for one in trace_report(run, by=("site",), most=0).traces
    ]
    known = [
        (number, one.replay_count, len(one.made), sum(one.made.values()), len(one.over))
        for number, one in judge.traces.items()
    ]
    assert told == known, (told, known)


def main(name: str, round_count: str) -> None:
    directory = Path(os.environ["TTMEM_DIR"])
    collector = Collector(Places(uid=os.geteuid(), directory=str(directory)))
    writer = RecordingWriter(directory / "story.ttmem", collector.ledger, meta=Meta())
    noted: list[Noted] = []
    judge = Judge()
    with judge:
        workload = WORKLOADS[name]
        mesh = workload.open(tracker=judge)
        player = Player(mesh)
        for number, _ in enumerate(player.play(workload.steps(mesh.chips[0]))):
            if number % 20 == 0:
                collector.tick()
            if number % 100 == 0:
                collector.wait_settled()
                writer.flush()
                at_ns = time.monotonic_ns()  # near no event: stamps are converted to a few microseconds
                collector.snapshot()
                noted.append(Noted(at_ns, free_now(mesh)))
            if player.round_count >= int(round_count):
                break
        collector.wait_settled()
        mesh.close()
    collector.tick()
    writer.close()
    recording = Recording(directory / "story.ttmem")
    walk = walked(recording)
    peaks = core_peaks(recording)
    assert peaks
    for peak in peaks:
        assert peak.size_bytes == judge.fullest, (peak, judge.fullest)
        room = walk.room.get(peak.chip)
        assert (room.floor_address if room else None) == judge.lowest, (room, judge.lowest)
        assert (room.least_bytes if room else None) == judge.least_room, (room, judge.least_room)
    for core in sorted(judge.of_core)[:: max(1, len(judge.of_core) // 3)]:
        for peak in core_peaks(recording, core):
            assert peak.size_bytes == judge.most_on(core), (peak, judge.most_on(core))
    compare_answers(RoomRun(recording), judge)
    print(len(peaks), compare_free(noted, recording), writer.lost_records)


if __name__ == "__main__":
    main(*sys.argv[1:])
