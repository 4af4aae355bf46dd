"""Kernels, circular buffers and meshes by the allocation server protocol, on the runtime model, read from the ledger.

The figures are those of docs/understanding/rules.md.
"""

from collections.abc import Callable

import pytest

from tests.support.tracked.own_journal import OwnJournal
from tests.support.tracked.shown import ShownFigures
from ttmem import GraphTracker, metal
from ttmem.devices import BinaryStatus, BufferType, Kind, Pool
from ttmem.metal import (
    BufferSpec,
    CircularBufferClash,
    CoreRange,
    CoreRanges,
    DispatchCores,
    Kernel,
    MeshDevice,
    MeshRange,
    MeshWorkload,
    OutOfDeviceMemory,
    Processor,
    Program,
)
from ttmem.metal.memory import Layout, Sharding
from ttmem.tracking import Cache, KernelType

EXAMPLE_CODE = 18_400 * 56 + 17_776 * 8
EXAMPLE_PAYLOAD = 24_576
SERVER_RULE = EXAMPLE_PAYLOAD * 64

Open = Callable[..., MeshDevice]


@pytest.fixture
def opened(tracker: GraphTracker) -> Open:
    """Opens a mesh with a tracker, which closes it at the end."""

    def open_mesh(board: str = "n150", shape: tuple[int, int] | None = None, **options: object) -> MeshDevice:
        return metal.open_mesh(board, shape, tracker=tracker, **options)  # type: ignore[arg-type]

    return open_mesh


def an_example() -> Program:
    """Two kernel groups: the second reader is on the last row only."""
    program = Program()
    everywhere, most, last_row = CoreRanges.grid(8, 8), CoreRanges.grid(8, 7), CoreRanges([CoreRange(0, 7, 7, 7)])
    program.add_kernel(Kernel(name="writer", cores=everywhere, binaries=(2036,)))
    program.add_kernel(Kernel(name="reader a", cores=most, binaries=(3124,), processor=Processor.NCRISC))
    program.add_kernel(Kernel(name="reader b", cores=last_row, binaries=(2500,), processor=Processor.NCRISC))
    compute = (4000, 5300, 3900)
    program.add_kernel(Kernel(name="compute", cores=everywhere, binaries=compute, processor=Processor.TRISC))
    return program


def chip_of(mesh: MeshDevice, index: int = 0) -> int:
    return mesh.chips[index].unique_id


# ---- kernels


def test_a_program_costs_what_its_cores_hold(opened: Open, journal: OwnJournal) -> None:
    device = opened()

    metal.enqueue(device, MeshWorkload(an_example()))

    assert journal.kinds(chip_of(device))[Kind.KERNEL_APPLICATION] == (EXAMPLE_CODE, 4, False)
    assert EXAMPLE_CODE == 1_172_608
    told = [row[6] for row in journal.allocations(Kind.KERNEL_APPLICATION)]
    assert sum(told) == SERVER_RULE == 1_572_864  # what the older server would say is stored beside it


def test_the_first_run_of_a_program_is_charged(opened: Open, journal: OwnJournal) -> None:
    device = opened()
    assert Kind.KERNEL_APPLICATION not in journal.kinds(chip_of(device))

    metal.enqueue(device, MeshWorkload(an_example()))

    assert journal.used(chip_of(device))[Pool.KERNEL] == EXAMPLE_CODE


def test_a_cached_run_charges_nothing(opened: Open, journal: OwnJournal) -> None:
    device = opened()
    operation = device.program_cache
    metal.enqueue(device, operation.get("matmul", lambda: MeshWorkload(an_example())))
    before = journal.used(chip_of(device)), journal.live_count()

    for _ in range(99):
        metal.enqueue(device, operation.get("matmul", lambda: MeshWorkload(an_example())))

    assert (journal.used(chip_of(device)), journal.live_count()) == before
    assert journal.launches(chip_of(device)) == 100


def test_a_program_that_both_paths_report_is_charged_once(opened: Open, journal: OwnJournal) -> None:
    """Slow dispatch tells of kernels by `finalize_offsets` and again, at every launch, by `TrackKernelDispatch`."""
    device, program = opened(), an_example()

    for _ in range(3):
        metal.launch(device, program)

    assert journal.kinds(chip_of(device))[Kind.KERNEL_APPLICATION] == (EXAMPLE_CODE, 4, False)
    assert journal.findings() == {}


def test_slow_dispatch_charges_kernels_like_fast_dispatch(opened: Open, journal: OwnJournal) -> None:
    device = opened(dispatch=DispatchCores.SLOW)

    metal.enqueue(device, MeshWorkload(an_example()))

    assert journal.used(chip_of(device)) == {Pool.KERNEL: EXAMPLE_CODE}  # no binaries in DRAM


