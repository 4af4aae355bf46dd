"""Random stories on the runtime model: whatever programs do, its truth, the ledger and the table say the same.

After every step of every story all figures of all chips are compared; when everything is destroyed and closed, nothing
is left.
"""

from collections.abc import Container, Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.support.tracked.agreement import Figures, TrueFigures, differences
from tests.support.tracked.own_journal import OwnJournal
from tests.support.tracked.places import place_differences
from tests.support.tracked.shown import ShownFigures, expected_in_table, in_table
from tests.support.tracked.told import ToldFigures
from ttmem import GraphTracker, metal
from ttmem.devices import BufferType
from ttmem.metal import (
    Allocation,
    BufferSpec,
    CoreRange,
    CoreRanges,
    Kernel,
    MeshRange,
    MeshWorkload,
    Processor,
    Program,
)
from ttmem.metal.memory import Layout, Sharding
from ttmem.metal.state.trace_storage import TraceMisplaced, TraceRegionFull
from ttmem.tracking import CoreType

# Board, shape, first chip; those of one line share chips and are never open together.
PLACES = (
    [("n150", (1, 1), 0)],
    [("n300", (1, 2), 0), ("n300", (1, 1), 1)],
    [("t3000", (2, 2), 0), ("t3000", (1, 4), 4)],
    [("p150", (1, 1), 0)],
    [("p300", (1, 2), 0)],
)
OPEN_MOST = 2
L1_SMALL_BYTES = 32_768
GRID = 8  # every chip has as many columns, and rows

choices = st.integers(0, 1 << 16)
kernel_sizes = st.one_of(st.sampled_from([160, 4000]), st.integers(1, 12_000))  # equal images happen
cb_sizes = st.integers(1, 2000).map(lambda count: count * 32)

Thing = TypeVar("Thing")


@st.composite
def core_sets(draw: st.DrawFn) -> CoreRanges:
    """One rectangle or two, which may overlap."""
    rectangles = []
    for _ in range(draw(st.integers(1, 2))):
        (x0, x1), (y0, y1) = (sorted(draw(st.tuples(*[st.integers(0, GRID - 2)] * 2))) for _ in range(2))
        rectangles.append(CoreRange(x0, y0, x1, y1))
    return CoreRanges(rectangles)


@st.composite
def kernels(draw: st.DrawFn) -> list[Kernel]:
    """Some for the processors of worker cores, perhaps two of a kind on different cores, perhaps one on ethernet."""
    found = []
    for processor in draw(st.lists(st.sampled_from([Processor.BRISC, Processor.NCRISC, Processor.TRISC]), max_size=3)):
        binaries = tuple(draw(kernel_sizes) for _ in range(processor.binary_count))
        name = draw(st.sampled_from(["reader", "writer", "compute"]))
        arguments = draw(st.integers(0, 40))
        found.append(
            Kernel(
                name=name,
                cores=draw(core_sets()),
                binaries=binaries,
                processor=processor,
                runtime_arg_count=arguments,
            )
        )
    if draw(st.integers(0, 5)) == 0:
        core_type = draw(st.sampled_from([CoreType.ACTIVE_ETH, CoreType.IDLE_ETH]))
        channels = CoreRanges.at(*((0, channel) for channel in range(draw(st.integers(1, 3)))))
        binaries = (draw(st.integers(1, 9000)),)
        found.append(
            Kernel(name="link", cores=channels, binaries=binaries, processor=Processor.ERISC, core_type=core_type)
        )
    return found


class Mesh:
    """An open mesh and what a story has made on it."""

    def __init__(self, line: int, device: metal.MeshDevice) -> None:
        self.line = line
        self.device = device
        self.buffers: list[metal.Buffer] = []
        self.workloads: list[MeshWorkload] = []
        self.programs: list[Program] = []  # launched by themselves, slow
        self.traces: list[int] = []
        self.capture: int | None = None


