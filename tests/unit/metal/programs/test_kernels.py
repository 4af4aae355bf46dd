"""What kernels take: on a core, on all cores, in DRAM; and which of them are the same image."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.metal.operations import a_kernel
from ttmem.metal import CoreRanges, Kernel, Processor, Program
from ttmem.metal.programs import ProgramMisuse
from ttmem.tracking import CoreType

PAGE_BYTES = 2048


def two_groups() -> Program:
    """metal-runtime's worked example: two readers, so two groups of cores."""
    most, few = CoreRanges.grid(8, 7), CoreRanges.parse("0,7-7,7")
    program = Program()
    program.add_kernel(Kernel(name="writer", cores=most | few, binaries=(2036,)))
    program.add_kernel(Kernel(name="reader A", cores=most, binaries=(3124,), processor=Processor.NCRISC))
    program.add_kernel(Kernel(name="reader B", cores=few, binaries=(2500,), processor=Processor.NCRISC))
    program.add_kernel(Kernel(name="compute", cores=most | few, binaries=(4000, 5300, 3900), processor=Processor.TRISC))
    return program


def test_the_worked_example_has_two_groups() -> None:
    groups = {group.core_count: group.text_bytes for group in two_groups().kernel_groups}

    assert groups == {56: 18_400, 8: 17_776}


def test_the_worked_example_writes_its_code_once_per_core() -> None:
    program = two_groups()

    assert program.code_bytes == 1_172_608
    assert sum(kernel.size_bytes * kernel.core_count for kernel in program.kernels) == 1_172_608


def test_the_worked_example_stores_every_kernel_once_in_pages() -> None:
    assert two_groups().payload_bytes(PAGE_BYTES) == 24_576


def test_the_allocation_servers_rule_overstates_the_worked_example() -> None:
    program = two_groups()

    assert program.payload_bytes(PAGE_BYTES) * program.core_count == 1_572_864


@given(st.lists(st.tuples(st.integers(1, 20_000), st.integers(0, 7), st.integers(1, 8)), min_size=1, max_size=5))
def test_groups_and_kernels_add_up_to_the_same_code(parts: list[tuple[int, int, int]]) -> None:
    program = Program()
    free = {processor: set(CoreRanges.grid(8, 8)) for processor in (Processor.BRISC, Processor.NCRISC)}
    for place, (size_bytes, first_row, height) in enumerate(parts):
        processor = (Processor.BRISC, Processor.NCRISC)[place % 2]
        wanted = {(x, y) for x, y in free[processor] if first_row <= y < first_row + height}
        if wanted:
            free[processor] -= wanted
            program.add_kernel(a_kernel(size_bytes, cores=CoreRanges.at(*wanted), processor=processor))

    groups = program.kernel_groups

    assert sum(kernel.code_bytes for kernel in program.kernels) == program.code_bytes
    assert sum(group.core_count for group in groups) == len({core for one in program.kernels for core in one.cores})
    assert len({(group.core_type, group.kernels) for group in groups}) == len(groups)


def test_cores_of_different_types_are_never_in_one_group() -> None:
    program = Program()
    program.add_kernel(a_kernel(cores=CoreRanges.at((0, 0))))
    program.add_kernel(a_kernel(cores=CoreRanges.at((0, 0)), processor=Processor.ERISC, core_type=CoreType.ACTIVE_ETH))

    assert [group.core_type for group in program.kernel_groups] == [CoreType.TENSIX, CoreType.ACTIVE_ETH]
    assert program.core_count == 2


def test_kernels_of_a_group_stand_in_the_order_of_their_processors() -> None:
    program = Program()
    program.add_kernel(a_kernel(processor=Processor.TRISC))
    program.add_kernel(a_kernel(processor=Processor.NCRISC))
    program.add_kernel(a_kernel(processor=Processor.BRISC))

    [group] = program.kernel_groups

    assert [kernel.processor for kernel in group.kernels] == [Processor.BRISC, Processor.NCRISC, Processor.TRISC]


def test_equal_kernels_are_one_image_wherever_they_run() -> None:
    one = a_kernel(cores=CoreRanges.grid(8, 8))

    assert one.image == a_kernel(cores=CoreRanges.grid(2, 2)).image
    assert one.image != a_kernel(1004).image
    assert one.image != a_kernel(name="other").image
    assert one.image != Kernel(name="kernel", cores=one.cores, binaries=(1000,), variant="stride=2").image


@pytest.mark.parametrize(
    ("processor", "binaries"), [(Processor.TRISC, (1,)), (Processor.BRISC, (1, 2, 3)), (Processor.BRISC, (0,))]
)
def test_a_kernel_has_as_many_binaries_as_its_processors(processor: Processor, binaries: tuple[int, ...]) -> None:
    with pytest.raises(ProgramMisuse, match="binaries"):
        Kernel(name="odd", cores=CoreRanges.grid(1, 1), binaries=binaries, processor=processor)


def test_a_kernel_without_cores_is_refused() -> None:
    with pytest.raises(ProgramMisuse, match="no cores"):
        Kernel(name="nowhere", cores=CoreRanges(()), binaries=(16,))


def test_a_processor_runs_one_kernel_of_a_program() -> None:
    program = Program()
    program.add_kernel(a_kernel(cores=CoreRanges.grid(8, 1)))
    program.add_kernel(a_kernel(cores=CoreRanges.parse("0,1-7,1")))

    with pytest.raises(ProgramMisuse, match="both for the BRISC"):
        program.add_kernel(a_kernel(cores=CoreRanges.at((7, 1))))
    assert len(program.kernels) == 2
