"""Opening and closing: which chips, which grid, who is told, and that nothing is left."""

import pytest

from tests.support.metal.heard import Heard, HeardAll
from tests.support.metal.operations import a_workload
from ttmem.devices import BufferType, Kind, Pool
from ttmem.metal import DispatchCores, MeshDevice, OutOfDeviceMemory, UnknownHardware, enqueue, open_device, open_mesh
from ttmem.metal.memory import BufferSpec
from ttmem.tracking import Cache, CacheOutcome, KernelType, RefusalKind, TrackedBuffer, TrackedDevice


def unique_ids(device: TrackedDevice) -> list[int]:
    return [chip.unique_id for chip in device.chips]


def test_a_device_is_a_mesh_of_one() -> None:
    with open_device("n150") as device:
        assert (device.shape, len(device.chips)) == ((1, 1), 1)
        assert device.chips[0].grid == (8, 8)


@pytest.mark.parametrize(
    ("board", "shape", "grid"),
    [("n300", (1, 2), (8, 8)), ("T3000", (2, 4), (8, 8)), ("WH Galaxy", (8, 4), (8, 9)), ("p300", (1, 2), (11, 10))],
)
def test_a_board_is_opened_whole(board: str, shape: tuple[int, int], grid: tuple[int, int]) -> None:
    with open_mesh(board) as mesh:
        assert mesh.shape == shape
        assert {chip.grid for chip in mesh.chips} == {grid}
        assert len(set(unique_ids(mesh))) == shape[0] * shape[1]


def test_part_of_a_board_is_a_rectangle_of_its_chips() -> None:
    with open_mesh("t3000", (2, 2), chip_offset=1) as mesh:
        assert [chip.index for chip in mesh.chips] == [1, 2, 5, 6]


def test_a_mesh_may_be_a_line_or_several_boards() -> None:
    with open_mesh("t3000", (1, 8)) as line, open_mesh("p150", (1, 4)) as boxes:
        assert [chip.index for chip in line.chips] == list(range(8))
        assert len(set(unique_ids(boxes))) == 4


@pytest.mark.parametrize(("shape", "offset"), [((0, 1), 0), ((1, -1), 0), ((1, 1), -1)])
def test_a_mesh_of_no_chips_is_refused(shape: tuple[int, int], offset: int) -> None:
    with pytest.raises(UnknownHardware, match="no mesh"):
        open_mesh("n150", shape, chip_offset=offset)


def test_every_device_has_an_id_of_its_own() -> None:
    with open_device("n150") as one, open_device("n150", index=1) as other:
        assert one.id != other.id


def test_a_tracker_overrides_only_the_calls_it_wants() -> None:
    heard = Heard()
    with open_device("n150", tracker=heard) as device:
        enqueue(device, a_workload(cb_bytes=2048))

    assert set(heard.names) == {"kernel", "cb", "allocate", "program", "cb_end", "kernel_end", "deallocate"}


def test_no_listener_is_needed() -> None:
    with open_device("n150", tracker=None) as device:
        enqueue(device, a_workload(cb_bytes=2048))

        assert device.truth()[0].launch_count == 1


def test_buffers_are_shown_where_they_are_made_and_freed() -> None:
    heard = HeardAll()
    with open_device("n150", tracker=heard) as device:
        heard.forget()
        buffer = device.create_buffer(BufferSpec(8192, 2048, BufferType.DRAM))
        told: TrackedBuffer = heard.of("allocate")[0].buffer
        assert (told.requested_bytes, told.reserved_bytes, told.program) == (8192, 12 * 2048, 0)

        buffer.deallocate()
        buffer.deallocate()

        assert heard.counts == {"allocate": 1, "deallocate": 1}


def test_memory_that_runs_out_is_shown_in_bytes_of_all_banks() -> None:
    heard = HeardAll()
    with open_device("n150", tracker=heard) as device:
        before = device.truth()[0]

        with pytest.raises(OutOfDeviceMemory) as refusal:
            device.create_buffer(BufferSpec(64 * 2_000_000, 2_000_000, BufferType.L1))

        [short] = heard.of("incident")
        assert (short.kind, short.pool, short.requested_bytes) == (RefusalKind.OUT_OF_MEMORY, Pool.L1, 64 * 2_000_000)
        assert short.free_bytes == short.largest_free_bytes == device.chips[0].capacity_bytes(Pool.L1)
        assert (short.per_bank_bytes, short.bank_count) == (2_000_000, 64)
        assert short.bank_free_bytes == short.bank_largest_free_bytes == short.free_bytes // 64
        assert short.space_end_address - short.space_begin_address == short.bank_free_bytes
        assert short.text == str(refusal.value)
        assert device.truth()[0] == before
        assert device.truth().refusal_count == 1


