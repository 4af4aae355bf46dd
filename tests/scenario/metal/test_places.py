"""The map and the kernels of a chip, against the runtime model's own block tables and truth."""

import os
import random
from collections.abc import Iterator

import pytest

from tests.support.tracked.own_journal import OwnJournal
from tests.support.tracked.places import map_differences
from ttmem import GraphTracker, metal
from ttmem.collector import Collector
from ttmem.devices import BinaryStatus, BufferType, Kind, Pool
from ttmem.metal import Allocation, BufferSpec, CoreRanges, Kernel, Layout, MeshWorkload, Processor
from ttmem.metal.memory import Sharding
from ttmem.sources import Places
from ttmem.tracking import CoreType, FoundBy

STEPS, LOOK_EVERY = 300, 30
KINDS = (BufferType.DRAM, BufferType.DRAM, BufferType.L1, BufferType.TRACE)


@pytest.fixture
def collector(journal: OwnJournal) -> Iterator[Collector]:
    with Collector(Places(uid=os.geteuid(), directory=str(journal.directory))) as one:
        assert one.wait_settled(5)
        yield one


def a_workload(dice: random.Random) -> MeshWorkload:
    """One with circular buffers on some cores."""
    columns, rows = dice.randint(1, 7), dice.randint(1, 7)
    program = metal.Program()
    program.add_circular_buffer(CoreRanges.grid(columns, rows), 32 * dice.randint(1, 2000))
    program.add_kernel(Kernel(name="reader", cores=CoreRanges.grid(columns, rows), binaries=(dice.randint(1, 9000),)))
    return MeshWorkload(program)


def a_buffer_on_cores(dice: random.Random) -> BufferSpec:
    """Shards on a row of cores, allocated in any way."""
    cores = [(column, dice.randrange(7)) for column in range(dice.randint(1, 7))]
    sharding = Sharding(len(cores), dice.randint(1, 30), cores=tuple(cores))
    size_bytes = 2048 * sharding.pages_per_shard * len(cores)
    allocation = dice.choice([*Allocation])
    return BufferSpec(size_bytes, 2048, BufferType.L1, Layout.HEIGHT_SHARDED, sharding, allocation)


@pytest.mark.parametrize(("board", "is_hybrid"), [("n300", False), ("p150", False), ("n300", True)])
def test_a_map_shows_what_the_allocator_has_at_every_look(
    board: str, is_hybrid: bool, tracker: GraphTracker, collector: Collector
) -> None:
    dice = random.Random(board)
    buffers: list[metal.Buffer] = []
    workloads: list[MeshWorkload] = []
    with metal.open_mesh(
        board, tracker=tracker, l1_small_bytes=32_768, trace_region_bytes=1 << 24, is_hybrid=is_hybrid
    ) as mesh:
        for step in range(1, STEPS + 1):
            if buffers and dice.random() < 0.4:
                buffers.pop(dice.randrange(len(buffers))).deallocate()
            else:
                spec = BufferSpec(2048 * dice.randint(1, 600), 2048, dice.choice(KINDS))
                buffers.append(mesh.create_buffer(a_buffer_on_cores(dice) if is_hybrid and step % 2 else spec))
            if step % 20 == 0:
                workloads.append(a_workload(dice))
                metal.enqueue(mesh, workloads[-1])
            if step % LOOK_EVERY == 0:
                collector.tick()
                for place, chip in enumerate(mesh.chips):
                    assert map_differences(collector.chip(f"{chip.unique_id:#x}"), mesh, place) == []
        for workload in workloads:
            workload.destroy()
        for buffer in buffers:
            buffer.deallocate()


def test_kernels_are_listed_with_what_their_programs_did(tracker: GraphTracker, collector: Collector) -> None:
    cores = CoreRanges.grid(4, 4)
    program = metal.Program()
    program.add_kernel(Kernel(name="reader", cores=cores, binaries=(2352,), processor=Processor.NCRISC))
    program.add_kernel(Kernel(name="sfpu", cores=cores, binaries=(1500, 2100, 1700), processor=Processor.TRISC))
    with metal.open_device("n150", tracker=tracker) as device:
        workload = MeshWorkload(program)
        for _ in range(3):
            metal.enqueue(device, workload)
        collector.tick()
        word = f"{device.chips[0].unique_id:#x}"
        table, cut = collector.kernels(word, 0), collector.kernels(word, 1)
        true = device.truth()[0]
        workload.destroy()

    [reader] = [row for row in table.rows if row.name == "reader"]
    assert (reader.binary_bytes, reader.core_count, reader.binary_times_cores_bytes) == (
        2352,
        16,
        4096 * 16,
    )  # whole pages
    assert (reader.kind, reader.found_by, reader.core_type) == (
        Kind.KERNEL_APPLICATION,
        FoundBy.OWNER,
        CoreType.TENSIX,
    )
    assert (reader.status, reader.launch_count, reader.cache_hit_count) == (BinaryStatus.COMMITTED, 3, 2)
    assert reader.pid == os.getpid()
    own = [row for row in table.rows if row.program == reader.program]
    assert sum(row.exact_bytes or 0 for row in own) == true.used_bytes[Pool.KERNEL]
    sizes = [row.charged_bytes or 0 for row in table.rows]
    assert sizes == sorted(sizes, reverse=True)
    assert (len(cut.rows), cut.more_count) == (1, len(table.rows) - 1)
    assert table.more_count == 0
    assert table.activity.rings


def test_buffers_on_other_cores_may_have_the_same_address(tracker: GraphTracker, journal: OwnJournal) -> None:
    """A refusal makes the two chips differ, so each is reported by itself; range lockstep lies beside, for both."""

    def on(cores: str, core_bytes: int, allocation: Allocation) -> BufferSpec:
        places = tuple(CoreRanges.parse(cores))
        sharding = Sharding(len(places), core_bytes // 1024, cores=places)
        size_bytes = core_bytes * len(places)
        return BufferSpec(size_bytes, 1024, BufferType.L1, Layout.HEIGHT_SHARDED, sharding, allocation)

    with metal.open_mesh("n300", tracker=tracker, is_hybrid=True) as mesh:
        full = mesh.create_buffer(on("2,0-2,0", 1_024_000, Allocation.PER_CORE))
        with pytest.raises(metal.OutOfDeviceMemory):
            mesh.create_buffer(on("0,0-3,0", 512_000, Allocation.PER_CORE))
        own = mesh.create_buffer(on("0,0-3,0", 8192, Allocation.PER_CORE))
        beside = mesh.create_buffer(on("5,0-5,0", 8192, Allocation.RANGE_LOCKSTEP))
        assert own.core_parts[0] != own.core_parts[1]
        assert beside.address == own.address_on((3, 0))
        for place, chip in enumerate(mesh.chips):
            assert journal.used(chip.unique_id)[Pool.L1] == mesh.truth()[place].used_bytes[Pool.L1]
        assert "overlap" not in journal.findings()
        for buffer in (full, own, beside):
            buffer.deallocate()
        assert Pool.L1 not in journal.used(mesh.chips[0].unique_id)