class Stories(RuleBasedStateMachine):
    """What a program may do with the runtime, in any order."""

    journal: OwnJournal  # set by the test that runs the stories

    def __init__(self) -> None:
        super().__init__()
        self.tracker = GraphTracker()
        self.meshes: list[Mesh] = []
        self.true = TrueFigures()
        self.told = ToldFigures(self.journal)
        self.shown = ShownFigures(self.journal.directory)
        self.findings = self.journal.findings()

    def teardown(self) -> None:
        try:
            for mesh in list(self.meshes):
                self._destroy_everything(mesh)
                self.agreement()
                self._close(mesh)
            self.agreement()
            assert self.journal.live_count() == 0
            assert self.journal.open_chips() == set()
            assert self.tracker.fault_count == 0
        finally:
            self.tracker.close()  # the next story is told in the same journal

    @invariant()
    def agreement(self) -> None:
        true = self.true.figures()
        assert differences(self.told.figures(true), true) == []
        assert self.journal.findings() == self.findings
        snapshot = self.shown.look()
        assert place_differences(snapshot, [mesh.device for mesh in self.meshes]) == []
        in_json = self.shown.in_json(snapshot)
        assert differences(in_json, {chip: _only(figures, in_json[chip]) for chip, figures in true.items()}) == []
        rows = dict(zip(in_json, in_table(snapshot), strict=True))
        for chip, figures in true.items():
            expected = expected_in_table(figures)
            assert {pool: rows[chip].get(pool) for pool in expected} == expected

    # ---- devices

    @initialize(choice=choices)
    def first_mesh(self, choice: int) -> None:
        self._open(choice, has_trace_region=bool(choice & 1), has_l1_small=bool(choice & 2), is_hybrid=bool(choice & 4))

    @rule(choice=choices, has_trace_region=st.booleans(), has_l1_small=st.booleans(), is_hybrid=st.booleans())
    @precondition(lambda self: len(self.meshes) < OPEN_MOST)
    def another_mesh(self, choice: int, has_trace_region: bool, has_l1_small: bool, is_hybrid: bool) -> None:
        self._open(choice, has_trace_region=has_trace_region, has_l1_small=has_l1_small, is_hybrid=is_hybrid)

    def _open(self, choice: int, *, has_trace_region: bool, has_l1_small: bool, is_hybrid: bool) -> None:
        free = [line for line in range(len(PLACES)) if line not in [mesh.line for mesh in self.meshes]]
        line = free[choice % len(free)]
        board, shape, offset = PLACES[line][choice // len(free) % len(PLACES[line])]
        device = metal.open_mesh(
            board,
            shape,
            chip_offset=offset,
            tracker=self.tracker,
            l1_small_bytes=L1_SMALL_BYTES if has_l1_small else 0,
            trace_region_bytes=1 << 20 if has_trace_region else 0,
            is_hybrid=is_hybrid,
        )
        self.meshes.append(Mesh(line, device))
        self.true.opened(device)

    @rule(choice=choices, is_tidy=st.booleans())
    @precondition(lambda self: len(self.meshes) > 1)
    def close(self, choice: int, is_tidy: bool) -> None:
        mesh = self._mesh(choice)
        if is_tidy:
            self._destroy_everything(mesh)
        self._close(mesh)
        for workload in mesh.workloads:  # too late, and no finding
            workload.destroy()
        for buffer in mesh.buffers:
            buffer.deallocate()

    def _close(self, mesh: Mesh) -> None:
        mesh.device.close()
        self.true.closed(mesh.device)
        self.meshes.remove(mesh)

    def _destroy_everything(self, mesh: Mesh) -> None:
        """Afterwards only the programs of the system are there."""
        if mesh.capture is not None:
            with tolerated():
                mesh.traces.append(mesh.device.end_trace(mesh.capture).id)
            mesh.capture = None
        while mesh.traces:
            mesh.device.release_trace(mesh.traces.pop())
        while mesh.workloads:
            mesh.workloads.pop().destroy()
        while mesh.programs:
            mesh.device.release_program(mesh.programs.pop())
        while mesh.buffers:
            mesh.buffers.pop().deallocate()

    # ---- buffers

    @rule(choice=choices, pages=st.integers(1, 4000), page_bytes=st.sampled_from([32, 1088, 2048, 5000]))
    def create_buffer(self, choice: int, pages: int, page_bytes: int) -> None:
        kind = [BufferType.DRAM, BufferType.L1, BufferType.TRACE][choice % 3]
        self._create(choice // 3, BufferSpec(pages * page_bytes, page_bytes, kind))

    @rule(choice=choices, shards=st.integers(1, 56), pages=st.integers(1, 40), is_small=st.booleans())
    def create_sharded_buffer(self, choice: int, shards: int, pages: int, is_small: bool) -> None:
        kind = BufferType.L1_SMALL if is_small else BufferType.L1
        sharding = Sharding(shards, pages)
        self._create(choice, BufferSpec(shards * pages * 1024, 1024, kind, Layout.HEIGHT_SHARDED, sharding))

    @rule(
        choice=choices,
        cores=core_sets(),
        pages=st.integers(1, 400),
        page_bytes=st.sampled_from([1024, 1040]),
        allocation=st.sampled_from([*Allocation, Allocation.PER_CORE]),
    )
    def create_buffer_on_cores(
        self, choice: int, cores: CoreRanges, pages: int, page_bytes: int, allocation: Allocation
    ) -> None:
        sharding = Sharding(cores.core_count, pages, cores=tuple(cores))
        size_bytes = cores.core_count * pages * page_bytes
        layout = Layout.HEIGHT_SHARDED
        self._create(choice, BufferSpec(size_bytes, page_bytes, BufferType.L1, layout, sharding, allocation))

    def _create(self, choice: int, spec: BufferSpec) -> None:
        mesh = self._mesh(choice)
        with tolerated():
            mesh.buffers.append(mesh.device.create_buffer(spec))

    @rule(choice=choices)
    def free_buffer(self, choice: int) -> None:
        mesh = self._mesh(choice)
        if mesh.buffers:
            _taken(mesh.buffers, choice).deallocate()

    # ---- programs

    @rule(choice=choices, made=kernels(), cbs=st.lists(st.tuples(core_sets(), cb_sizes), max_size=3), data=st.data())
    def run_fast(self, choice: int, made: list[Kernel], cbs: list[tuple[CoreRanges, int]], data: st.DataObject) -> None:
        mesh = self._mesh(choice)
        rows, columns = mesh.device.shape
        program = self._program(mesh, made, cbs, data)
        workload = MeshWorkload(program)
        if columns > 1 and data.draw(st.booleans()):  # one program for the first column, another for the rest
            first, rest = MeshRange((0, 0), (rows - 1, 0)), MeshRange((0, 1), (rows - 1, columns - 1))
            workload = MeshWorkload({first: program, rest: self._program(mesh, data.draw(kernels()), [], data)})
        with tolerated():
            metal.enqueue(mesh.device, workload)
            mesh.workloads.append(workload)

    @rule(choice=choices, made=kernels(), cbs=st.lists(st.tuples(core_sets(), cb_sizes), max_size=3), data=st.data())
    def run_slow(self, choice: int, made: list[Kernel], cbs: list[tuple[CoreRanges, int]], data: st.DataObject) -> None:
        mesh = self._mesh(choice)
        program = self._program(mesh, made, cbs, data)
        with tolerated():
            metal.launch(mesh.device, program)
            mesh.programs.append(program)

    def _program(
        self, mesh: Mesh, made: list[Kernel], cbs: list[tuple[CoreRanges, int]], data: st.DataObject
    ) -> Program:
        program = Program()
        for kernel in made:
            with tolerated():
                program.add_kernel(kernel)
        for cores, size_bytes in cbs:
            add = data.draw(st.sampled_from(["circular_buffer", "circular_buffer", "dataflow_buffer", "scratchpad"]))
            getattr(program, f"add_{add}")(cores, size_bytes)
        in_l1 = [buffer for buffer in mesh.buffers if buffer.buffer_type is BufferType.L1]
        is_global = data.draw(st.booleans())
        if in_l1 and is_global:
            buffer = data.draw(st.sampled_from(in_l1))
            with tolerated():
                program.add_circular_buffer(CoreRanges.grid(2, 2), buffer.per_bank_bytes, buffer=buffer)
        return program

    @rule(choice=choices, times=st.integers(1, 9))
    def run_again(self, choice: int, times: int) -> None:
        mesh = self._mesh(choice)
        for _ in range(times):
            with tolerated():
                if mesh.workloads and choice & 1:
                    metal.enqueue(mesh.device, mesh.workloads[choice % len(mesh.workloads)])
                elif mesh.programs:
                    metal.launch(mesh.device, mesh.programs[choice % len(mesh.programs)])

    @rule(choice=choices, size_bytes=cb_sizes)
    def resize_a_circular_buffer(self, choice: int, size_bytes: int) -> None:
        mesh = self._mesh(choice)
        programs = [program for workload in mesh.workloads for program in workload.programs.values()]
        local = [(program, cb) for program in programs for cb in program.circular_buffers if not cb.is_global]
        if local:
            program, circular_buffer = local[choice % len(local)]
            with tolerated():
                program.resize(circular_buffer, size_bytes)

    @rule(choice=choices)
    def destroy(self, choice: int) -> None:
        mesh = self._mesh(choice)
        if mesh.workloads:
            _taken(mesh.workloads, choice).destroy()
        elif mesh.programs:
            mesh.device.release_program(_taken(mesh.programs, choice))

    @rule(choice=choices, key=st.integers(0, 3), made=kernels())
    def run_cached(self, choice: int, key: int, made: list[Kernel]) -> None:
        mesh = self._mesh(choice)
        with tolerated():
            program = Program()
            for kernel in made:
                program.add_kernel(kernel)
            cache = mesh.device.program_cache
            metal.enqueue(mesh.device, cache.get(key, lambda: MeshWorkload(program)))

    @rule(choice=choices)
    def clear_the_program_cache(self, choice: int) -> None:
        mesh = self._mesh(choice)
        if mesh.capture is None and not mesh.traces:
            mesh.device.program_cache.clear()

    @rule(choice=choices)
    def read_back(self, choice: int) -> None:
        mesh = self._mesh(choice)
        if mesh.buffers:
            mesh.device.read(mesh.buffers[choice % len(mesh.buffers)])

    # ---- traces

    @rule(choice=choices)
    def begin_or_end_a_trace(self, choice: int) -> None:
        mesh = self._mesh(choice)
        if mesh.capture is None:
            mesh.capture = mesh.device.begin_trace()
            return
        capture, mesh.capture = mesh.capture, None
        with tolerated():
            mesh.traces.append(mesh.device.end_trace(capture).id)

    @rule(choice=choices, is_last=st.booleans())
    def replay_or_release(self, choice: int, is_last: bool) -> None:
        mesh = self._mesh(choice)
        if not mesh.traces:
            return
        if is_last:
            mesh.device.release_trace(_taken(mesh.traces, choice))
            return
        with tolerated():
            mesh.device.replay_trace(mesh.traces[choice % len(mesh.traces)])

    def _mesh(self, choice: int) -> Mesh:
        return self.meshes[choice % len(self.meshes)]


@contextmanager
def tolerated() -> Iterator[None]:
    """The runtime may refuse; then nothing may have changed, which the next comparison finds out."""
    with suppress(metal.MetalError, TraceMisplaced, TraceRegionFull):
        yield


def _only(figures: Figures, names: Container[str]) -> Figures:
    """Those that are shown; single allocations are in `ttmem dump`."""
    return {name: figure for name, figure in figures.items() if name in names}


def _taken(things: list[Thing], choice: int) -> Thing:
    return things.pop(choice % len(things))


def _stories(journal: OwnJournal, examples: int, steps: int) -> None:
    Stories.journal = journal
    run_state_machine_as_test(
        Stories,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.explicit, Phase.generate],  # making a long story shorter takes longer than its length helps
        ),
    )


def test_whatever_programs_do_truth_and_ledger_and_table_agree(journal: OwnJournal) -> None:
    _stories(journal, examples=5, steps=20)


@pytest.mark.slow
def test_long_stories_come_out_as_true_as_short_ones(journal: OwnJournal) -> None:
    _stories(journal, examples=40, steps=60)