def test_destroying_a_program_unloads_it(opened: Open, journal: OwnJournal) -> None:
    device = opened()
    before = journal.used(chip_of(device)), journal.live_count()
    workload = MeshWorkload(an_example())
    metal.enqueue(device, workload)

    workload.destroy()

    assert (journal.used(chip_of(device)), journal.live_count(), journal.findings()) == (*before, {})


def test_system_kernels_are_there_once_a_device_is_open(opened: Open, journal: OwnJournal) -> None:
    alone, pair = opened("n150"), opened("n300")

    assert journal.used(chip_of(alone)) == {Pool.DISPATCH: 46_800}
    for index in range(2):
        kinds = journal.kinds(chip_of(pair, index))
        assert set(kinds) == {Kind.KERNEL_FABRIC, Kind.KERNEL_DISPATCH}
        assert kinds[Kind.KERNEL_FABRIC][0] == journal.used(chip_of(pair, index))[Pool.ETH]


def test_each_router_holds_its_own_kernel_only(opened: Open, journal: OwnJournal) -> None:
    mesh = opened("t3000")

    rows = journal.allocations(Kind.KERNEL_FABRIC, chip_of(mesh))

    assert len(rows) == mesh.chips[0].router_count == 4
    assert [row[9] for row in rows] == [1] * 4  # cores
    assert (sum(row[5] for row in rows), sum(row[6] for row in rows)) == (37_760, 163_840)


def test_a_dispatch_program_is_known_without_the_size_the_older_server_knows_it_by(
    opened: Open, journal: OwnJournal
) -> None:
    device = opened("n150")

    rows = journal.allocations(Kind.KERNEL_DISPATCH, chip_of(device))

    assert sum(row[5] for row in rows) == 46_800
    assert sum(row[6] for row in rows) == 55_296 * 2  # 27 pages; the older server looks for 23


def test_l1_counts_the_ring_once_however_many_kernels_are_loaded(opened: Open, journal: OwnJournal) -> None:
    device = opened()
    buffer = device.create_buffer(BufferSpec(2048 * 64, 2048, BufferType.L1))

    for _ in range(40):
        metal.enqueue(device, MeshWorkload(an_example()))

    snapshot = ShownFigures(journal.directory).look()
    [usage] = [usage for usage in snapshot.devices if usage.device.unique_id == chip_of(device)]
    assert (usage.l1_used_bytes, usage.kernel_ring_bytes) == (buffer.reserved_bytes, 4_521_984)
    assert (usage.planned_core_bytes, usage.planned_core) == (70_656 + buffer.per_bank_bytes, None)  # as all others
    assert usage.core_bytes == 70_656 + device.allocator.statistics(BufferType.L1).bank_bytes
    [kernels] = [kind for kind in usage.kernels if kind.kind is Kind.KERNEL_APPLICATION]
    assert kernels.used_bytes == 40 * EXAMPLE_CODE  # an inventory


def test_a_second_program_with_the_same_images_is_counted_as_copies(opened: Open, journal: OwnJournal) -> None:
    device = opened(dispatch=DispatchCores.TENSIX)
    before = journal.caches(chip_of(device))[Cache.IMAGE].state

    for _ in range(2):
        metal.enqueue(device, MeshWorkload(an_example()))

    entries, held_bytes, shared_bytes = journal.caches(chip_of(device))[Cache.IMAGE].state
    assert (entries - before[0], held_bytes - before[1], shared_bytes) == (4, EXAMPLE_PAYLOAD, EXAMPLE_PAYLOAD)
    assert journal.used(chip_of(device))[Pool.DRAM] == 2 * EXAMPLE_PAYLOAD


# ---- programs


@pytest.mark.parametrize(("board", "bank_count", "reserved_bytes"), [("n150", 12, 24_576), ("p150", 8, 32_768)])
def test_binaries_take_the_same_pages_in_every_bank(
    opened: Open, journal: OwnJournal, board: str, bank_count: int, reserved_bytes: int
) -> None:
    device, workload = opened(board), MeshWorkload(an_example())
    assert device.chips[0].dram_bank_count == bank_count

    metal.enqueue(device, workload)

    assert journal.used(chip_of(device))[Pool.DRAM] == reserved_bytes
    assert journal.programs(chip_of(device)) == {workload.id: (BinaryStatus.COMMITTED.number, 1, reserved_bytes)}
    assert journal.allocations(Kind.BUFFER) == []


