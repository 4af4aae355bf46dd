"""Traces of the runtime model that are replayed over somebody's buffer: incidents are those its addresses say."""

import random
from dataclasses import dataclass, field
from typing import cast

import pytest

import ttmem
from tests.support.tracked.own_journal import OwnJournal
from ttmem import GraphTracker, metal
from ttmem.devices import BufferType
from ttmem.metal import Allocation, BufferSpec, CoreRanges, Kernel, Layout, MeshDevice, MeshWorkload
from ttmem.metal.memory import Sharding
from ttmem.metal.memory.refusals import OutOfDeviceMemory
from ttmem.metal.programs import ProgramRefused
from ttmem.metal.workloads import WORKLOADS, Player

STEPS = 400
UNSAFE_REPLAY = 3
LAST_KEPT = 6
Core = tuple[int, int]


@dataclass(frozen=True)
class Taken:
    """Memory at one address: of all cores, or of some."""

    is_dram: bool
    begin: int
    end: int
    cores: frozenset[Core] | None = None

    def meets(self, other: "Taken") -> bool:
        if self.is_dram != other.is_dram or self.begin >= other.end or other.begin >= self.end:
            return False
        return self.cores is None or other.cores is None or bool(self.cores & other.cores)


@dataclass
class TrueTrace:
    """A trace and all that it writes, piece by piece."""

    id: int
    written: list[Taken] = field(default_factory=list)
    made: set[int] = field(default_factory=set)  # buffers that were made while it was captured
    told: set[int] = field(default_factory=set)  # those that an incident was told of


def taken_by(buffer: metal.Buffer) -> list[Taken]:
    is_dram = buffer.buffer_type in (BufferType.DRAM, BufferType.TRACE)
    size = buffer.placement.block_bytes
    if not buffer.core_parts:
        return [Taken(is_dram, buffer.address, buffer.address + size)]
    [parts] = buffer.core_parts
    return [
        Taken(False, part.address, part.address + size, frozenset(cast("CoreRanges", part.cores))) for part in parts
    ]


def circular_buffers_of(workload: MeshWorkload) -> list[Taken]:
    return [
        Taken(False, cb.address, cb.address + cb.size_bytes, frozenset(cb.cores))
        for program in workload.programs.values()
        for cb in program.circular_buffers
        if not cb.is_global and cb.address is not None
    ]


class Story:
    """Random steps on a mesh, with the true overlaps beside them."""

    def __init__(self, mesh: MeshDevice, journal: OwnJournal, *, is_hybrid: bool) -> None:
        self.mesh, self.journal, self.is_hybrid = mesh, journal, is_hybrid
        self.dice = random.Random(f"{mesh.chips[0].board} {is_hybrid}")
        self.buffers: dict[int, metal.Buffer] = {}
        self.endangered_by: dict[int, set[int]] = {}  # buffer: traces that write where it lies
        self.traces: list[TrueTrace] = []
        self.capturing: TrueTrace | None = None
        self.workloads = [self.workload() for _ in range(3)]
        self.sizes = list(range(1, STEPS * 2))  # each once: no incident is like another
        self.dice.shuffle(self.sizes)
        self.told_count = 0

    def workload(self) -> MeshWorkload:
        program = metal.Program()
        cores = CoreRanges.grid(self.dice.randint(1, 6), self.dice.randint(1, 6))
        program.add_circular_buffer(cores, 32 * self.dice.randint(1, 12_000))
        program.add_kernel(Kernel(name="reader", cores=cores, binaries=(900,)))
        made = MeshWorkload(program)
        metal.enqueue(self.mesh, made)
        return made

    def step(self) -> None:
        chance = self.dice.random()
        if chance < 0.42:
            self.make()
        elif chance < 0.72:
            self.free()
        elif chance < 0.78:
            self.end() if self.capturing else self.begin()
        elif chance < 0.84:
            self.launch()
        elif chance < 0.97:
            self.replay()
        else:
            self.release()

    def spec(self) -> BufferSpec:
        pages = self.sizes.pop()
        kind = self.dice.choice([BufferType.DRAM, BufferType.L1])
        if kind is BufferType.L1 and self.is_hybrid and self.dice.random() < 0.6:
            cores = tuple({(self.dice.randrange(7), self.dice.randrange(7)) for _ in range(self.dice.randint(1, 4))})
            sharding = Sharding(len(cores), pages % 40 + 1, cores=cores)
            return BufferSpec(
                2048 * sharding.pages_per_shard * len(cores),
                2048,
                kind,
                Layout.HEIGHT_SHARDED,
                sharding,
                Allocation.PER_CORE,
            )
        return BufferSpec(2048 * pages * (8 if kind is BufferType.L1 else 1), 2048, kind)

    def make(self) -> None:
        try:
            buffer = self.mesh.create_buffer(self.spec())
        except OutOfDeviceMemory:
            return
        self.buffers[buffer.unique_id] = buffer
        if self.capturing:
            self.capturing.made.add(buffer.unique_id)
        self.endangered_by[buffer.unique_id] = {
            trace.id
            for trace in self.traces
            if trace is not self.capturing
            and any(one.meets(other) for one in trace.written for other in taken_by(buffer))
        }

    def free(self) -> None:
        if not self.buffers:
            return
        buffer = self.buffers.pop(self.dice.choice(sorted(self.buffers)))
        del self.endangered_by[buffer.unique_id]
        for trace in self.traces:
            if trace is self.capturing or buffer.unique_id in trace.made:
                trace.written += taken_by(buffer)
        buffer.deallocate()

    def begin(self) -> None:
        self.capturing = TrueTrace(self.mesh.begin_trace())
        self.traces.append(self.capturing)

    def end(self) -> None:
        assert self.capturing is not None
        self.mesh.end_trace(self.capturing.id)
        self.capturing = None

    def launch(self) -> None:
        workload = self.dice.choice(self.workloads)
        try:
            metal.enqueue(self.mesh, workload)
        except ProgramRefused:
            return
        if self.capturing:
            self.capturing.written += circular_buffers_of(workload)

    def replay(self) -> None:
        captured = [trace for trace in self.traces if trace is not self.capturing]
        if not captured:
            return
        trace = self.dice.choice(captured)
        self.mesh.replay_trace(trace.id)
        new = {one for one, by in self.endangered_by.items() if trace.id in by} - trace.told
        trace.told |= new
        self.told_count += len(new)
        self.compare(trace, new)

    def release(self) -> None:
        captured = [trace for trace in self.traces if trace is not self.capturing]
        if len(captured) > 4:
            trace = self.dice.choice(captured)
            self.traces.remove(trace)
            self.mesh.release_trace(trace.id)
            for by in self.endangered_by.values():
                by.discard(trace.id)

    def compare(self, trace: TrueTrace, new: set[int]) -> None:
        process = self.journal.process()
        incidents = [row for row in process["incidents"] if row["kind"] == UNSAFE_REPLAY]
        newest = incidents[-min(len(new), LAST_KEPT) :] if new else []
        addresses = {identity: {one.begin for one in taken_by(self.buffers[identity])} for identity in new}
        assert self.journal.unsafe_replays() == self.told_count
        assert not any(row["is_uncertain"] for row in newest)
        assert {row["trace"] for row in newest} <= {trace.id}
        if len(new) <= LAST_KEPT:
            for row in newest:  # each is the incident of one of them
                identity = next(one for one, all_of_it in addresses.items() if row["address"] in all_of_it)
                del addresses[identity]
            assert not addresses


