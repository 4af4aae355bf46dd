"""The model's running sums against a count of everything that is alive, after any sequence of what users do."""

from collections import Counter
from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.metal.operations import a_kernel
from ttmem.devices import BufferType, Kind, Pool
from ttmem.metal import (
    Buffer,
    ChipTruth,
    CoreRanges,
    MeshDevice,
    MeshRange,
    MeshWorkload,
    MetalError,
    Program,
    enqueue,
    launch,
    open_mesh,
    tensor,
)
from ttmem.metal.programs import CircularBuffer
from ttmem.metal.state.accounts import KERNEL_KINDS, POOLS, kernel_pool

PLACES = (None, MeshRange((0, 0), (0, 0)), MeshRange((0, 1), (0, 1)))
CORES = (CoreRanges.grid(8, 8), CoreRanges.grid(4, 8), CoreRanges.parse("4,0-7,3"), CoreRanges.at((0, 0), (7, 7)))
KINDS = (Kind.CIRCULAR_BUFFER, Kind.DATAFLOW_BUFFER, Kind.SCRATCHPAD)

actions = st.lists(
    st.tuples(st.sampled_from("abcdefgh"), st.integers(0, 3), st.integers(0, 3), st.integers(1, 60)), max_size=25
)


@dataclass
class Life:
    """A mesh and what somebody did with it."""

    mesh: MeshDevice
    buffers: list[Buffer] = field(default_factory=list)
    workloads: list[MeshWorkload] = field(default_factory=list)
    programs: list[Program] = field(default_factory=list)
    launches: list[tuple[int, Program]] = field(default_factory=list)  # chip, program

    def act(self, what: str, one: int, other: int, size: int) -> None:
        match what:
            case "a":
                kind = (BufferType.DRAM, BufferType.L1)[one % 2]
                spec = tensor((32 * 8 * size, 32 * (other + 1) * 8), "bfloat16", buffer_type=kind)
                self.buffers.append(self.mesh.create_buffer(spec))
            case "b" if self.buffers:
                self.buffers.pop(one % len(self.buffers)).deallocate()
            case "c":
                self._enqueue(MeshWorkload({PLACES[one % 3]: _program(other, size)}))
            case "d" if self.workloads:
                self._enqueue(self.workloads[one % len(self.workloads)])
            case "e" if self.workloads:
                self.workloads.pop(one % len(self.workloads)).destroy()
            case "f":
                self._launch(_program(one, size), PLACES[other % 3])
            case "g" if self.programs:
                self.programs.pop(one % len(self.programs)).destroy()
            case "h" if self.workloads:
                self._resize(self.workloads[one % len(self.workloads)], size)

    def _enqueue(self, workload: MeshWorkload) -> None:
        enqueue(self.mesh, workload)
        if workload not in self.workloads:
            self.workloads.append(workload)
        for where, program in workload.programs.items():
            self._count(program, where)

    def _launch(self, program: Program, where: MeshRange | None) -> None:
        launch(self.mesh, program, where)
        self.programs.append(program)
        self._count(program, where)

    def _resize(self, workload: MeshWorkload, size: int) -> None:
        [program] = workload.programs.values()
        if program.circular_buffers:
            program.resize(program.circular_buffers[0], 2048 * size)
            self._enqueue(workload)

    def _count(self, program: Program, where: MeshRange | None) -> None:
        chips = range(2) if where is None else [where.first[1]]
        self.launches += [(chip, program) for chip in chips]


def _program(shape: int, size: int) -> Program:
    """Kernels, circular buffers of all kinds, or none of either."""
    program = Program()
    cores = CORES[shape]
    if size % 5:
        program.add_kernel(a_kernel(200 * size, cores=cores, name=f"kernel{size % 3}"))
    for place in range(size % 4):
        kind = KINDS[place % 3]
        if kind is Kind.CIRCULAR_BUFFER:
            program.add_circular_buffer(CORES[(shape + place) % 4], 2048 * size, page_bytes=2048)
        elif kind is Kind.DATAFLOW_BUFFER:
            program.add_dataflow_buffer(cores, 2048 * size, page_bytes=2048)
        else:
            program.add_scratchpad(cores, 64 * size)
    return program


def is_on(program: Program, chip: int, mesh: MeshDevice) -> bool:
    return mesh.chips[chip] in program.place.chips


def alive(life: Life, chip: int) -> list[Program]:
    loaded = [program for workload in life.workloads for program in workload.programs.values()]
    return [program for program in [*loaded, *life.programs] if is_on(program, chip, life.mesh)]