@pytest.mark.parametrize("dispatch", [DispatchCores.TENSIX, DispatchCores.SLOW])
def test_a_launch_is_counted_once_by_either_path(opened: Open, journal: OwnJournal, dispatch: DispatchCores) -> None:
    device, workload = opened(dispatch=dispatch), MeshWorkload(an_example())

    for _ in range(5):
        metal.enqueue(device, workload)

    assert journal.launches(chip_of(device)) == 5
    assert journal.programs(chip_of(device))[workload.id][1] == 5


def test_a_cached_run_sends_its_binaries_again(opened: Open, journal: OwnJournal) -> None:
    device, workload = opened(), MeshWorkload(an_example())

    for _ in range(5):
        metal.enqueue(device, workload)

    answers = journal.caches(chip_of(device))[Cache.PREFETCHER]
    assert (answers.misses, answers.hits) == (1, 4)  # Committed after the first, and asked for each time


def test_only_a_replayed_trace_leaves_binaries_out(opened: Open, journal: OwnJournal) -> None:
    device, workload = opened(), MeshWorkload(an_example())
    metal.enqueue(device, workload)
    trace = device.begin_trace()
    for _ in range(3):
        metal.enqueue(device, workload)
    device.end_trace(trace)
    before = journal.used(chip_of(device))

    device.replay_trace(trace)

    answers = journal.caches(chip_of(device))[Cache.TRACE]
    assert (answers.misses, answers.hits) == (1, 2)
    assert journal.used(chip_of(device)) == before
    assert journal.launches(chip_of(device)) == 1 + 3


@pytest.mark.parametrize(("region_bytes", "pool"), [(0, Pool.DRAM), (1 << 20, Pool.TRACE)])
def test_a_trace_is_charged_where_it_is_stored(
    opened: Open, journal: OwnJournal, region_bytes: int, pool: Pool
) -> None:
    device, workload = opened(trace_region_bytes=region_bytes), MeshWorkload(an_example())
    metal.enqueue(device, workload)
    before = journal.used(chip_of(device)).get(pool, 0)
    trace = device.begin_trace()
    metal.enqueue(device, workload)

    stored = device.end_trace(trace).buffer

    assert stored.requested_bytes == 1024
    assert journal.used(chip_of(device))[pool] == before + 12_288
    device.replay_trace(trace)
    assert journal.used(chip_of(device))[pool] == before + 12_288
    device.release_trace(trace)
    assert journal.used(chip_of(device)).get(pool, 0) == before


# ---- circular buffers


def test_circular_buffers_of_cached_programs_share_their_bytes(opened: Open, journal: OwnJournal) -> None:
    device = opened()
    for _ in range(3):
        program = an_example()
        program.add_circular_buffer(CoreRanges.grid(8, 8), 65_536)
        metal.enqueue(device, MeshWorkload(program))

    assert journal.used(chip_of(device))[Pool.CB] == 12_582_912
    assert journal.footprint(chip_of(device)) == (4_194_304, 4_194_304, 65_536, 65_536)


def test_a_global_circular_buffer_is_listed_and_its_buffer_charged_once(opened: Open, journal: OwnJournal) -> None:
    device, program = opened(), an_example()
    sharding = Sharding(64, 1)
    spec = BufferSpec(131_072, 2048, BufferType.L1, Layout.HEIGHT_SHARDED, sharding)
    buffer = device.create_buffer(spec)
    program.add_circular_buffer(CoreRanges.grid(8, 8), 2048, buffer=buffer)

    metal.enqueue(device, MeshWorkload(program))

    used = journal.used(chip_of(device))
    assert (used[Pool.L1], used[Pool.CB]) == (131_072, 0)
    assert journal.kinds(chip_of(device))[Kind.CIRCULAR_BUFFER] == (0, 1, False)


# ---- buffers and devices


def test_a_buffer_takes_its_share_in_every_bank(opened: Open, journal: OwnJournal) -> None:
    device = opened()

    device.create_buffer(BufferSpec(117_440_512, 2048))
    device.create_buffer(BufferSpec(16_384, 2048, BufferType.L1, Layout.HEIGHT_SHARDED, Sharding(8, 1)))

    used = journal.used(chip_of(device))
    assert (used[Pool.DRAM], used[Pool.L1]) == (117_448_704, 131_072)
    rows = {row[3]: (row[6], row[8]) for row in journal.allocations(Kind.BUFFER)}
    assert rows == {Pool.DRAM: (117_440_512, 9_787_392), Pool.L1: (16_384, 2048)}


