"""Random stories of buffers, per-core buffers and programs on 1, 4 or 32 chips, recorded. In some of them another
process has buffers in L1 of the same chips, which come and go at the same time:

    python -m tests.support.recorded.room.core_random SEED

What each core held at most is compared with the same found without any short cut, by looking at all cores behind
every row of the recording; and where one process alone was followed all the while, with plain arithmetic over the
model's calls.
With TTMEM_RING=16 the collector is lapped again and again. In a process of its own, since a journal never forgets a
chip. Prints how many chips were compared, and how many records were lost.
"""

import os
import random
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from tests.support.recorded.room.core_story import Judge
from ttmem.collector import Collector
from ttmem.collector.recorded import context_of, empty_ledger
from ttmem.collector.rows import Snapshots
from ttmem.collector.watched import core_peaks, walked
from ttmem.devices import BufferType
from ttmem.metal import (
    Allocation,
    BufferSpec,
    CoreRange,
    CoreRanges,
    Kernel,
    MeshDevice,
    Processor,
    Program,
    enqueue,
    open_mesh,
)
from ttmem.metal.memory import AllocationRefused, Buffer, Layout, OutOfDeviceMemory, Sharding
from ttmem.metal.programs import MeshWorkload, ProgramMisuse
from ttmem.recording import Meta, Recording, RecordingWriter
from ttmem.sources import Places

_SHAPES = [("n150", (1, 1)), ("t3000", (2, 2)), ("galaxy", (8, 4))]
_STEPS = 150
_OTHER = """
import sys, ttmem
chips = [ttmem.open_device(int(word)) for word in sys.argv[1].split(",")]
for number, chip in enumerate(chips):
    ttmem.report_buffer_alloc(chip, 7 + number, 64 << 20)
print("held", flush=True)
held = {}
for line in sys.stdin:  # numbers: what it has of these comes and goes
    for word in line.split():
        for number, chip in enumerate(chips):
            id, each = 1000 + int(word), 2048 * (1 + int(word) % 9)
            if id in held.setdefault(chip, set()):
                ttmem.report_buffer_free(chip, id)
            else:
                ttmem.report_buffer_alloc(chip, id, each * 64, each * 64, 700_000 + 65536 * (id % 8), each, 1)
            held[chip] ^= {id}
"""


class Story:
    """What happens, by a seed."""

    def __init__(self, mesh: MeshDevice, seed: int) -> None:
        self._mesh, self._random = mesh, random.Random(seed)
        self._buffers: list[Buffer] = []
        self._programs: list[MeshWorkload] = []

    def step(self) -> None:
        dice = self._random.random()
        with suppress(OutOfDeviceMemory, AllocationRefused, ProgramMisuse):
            if dice < 0.35:
                self._allocate()
            elif dice < 0.55 and self._buffers:
                self._buffers.pop(self._random.randrange(len(self._buffers))).deallocate()
            elif dice < 0.7 or not self._programs:
                self._launch(self._new_program())
            elif dice < 0.95:
                self._launch(self._random.choice(self._programs))
            else:
                self._programs.pop(self._random.randrange(len(self._programs))).destroy()

    def any_number(self) -> int:
        return self._random.randrange(24)

    def _cores(self) -> CoreRange:
        columns, rows = self._mesh.chips[0].grid
        x, y = self._random.randrange(columns), self._random.randrange(rows)
        return CoreRange(x, y, self._random.randrange(x, columns), self._random.randrange(y, rows))

    def _allocate(self) -> None:
        pages = self._random.randrange(1, 40)
        if self._random.random() < 0.3:
            self._buffers.append(self._mesh.create_buffer(BufferSpec(pages * 65536, 2048, BufferType.L1)))
            return
        cores = tuple(CoreRanges((self._cores(),)))[:12]
        spec = BufferSpec(
            len(cores) * pages * 1024,
            1024,
            BufferType.L1,
            layout=Layout.HEIGHT_SHARDED,
            sharding=Sharding(len(cores), pages, cores=cores),
            allocation=Allocation.PER_CORE,
        )
        self._buffers.append(self._mesh.create_buffer(spec))

    def _new_program(self) -> MeshWorkload:
        cores = CoreRanges((self._cores(),))
        program = Program()
        kernel = Kernel(name="kernel", cores=cores, binaries=(1000,), processor=Processor.BRISC)
        program.add_kernel(kernel)
        for _ in range(self._random.randrange(1, 3)):
            program.add_circular_buffer(cores, self._random.randrange(1, 100) * 1024)
        self._programs.append(MeshWorkload(program))
        return self._programs[-1]

    def _launch(self, workload: MeshWorkload) -> None:
        enqueue(self._mesh, workload)


def without_short_cuts(recording: Recording) -> dict[int, int]:
    """The fullest core of each chip, looked at behind every row."""
    found: dict[int, int] = {}
    for number, segment in enumerate(recording.segments):
        ledger = empty_ledger()
        player = recording.player(ledger, number, place=segment.first_start)
        snapshots, context = Snapshots(ledger), context_of(recording)
        is_over = False
        while not is_over:
            is_over = not player.play(rows=player.replay.row_count() + 1)
            for usage in snapshots.snapshot(context, details=None).devices:
                if usage.fullest_core_bytes is not None:
                    chip = usage.device.unique_id
                    found[chip] = max(found.get(chip, 0), usage.fullest_core_bytes)
    return found


def play(seed: int, judge: Judge, collector: Collector) -> None:
    board, shape = _SHAPES[seed % 3]
    mesh = open_mesh(board, shape, tracker=judge, is_hybrid=True, has_fabric=False)
    story = Story(mesh, seed)
    other = None
    for number in range(_STEPS):
        if number == _STEPS // 3 and seed % 2:
            names = ",".join(str(chip.unique_id) for chip in mesh.chips)
            other = subprocess.Popen(
                [sys.executable, "-c", _OTHER, names], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
            assert other.stdout is not None
            other.stdout.readline()
        if other is not None:  # both at once, the one in front of the other as it comes
            print(*(story.any_number() for _ in range(4)), file=other.stdin, flush=True)
        story.step()
        if number % 7 == 0:
            collector.tick()
    collector.wait_settled()
    mesh.close()
    if other is not None:
        other.communicate()


def main(seed: str) -> None:
    directory = Path(os.environ["TTMEM_DIR"])
    collector = Collector(Places(uid=os.geteuid(), directory=str(directory)))
    writer = RecordingWriter(directory / "story.ttmem", collector.ledger, meta=Meta())
    judge = Judge()
    with judge:
        play(int(seed), judge, collector)
    collector.tick()
    writer.close()
    recording = Recording(directory / "story.ttmem")
    found = {peak.chip: peak.size_bytes for peak in core_peaks(recording)}
    assert found == without_short_cuts(recording), (found, without_short_cuts(recording))
    if not writer.lost_records and int(seed) % 2 == 0:
        assert set(found.values()) == {judge.fullest}, (found, judge.fullest)
        for core in sorted(judge.of_core)[:3]:
            assert {peak.size_bytes for peak in core_peaks(recording, core)} == {judge.most_on(core)}
        rooms = walked(recording).room
        assert {room.least_bytes for room in rooms.values()} == {judge.least_room}
        assert {room.floor_address for room in rooms.values()} == {judge.lowest}
    print(len(found), writer.lost_records)


if __name__ == "__main__":
    main(*sys.argv[1:])