@pytest.mark.parametrize(("board", "is_hybrid"), [("n300", False), ("p150", False), ("n150", True)])
def test_incidents_are_those_that_the_addresses_say(
    board: str, is_hybrid: bool, tracker: GraphTracker, journal: OwnJournal
) -> None:
    with metal.open_mesh(board, tracker=tracker, trace_region_bytes=1 << 26, is_hybrid=is_hybrid) as mesh:
        story = Story(mesh, journal, is_hybrid=is_hybrid)
        for _ in range(STEPS):
            story.step()
        if story.capturing:
            story.end()
        for trace in list(story.traces):
            mesh.release_trace(trace.id)
        for workload in story.workloads:
            workload.destroy()

    assert story.told_count > 10
    assert journal.findings() == {}


def tensor(mesh: MeshDevice, kib: int) -> metal.Buffer:
    return mesh.create_buffer(BufferSpec(kib << 10, 2048, BufferType.DRAM))


def capture(mesh: MeshDevice) -> int:
    trace = mesh.begin_trace()
    tensor(mesh, 512).deallocate()
    mesh.end_trace(trace)
    return trace


def test_the_explanation_names_the_buffer_and_its_advice_helps(tracker: GraphTracker, journal: OwnJournal) -> None:
    """The incident is a written one: what it says of lines, address and bytes is what the model knows."""
    ttmem.record_sites()
    try:
        with metal.open_mesh("n300", tracker=tracker, trace_region_bytes=1 << 20) as mesh:
            early = tensor(mesh, 64)  # before the capture: safe
            trace = capture(mesh)
            tensor(mesh, 32)
            late = tensor(mesh, 256)
            mesh.replay_trace(trace)
            found = journal.explained_incidents()[-2:]
            late.deallocate()  # the advice
            before = journal.unsafe_replays()
            mesh.release_trace(trace)
            mesh.replay_trace(capture(mesh))  # anew, beside what is there now
            after = journal.unsafe_replays()
    finally:
        ttmem.forget_sites()

    by_address = {one.replay.address: one.replay for one in found if one.replay is not None}
    replay = by_address[late.address]
    assert early.address not in by_address
    assert (replay.trace, replay.size_bytes) == (trace, 256 << 10)
    assert replay.entry is not None
    assert (int(replay.entry.id, 16), replay.entry.address) == (late.unique_id, late.address)
    assert replay.made_by is not None
    assert replay.captured_by is not None
    assert [frame.function for frame in replay.made_by.frames[:2]] == [
        "tensor",
        "test_the_explanation_names_the_buffer_and_its_advice_helps",
    ]
    assert replay.captured_by.frames[0].function == "capture"
    assert (before, after) == (2, 2)


@pytest.mark.parametrize(
    ("name", "incident_count"),
    [
        ("resnet-trace", 0),
        ("unsafe-trace", 3),
        pytest.param("llama-8b", 0, marks=pytest.mark.slow),
        pytest.param("galaxy-70b", 0, marks=pytest.mark.slow),
    ],
)
def test_only_the_workload_that_goes_wrong_has_unsafe_replays(
    name: str, incident_count: int, tracker: GraphTracker, journal: OwnJournal
) -> None:
    workload = WORKLOADS[name]
    with workload.open(tracker=tracker) as mesh:
        player = Player(mesh)
        for _ in player.play(workload.steps(mesh.chips[0])):
            if player.round_count == 5:
                break
        found = journal.unsafe_replays()
        repeats = [row["repeat_count"] for row in journal.process()["incidents"] if row["kind"] == UNSAFE_REPLAY]

    assert found == incident_count
    assert repeats[-incident_count:] == [2, 1, 0] if incident_count else True