def test_refusals_are_shown_with_the_figures_of_the_allocator(opened: Open, journal: OwnJournal) -> None:
    device = opened("p100", trace_region_bytes=1 << 20)
    told_before, clashes_before = (len(journal.rows()[name]) for name in ("out_of_memory", "clashes"))
    holes = [device.create_buffer(BufferSpec(1 << 30, 1 << 20)) for _ in range(3)]
    holes[1].deallocate()
    low = device.create_buffer(BufferSpec(device.chips[0].l1_bank_count * 1_000_000, 1_000_000, BufferType.L1))
    program = an_example()
    program.add_circular_buffer(CoreRanges.grid(8, 8), 600_000)

    expected: list[tuple[Pool, int, int, int]] = []
    for pool, spec in (
        (Pool.DRAM, BufferSpec(1 << 36, 1 << 20)),
        (Pool.L1, BufferSpec(1 << 28, 1 << 20, BufferType.L1)),
        (Pool.TRACE, BufferSpec(1 << 22, 2048, BufferType.TRACE)),
    ):
        with pytest.raises(OutOfDeviceMemory) as refusal:
            device.create_buffer(spec)
        bank = device.allocator.statistics(spec.buffer_type)
        requested = refusal.value.requested_bytes
        expected.append((pool, requested, bank.free_bytes * bank.bank_count, bank.largest_free_bytes * bank.bank_count))
    with pytest.raises(CircularBufferClash):
        metal.enqueue(device, MeshWorkload(program))

    rows = journal.rows()["out_of_memory"][told_before:]
    assert [(Pool.numbered(row[2]), *row[3:6]) for row in rows] == expected
    _, _, free, largest = expected[0]
    assert largest < free
    assert device.truth().refusal_count == len(rows)
    [clash] = journal.rows()["clashes"][clashes_before:]
    base = device.architecture.l1_unreserved_base
    assert clash[2:5] == (program.id, base + 600_000, low.address)
    assert device.truth().clash_count == 1


def test_every_chip_of_a_mesh_holds_a_programs_kernels(opened: Open, journal: OwnJournal) -> None:
    mesh = opened("t3000")
    before = journal.live_count()

    metal.enqueue(mesh, MeshWorkload(an_example()))

    used = [journal.used(chip.unique_id)[Pool.KERNEL] for chip in mesh.chips]
    assert used == [EXAMPLE_CODE] * 8
    assert journal.live_count() - before == 4 + 1  # four kernels, and the program with its binaries


def test_a_program_for_some_chips_is_charged_on_those(opened: Open, journal: OwnJournal) -> None:
    mesh, other = opened("n300"), Program()
    other.add_kernel(Kernel(name="other", cores=CoreRanges.grid(1, 1), binaries=(160,)))
    first, second = MeshRange((0, 0), (0, 0)), MeshRange((0, 1), (0, 1))

    metal.enqueue(mesh, MeshWorkload({first: an_example(), second: other}))

    used = [journal.used(chip.unique_id)[Pool.KERNEL] for chip in mesh.chips]
    assert used == [EXAMPLE_CODE, 160]


def test_capacity_is_that_of_the_chips_banks(opened: Open, journal: OwnJournal) -> None:
    wormhole, blackhole = opened("n150"), opened("p150")

    capacities = {row["unique_id"]: row["capacities"] for row in journal.rows()["devices"]}

    assert capacities[chip_of(wormhole)][Pool.L1] == 89_171_968
    assert capacities[chip_of(blackhole)][Pool.L1] == 160_723_200


def test_fabric_and_dispatch_are_distinguished_from_the_application(opened: Open, journal: OwnJournal) -> None:
    device = opened("n300")

    metal.enqueue(device, MeshWorkload(an_example()))

    truth = device.truth()[0].kernel_type_bytes
    kinds = journal.kinds(chip_of(device))
    assert {kind: figures[0] for kind, figures in kinds.items() if kind.is_kernel} == {
        Kind.KERNEL_APPLICATION: truth[KernelType.APPLICATION],
        Kind.KERNEL_FABRIC: truth[KernelType.FABRIC],
        Kind.KERNEL_DISPATCH: truth[KernelType.DISPATCH],
    }


def test_caches_answer_as_they_should_over_two_runs(opened: Open, journal: OwnJournal) -> None:
    device = opened()
    before = journal.caches(chip_of(device))[Cache.JIT]

    for name in ("first", "first", "second"):  # the second compiles to the same images
        metal.enqueue(device, device.program_cache.get(name, lambda: MeshWorkload(an_example())))

    caches = journal.caches(chip_of(device))
    jit, programs, prefetcher = caches[Cache.JIT].since(before), caches[Cache.PROGRAM], caches[Cache.PREFETCHER]
    assert (jit.misses, jit.hits) == (4, 4)
    assert (programs.misses, programs.hits, programs.entries) == (2, 1, 2)
    assert (prefetcher.misses, prefetcher.hits, prefetcher.held_bytes) == (2, 1, 2 * EXAMPLE_PAYLOAD)
    assert journal.used(chip_of(device))[Pool.DRAM] == 2 * EXAMPLE_PAYLOAD
