"""What lies in a slot of the kernel ring, and in which order: the figures of real runs and the rules behind them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.metal.operations import a_kernel, add_program, matmul_program
from ttmem.devices import BufferType
from ttmem.metal import CoreRanges, Kernel, Processor, Program, architecture, open_device, tensor
from ttmem.metal.chips import Architecture
from ttmem.metal.programs import KernelMisfit
from ttmem.metal.programs.kernel_groups import SlotOffsets
from ttmem.metal.programs.offsets import finalize_program_offsets
from ttmem.tracking import CoreType

WORMHOLE, BLACKHOLE = architecture("wormhole_b0"), architecture("blackhole")
GRID = CoreRanges.grid(8, 8)


def tensix(*programs: Program) -> SlotOffsets:
    return finalize_program_offsets(programs, WORMHOLE)[CoreType.TENSIX]


def test_the_recorded_add_has_its_code_after_arguments_and_circular_buffers() -> None:
    slot = tensix(add_program(GRID))

    assert (slot.kernel_text, slot.kernel_text_bytes) == (208, 7392)
    assert slot.slot_bytes == 208 + 7392


def test_the_recorded_matmul_has_its_code_after_arguments_and_dataflow_buffers() -> None:
    slot = tensix(matmul_program(CoreRanges.grid(2, 2)))

    assert (slot.kernel_text, slot.kernel_text_bytes) == (128, 5728)


def test_every_binary_of_a_slot_is_rounded_up_by_itself() -> None:
    program = Program()
    sizes = {Processor.BRISC: (4684,), Processor.NCRISC: (5036,), Processor.TRISC: (3516, 3612, 1148)}
    for processor, binaries in sizes.items():
        program.add_kernel(Kernel(name="add", cores=GRID, binaries=binaries, processor=processor, runtime_arg_count=13))
    for _ in range(3):
        program.add_circular_buffer(GRID, 4096)

    slot = tensix(program)

    assert (slot.kernel_text, slot.kernel_text_bytes, slot.slot_bytes) == (208, 18_016, 18_224)


def test_parts_stand_one_behind_the_other() -> None:
    program = Program()
    program.add_kernel(Kernel(name="one", cores=GRID, binaries=(100,), runtime_arg_count=5, common_arg_count=3))
    program.add_semaphore()
    program.add_semaphore()
    program.add_circular_buffer(GRID, 4096, index=4)

    slot = tensix(program)

    assert slot.common_args == 32
    assert slot.semaphores == 32 + 16
    assert slot.circular_buffers == 48 + 2 * 16
    assert slot.dataflow_buffers == slot.kernel_text == 80 + 5 * 16
    assert slot.slot_bytes == 160 + 112


@pytest.mark.parametrize(("silicon", "remote_bytes"), [(WORMHOLE, 8), (BLACKHOLE, 33 * 8)])
def test_remote_circular_buffers_count_from_the_last_index(silicon: Architecture, remote_bytes: int) -> None:
    with open_device("n150") as device:
        buffer = device.create_buffer(tensor((64 * 32, 32), "bfloat16", buffer_type=BufferType.L1))
        program = Program()
        program.add_kernel(a_kernel(100))
        program.add_circular_buffer(GRID, 4096)
        program.add_remote_circular_buffer(GRID, 2048, buffer=buffer, index=31)

        slot = finalize_program_offsets([program], silicon)[CoreType.TENSIX]

    assert slot.kernel_text == -(-(16 + remote_bytes) // 16) * 16


def test_the_largest_group_decides() -> None:
    program = Program()
    program.add_kernel(Kernel(name="few", cores=CoreRanges.at((0, 0)), binaries=(5000,)))
    program.add_kernel(Kernel(name="many", cores=CoreRanges.at((1, 0)), binaries=(100,), runtime_arg_count=40))

    slot = tensix(program)

    assert (slot.kernel_text, slot.kernel_text_bytes) == (160, 5008)


def test_programs_of_one_workload_share_the_slot_of_the_largest() -> None:
    small, large = Program(), Program()
    small.add_kernel(Kernel(name="small", cores=GRID, binaries=(100,), runtime_arg_count=100))
    large.add_kernel(Kernel(name="large", cores=GRID, binaries=(9000,)))

    assert tensix(small, large).slot_bytes == 400 + 9008


def test_wormhole_keeps_code_of_active_ethernet_cores_outside_the_ring() -> None:
    program = Program()
    core = CoreRanges.at((0, 3))
    program.add_kernel(
        Kernel(
            name="router",
            cores=core,
            binaries=(9524,),
            processor=Processor.ERISC,
            core_type=CoreType.ACTIVE_ETH,
            runtime_arg_count=40,
        )
    )

    on_wormhole = finalize_program_offsets([program], WORMHOLE)[CoreType.ACTIVE_ETH]
    on_blackhole = finalize_program_offsets([program], BLACKHOLE)[CoreType.ACTIVE_ETH]

    assert (on_wormhole.kernel_text_bytes, on_wormhole.slot_bytes) == (0, 160)
    assert (on_blackhole.kernel_text_bytes, on_blackhole.slot_bytes) == (9536, 160 + 9536)


@pytest.mark.parametrize("size_bytes", [79_760, 80_992, 71_792, 70_784])
def test_a_program_larger_than_the_ring_is_refused_with_both_sizes(size_bytes: int) -> None:
    program = Program()
    program.add_kernel(a_kernel(size_bytes))

    with pytest.raises(KernelMisfit, match=rf"\({size_bytes}\).*\(70656\).*TENSIX") as refusal:
        finalize_program_offsets([program], WORMHOLE)
    assert (refusal.value.size_bytes, refusal.value.limit_bytes) == (size_bytes, 70_656)


def test_a_program_as_large_as_the_ring_is_taken() -> None:
    program = Program()
    program.add_kernel(a_kernel(70_656))

    assert tensix(program).slot_bytes == 70_656


@given(st.integers(1, 60_000), st.integers(0, 200), st.integers(0, 8))
def test_a_slot_is_made_of_whole_sixteens(size_bytes: int, arg_count: int, semaphore_count: int) -> None:
    program = Program()
    program.add_kernel(Kernel(name="any", cores=GRID, binaries=(size_bytes,), runtime_arg_count=arg_count))
    for _ in range(semaphore_count):
        program.add_semaphore()

    slot = tensix(program)

    assert slot.slot_bytes % 16 == 0
    assert slot.slot_bytes >= size_bytes + 4 * arg_count + 16 * semaphore_count
    assert slot.slot_bytes < size_bytes + 4 * arg_count + 16 * semaphore_count + 32