@pytest.mark.parametrize("board", ["n150", "p100"])
def test_a_refusal_shows_the_figures_of_the_allocator(board: str) -> None:
    heard = HeardAll()
    with open_device(board, tracker=heard) as device:
        bank_count = device.chips[0].dram_bank_count
        blocks = [device.create_buffer(BufferSpec(bank_count << 27, 1 << 27)) for _ in range(3)]
        blocks[1].deallocate()  # two stretches are free, and the upper one is the larger
        wanted = BufferSpec(bank_count * (1 << 12) * 1_000_000, 1 << 12)

        with pytest.raises(OutOfDeviceMemory) as refusal:
            device.create_buffer(wanted)

        figures, [told] = refusal.value.statistics, heard.of("incident")
        assert figures == device.allocator.statistics(BufferType.DRAM)
        assert figures.free_bytes == figures.largest_free_bytes + (1 << 27)
        assert (told.device, told.pool) == (device, Pool.DRAM)
        assert told.requested_bytes == (1 << 12) * 1_000_000 * bank_count
        assert told.free_bytes == device.chips[0].capacity_bytes(Pool.DRAM) - 2 * (bank_count << 27)
        assert told.largest_free_bytes == told.free_bytes - (bank_count << 27)
        assert (told.bank_free_bytes, told.bank_largest_free_bytes) == figures[3:]


def test_closing_ends_everything_and_shows_it_last() -> None:
    heard = HeardAll()
    mesh = open_mesh("n300", tracker=heard)
    buffer = mesh.create_buffer(BufferSpec(2048, 2048))
    kept = a_workload(1000)
    enqueue(mesh, kept)
    enqueue(mesh, mesh.program_cache.get("add", lambda: a_workload(2000)))

    mesh.close()
    mesh.close()

    opened, closed = heard.of("opened"), heard.of("closed")
    assert [call.device for call in closed] == [call.device for call in reversed(opened)]
    assert heard.calls[-1].device is mesh
    assert heard.counts["kernel"] == heard.counts["kernel_end"]
    assert (Cache.PROGRAM, CacheOutcome.EMPTIED) in [(call.cache, call.outcome) for call in heard.of("cache")]
    heard.forget()
    buffer.deallocate()
    kept.destroy()
    assert heard.calls == []


def test_a_closed_device_is_empty() -> None:
    mesh = open_mesh("n300", trace_region_bytes=1 << 20)
    mesh.create_buffer(BufferSpec(2048, 2048))
    enqueue(mesh, a_workload(cb_bytes=4096))
    mesh.end_trace(mesh.begin_trace())

    mesh.close()

    for chip in mesh.truth().chips:
        assert (chip.used_bytes, chip.counts, chip.cb_planned_bytes) == ({}, {}, 0)
    assert mesh.allocator.live_count == 0


def system(mesh: MeshDevice, kernel_type: KernelType) -> list[int]:
    """Bytes of system kernels on every chip."""
    return [chip.kernel_type_bytes.get(kernel_type, 0) for chip in mesh.truth().chips]


def test_a_chip_alone_has_prefetch_on_one_core_and_dispatch_on_another() -> None:
    heard = HeardAll()
    with open_device("n150", tracker=heard) as device:
        names = [call.facts.name for call in heard.of("kernel")]
        assert names == [
            "cq_prefetch",
            "cq_dispatch",
            "cq_dispatch_subordinate",
            "cq_dispatch_subordinate_compute",
        ]
        assert {call.cores for call in heard.of("kernel")} == {1}
        assert {call.type for call in heard.of("kernel")} == {KernelType.DISPATCH}
        program = device.system_programs[0]
        assert program.core_count == 2
        assert system(device, KernelType.DISPATCH) == [30_464 + 12_640 + 2320 + 1376]
        assert device.truth()[0].used_bytes == {Pool.DISPATCH: 46_800}


def test_dispatch_kernels_keep_off_the_compute_grid() -> None:
    for board, dispatch in (("n150", DispatchCores.TENSIX), ("p150", DispatchCores.TENSIX)):
        with open_device(board, dispatch=dispatch) as device:
            columns, rows = device.chips[0].grid
            cores = [core for kernel in device.system_programs[0].kernels for core in kernel.cores]
            assert all(x >= columns or y >= rows for x, y in cores)


