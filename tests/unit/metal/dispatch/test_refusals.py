"""What is refused, in which words, and that a refusal leaves nothing half done."""

import pytest

from tests.support.metal.heard import HeardAll
from tests.support.metal.operations import a_kernel, a_program, a_workload
from ttmem.devices import BinaryStatus, BufferType, Pool
from ttmem.metal import (
    CircularBufferClash,
    CoreRanges,
    DispatchCores,
    MeshRange,
    MeshWorkload,
    OutOfDeviceMemory,
    Processor,
    Program,
    enqueue,
    open_device,
    open_mesh,
    tensor,
)
from ttmem.metal.memory import BufferSpec
from ttmem.metal.programs import CircularBufferMisfit, KernelMisfit, ProgramMisuse
from ttmem.tracking import CoreType, RefusalKind

GRID = CoreRanges.grid(8, 8)


def test_a_clash_leaves_nothing_behind() -> None:
    heard = HeardAll()
    with open_device("n150", tracker=heard) as device:
        device.create_buffer(tensor((64 * 32, 32 * 600), "bfloat16", buffer_type=BufferType.L1))
        before = device.truth()[0]
        heard.forget()
        workload = a_workload(cb_bytes=1_000_000)

        with pytest.raises(CircularBufferClash) as refused:
            enqueue(device, workload)

        after = device.truth()[0]
        assert (after.used_bytes, after.counts, after.launch_count) == (
            before.used_bytes,
            before.counts,
            before.launch_count,
        )
        assert {call.name for call in heard.calls} == {"cache", "incident"}
        [told] = heard.of("incident")
        assert (told.kind, told.pool, str(told.cores)) == (RefusalKind.CLASH, Pool.L1, "0,0-7,7")
        assert (told.cb_end_address, told.buffer_address) == (105_824 + 1_000_000, 1_499_136 - 600 * 2048)
        assert (told.space_begin_address, told.space_end_address) == (105_824, 1_499_136)
        assert told.program == workload.programs[None].id
        assert told.text == str(refused.value)
        assert (device.truth().clash_count, device.truth().refusal_count) == (1, 0)
        assert workload.status is BinaryStatus.NOT_SENT


def test_circular_buffers_beyond_the_end_of_l1_are_shown_as_a_clash_without_a_buffer() -> None:
    heard = HeardAll()
    with open_device("n150", tracker=heard) as device:
        with pytest.raises(CircularBufferMisfit, match="beyond max L1 size"):
            enqueue(device, a_workload(cb_bytes=2_000_000))

        [told] = heard.of("incident")
        assert (told.kind, told.cb_end_address, told.buffer_address) == (RefusalKind.CLASH, 105_824 + 2_000_000, 0)
        assert told.space_end_address == 1_499_136


def test_a_cached_program_clashes_when_an_l1_buffer_comes_too_low_and_runs_again_when_it_goes() -> None:
    with open_device("n150") as device:
        workload = a_workload(cb_bytes=1_000_000)
        enqueue(device, workload)
        large = device.create_buffer(tensor((64 * 32, 32 * 600), "bfloat16", buffer_type=BufferType.L1))
        lowest = device.allocator.lowest_l1_address

        with pytest.raises(CircularBufferClash, match=f"allocated at {lowest} and .* ends at 1105824"):
            enqueue(device, workload)
        assert device.truth()[0].launch_count == 1

        large.deallocate()
        enqueue(device, workload)
        assert device.truth()[0].launch_count == 2


def test_binaries_that_find_no_room_leave_nothing_behind() -> None:
    heard = HeardAll()
    with open_device("n150", tracker=heard) as device:
        bank = device.allocator.statistics(BufferType.DRAM)
        full = device.create_buffer(BufferSpec(bank.free_bytes // 2048 * 2048 * bank.bank_count, 2048))
        before = device.truth()[0]
        heard.forget()
        workload = a_workload(cb_bytes=2048)

        with pytest.raises(OutOfDeviceMemory):
            enqueue(device, workload)

        after = device.truth()[0]
        assert (after.used_bytes, after.counts) == (before.used_bytes, before.counts)
        assert after.cb_planned_bytes == 0
        told = heard.counts
        assert (told["cb"], told["cb_end"], told["kernel"], told["kernel_end"]) == (1, 1, 1, 1)
        assert told["launch"] == told["program"] == 0

        full.deallocate()
        enqueue(device, workload)
        assert device.truth()[0].launch_count == 1


def test_a_program_too_large_for_the_ring_leaves_nothing_behind() -> None:
    with open_device("n150") as device:
        before = device.truth()[0]

        with pytest.raises(KernelMisfit):
            enqueue(device, a_workload(80_000, cb_bytes=2048))

        after = device.truth()[0]
        assert (after.used_bytes, after.counts) == (before.used_bytes, before.counts)


def test_a_kernel_that_does_not_link_is_refused() -> None:
    with open_device("n150") as device:
        program = Program()
        program.add_kernel(a_kernel(16_385, processor=Processor.NCRISC))

        with pytest.raises(KernelMisfit, match="16384"):
            enqueue(device, MeshWorkload(program))


def test_a_closed_device_runs_nothing() -> None:
    device = open_device("n150")
    device.close()

    with pytest.raises(ProgramMisuse, match="closed"):
        enqueue(device, a_workload())
    with pytest.raises(ProgramMisuse, match="closed"):
        device.create_buffer(BufferSpec(2048, 2048))


def test_cores_beside_the_compute_grid_are_refused() -> None:
    with open_device("n150") as device:
        kernel_outside, buffer_outside = a_program(cores=CoreRanges.grid(8, 9)), a_program()
        buffer_outside.add_circular_buffer(CoreRanges.at((8, 0)), 2048)

        for program in (kernel_outside, buffer_outside):
            with pytest.raises(ProgramMisuse, match="grid of 8x8"):
                enqueue(device, MeshWorkload(program))


def test_cores_that_an_architecture_lacks_are_refused() -> None:
    program = Program()
    program.add_kernel(a_kernel(cores=CoreRanges.at((0, 0)), processor=Processor.DRISC, core_type=CoreType.DRAM))
    with open_device("n150") as wormhole, pytest.raises(ProgramMisuse, match="no DRAM cores"):
        enqueue(wormhole, MeshWorkload(program))
    with open_device("p150") as blackhole:
        enqueue(blackhole, MeshWorkload(program))
        assert blackhole.truth()[0].core_type_bytes[CoreType.DRAM] == 1008


def test_a_slow_workload_is_loaded_whole_or_not_at_all() -> None:
    with open_mesh("n300", dispatch=DispatchCores.SLOW, has_fabric=False) as mesh:
        fits, misfits = a_program(cb_bytes=2048), a_program(80_000)
        workload = MeshWorkload({MeshRange((0, 0), (0, 0)): fits, MeshRange((0, 1), (0, 1)): misfits})

        with pytest.raises(KernelMisfit):
            enqueue(mesh, workload)

        assert [(chip.used_bytes, chip.launch_count) for chip in mesh.truth().chips] == [({}, 0), ({}, 0)]


def test_a_queue_that_is_not_there_is_refused() -> None:
    with open_device("n150", trace_region_bytes=1 << 20) as device:
        with pytest.raises(ProgramMisuse, match="no command queue 1"):
            enqueue(device, a_workload(), queue=1)
        with pytest.raises(ProgramMisuse, match="no command queue 1"):
            device.begin_trace(queue=1)

        device.end_trace(device.begin_trace())