def counted(life: Life, chip: int, system: ChipTruth) -> tuple[dict[Pool, int], dict[Kind, int]]:
    """Everything alive on a chip, counted one by one."""
    used, counts = Counter(system.used_bytes), Counter(system.counts)
    for buffer in life.mesh.buffers.values():
        used[POOLS[buffer.buffer_type]] += buffer.reserved_bytes
        is_trace = buffer.holds_trace and buffer.buffer_type is BufferType.DRAM
        other = Kind.TRACE_BUFFER if is_trace else Kind.BUFFER
        counts[Kind.PROGRAM_BINARY if buffer.program else other] += 1
    for program in alive(life, chip):
        for kernel in program.kernels:
            used[kernel_pool(program.kernel_type, kernel.core_type)] += kernel.size_bytes * kernel.core_count
            counts[KERNEL_KINDS[program.kernel_type]] += 1
        for one in program.circular_buffers:
            used[Pool.CB] += one.size_bytes * one.cores.core_count
            counts[one.kind] += 1
    return dict(+used), dict(+counts)


def per_core(buffers: list[CircularBuffer], core: tuple[int, int]) -> set[range]:
    return {range(one.address, one.address + one.size_bytes) for one in buffers if core in one.cores}


def union_bytes(ranges: set[range]) -> int:
    total = end = 0
    for one in sorted(ranges, key=lambda each: each.start):
        total += max(one.stop - max(one.start, end), 0)
        end = max(end, one.stop)
    return total


def footprints(life: Life, chip: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Planned and resident, core by core."""
    programs = alive(life, chip)
    ran = [program for where, program in life.launches if where == chip and program in programs]
    planned, resident = [], []
    for core in CORES[0]:
        planned.append(union_bytes({each for one in programs for each in per_core(one.circular_buffers, core)}))
        here = [one for one in ran if per_core(one.circular_buffers, core)]
        resident.append(union_bytes(per_core(here[-1].circular_buffers, core)) if here else 0)
    return (sum(planned), max(planned)), (sum(resident), max(resident))


@settings(max_examples=40, deadline=None)
@given(actions)
def test_running_sums_equal_a_count_of_what_is_alive(steps: list[tuple[str, int, int, int]]) -> None:
    with open_mesh("n300") as mesh:
        system = mesh.truth().chips
        life = Life(mesh)
        for step in steps:
            try:
                life.act(*step)
            except MetalError:  # refused: nothing may have changed, which the count will show
                break
            for chip, truth in enumerate(mesh.truth().chips):
                assert (dict(truth.used_bytes), dict(truth.counts)) == counted(life, chip, system[chip])
                assert truth.launch_count == sum(where == chip for where, _ in life.launches)
        for chip, truth in enumerate(mesh.truth().chips):
            assert (truth.cb_planned, truth.cb_resident) == footprints(life, chip)


@settings(max_examples=15, deadline=None)
@given(actions)
def test_the_allocator_and_the_books_agree(steps: list[tuple[str, int, int, int]]) -> None:
    with open_mesh("n300") as mesh:
        life = Life(mesh)
        for step in steps:
            try:
                life.act(*step)
            except MetalError:
                continue
        used = mesh.truth()[0].used_bytes
        for kind, pool in POOLS.items():
            bank = mesh.allocator.statistics(kind)
            assert bank.allocated_bytes * bank.bank_count == used.get(pool, 0)


@settings(max_examples=15, deadline=None)
@given(actions)
def test_after_everything_is_destroyed_only_the_system_is_left(steps: list[tuple[str, int, int, int]]) -> None:
    with open_mesh("n300") as mesh:
        before = [(chip.used_bytes, chip.counts) for chip in mesh.truth().chips]
        life = Life(mesh)
        for step in steps:
            try:
                life.act(*step)
            except MetalError:
                continue
        for buffer in life.buffers:
            buffer.deallocate()
        for workload in life.workloads:
            workload.destroy()
        for program in life.programs:
            program.destroy()

        after = mesh.truth().chips
        assert [(chip.used_bytes, chip.counts) for chip in after] == before
        assert {(chip.cb_planned_bytes, chip.cb_resident_bytes) for chip in after} == {(0, 0)}
        assert mesh.buffers == {}


def test_chips_with_the_same_programs_have_the_same_truth() -> None:
    with open_mesh("galaxy") as mesh:
        for size in range(1, 40):
            enqueue(mesh, MeshWorkload(_program(size % 4, size)))

        chips = mesh.truth().chips

        assert len(chips) == 32
        assert len({(chip.cb_planned, chip.cb_resident, chip.launch_count) for chip in chips}) == 1
        assert len({chip.used_bytes[Pool.KERNEL] for chip in chips}) == 1