def test_two_queues_have_twice_the_kernels() -> None:
    with open_device("n150", command_queue_count=2) as device:
        program = device.system_programs[0]
        assert (len(program.kernels), program.core_count) == (8, 4)


def test_slow_dispatch_has_no_dispatch_kernels() -> None:
    with open_device("n150", dispatch=DispatchCores.SLOW) as device:
        assert device.system_programs == []
        assert device.truth()[0].used_bytes == {}


def test_a_pair_of_chips_splits_the_queue_of_the_remote_one() -> None:
    with open_mesh("n300") as mesh:
        dispatch = [program for program in mesh.system_programs if program.kernel_type is KernelType.DISPATCH]

        assert [len(program.kernels) for program in dispatch] == [6, 4]
        assert [program.core_count for program in dispatch] == [6, 4]
        names = [kernel.name for kernel in dispatch[1].kernels]
        assert names == ["cq_prefetch_split", "cq_dispatch_split", "cq_dispatch_subordinate", "tt_fabric_mux"]


def test_a_pair_with_two_queues_on_ethernet_has_no_subordinates() -> None:
    with open_mesh("n300", command_queue_count=2) as mesh:
        names = {kernel.name for program in mesh.system_programs for kernel in program.kernels}

        assert "cq_dispatch_subordinate" not in names


def test_a_pair_with_two_queues_on_worker_cores_uses_the_whole_strip() -> None:
    with open_mesh("n300", dispatch=DispatchCores.TENSIX, command_queue_count=2) as mesh:
        serving, remote = (program for program in mesh.system_programs if program.kernel_type is KernelType.DISPATCH)

        assert (serving.core_count, remote.core_count) == (8, 5)
        assert len(serving.kernels) == 2 * 4 + 2 * 2 + 1


def test_dispatch_without_enough_cores_is_refused() -> None:
    with pytest.raises(UnknownHardware, match="0 ethernet cores to dispatch with, and 3 are needed"):
        open_mesh("galaxy", dispatch=DispatchCores.ETHERNET)


def test_a_chip_of_a_pair_opened_alone_serves_no_other() -> None:
    with open_device("n300") as device:
        assert [kernel.name for kernel in device.system_programs[0].kernels] == [
            "cq_prefetch",
            "cq_dispatch",
            "cq_dispatch_subordinate",
        ]


@pytest.mark.parametrize(
    ("board", "kernel_counts"),
    [("n300", {2}), ("t3000", {4, 6}), ("galaxy", {8, 12, 16}), ("p300", {4}), ("bh-galaxy", {16, 20})],
)
def test_fabric_has_a_kernel_per_router_and_processor(board: str, kernel_counts: set[int]) -> None:
    with open_mesh(board) as mesh:
        fabric = [program for program in mesh.system_programs if program.kernel_type is KernelType.FABRIC]

        assert len(fabric) == len(mesh.chips)
        assert {len(program.kernels) for program in fabric} <= kernel_counts
        assert all(kernel.core_count == 1 for program in fabric for kernel in program.kernels)
        for chip, program in zip(mesh.truth().chips, fabric, strict=True):
            assert chip.used_bytes[Pool.ETH] == sum(kernel.size_bytes for kernel in program.kernels)
            assert chip.counts[Kind.KERNEL_FABRIC] == len(program.kernels)


def test_there_is_no_fabric_without_links_or_when_not_asked_for() -> None:
    with open_device("p150", has_fabric=True) as alone, open_mesh("n300", has_fabric=False) as silent:
        assert system(alone, KernelType.FABRIC) == [0]
        assert system(silent, KernelType.FABRIC) == [0, 0]


def test_system_programs_are_shown_chip_by_chip() -> None:
    heard = HeardAll()
    with open_mesh("n300", tracker=heard) as mesh:
        for program in mesh.system_programs:
            told = [call for call in heard.of("kernel") if call.facts.program == program.id]
            assert len(told) == len(program.kernels)
            assert {len(call.device.chips) for call in told} == {1}
        assert heard.counts["launch"] == heard.counts["program"] == 0


def test_the_allocation_servers_rule_overstates_fabric_by_its_core_count() -> None:
    heard = HeardAll()
    with open_mesh("t3000", tracker=heard) as mesh:
        fabric = mesh.system_programs[0]
        told = [call for call in heard.of("kernel") if call.facts.program == fabric.id]

        exact = sum(call.facts.exact_bytes for call in told)
        seeds = sum(call.facts.binary_times_cores_bytes for call in told)
        assert exact == fabric.code_bytes
        assert seeds == fabric.payload_bytes(2048) * fabric.core_count
        assert seeds > (fabric.core_count - 1) * exact
