"""Programs of the stand-in as the hook tells them: their kernels, circular buffers, dataflow buffers and clashes."""

from collections import Counter
from pathlib import Path

import pytest

from tests.support.stand_in.host import CHIP, Host
from tests.support.stand_in.stories import ADD_KERNELS, NEARLY_ALL_L1, a_matmul, an_add
from ttmem.devices import Kind, Pool
from ttmem.tracking import CoreType, FoundBy

CORES = 72
NUMBER_BITS = 12  # of a part within its program


def padded(*sizes: int) -> int:
    """Binaries in the kernel ring begin at multiples of 16."""
    return sum((size + 15) // 16 * 16 for size in sizes)


def test_kernels_are_shown_with_their_names_sizes_and_cores(host: Host) -> None:
    host.tell("open 1 1 0", *an_add(7), "enqueue 1")
    kernels = host.look().kernels

    assert {kernel.kind for kernel in kernels} == {Kind.KERNEL_APPLICATION}
    assert [kernel.id >> NUMBER_BITS for kernel in kernels] == [7, 7, 7]
    assert [kernel.core_count for kernel in kernels] == [CORES] * 3
    assert {kernel.core_type for kernel in kernels} == {CoreType.TENSIX}
    assert [kernel.per_bank_bytes for kernel in kernels] == [padded(*sizes) for sizes in ADD_KERNELS.values()]
    assert [kernel.reserved_bytes for kernel in kernels] == [kernel.per_bank_bytes * CORES for kernel in kernels]
    assert [kernel.name for kernel in kernels] == [str(Path(path).stem) for path in ADD_KERNELS]
    assert [kernel.packed_bytes for kernel in kernels] == list(ADD_KERNELS.values())


def test_nothing_of_a_program_is_charged_before_it_is_compiled(host: Host) -> None:
    host.tell("open 1 1 0", *an_add())

    assert host.look().alive == []


def test_circular_buffers_are_one_record_each_whatever_the_mesh(host: Host) -> None:
    host.tell("open 1 2 0 1 2 3", *an_add(), "enqueue 1")
    look = host.look()
    buffers = look.circular

    assert [(told.address, told.per_bank_bytes, told.core_count) for told in buffers] == [
        (105_824, 4096, CORES),
        (109_920, 4096, CORES),
        (114_016, 4096, CORES),
    ]
    assert {told.chips for told in buffers} == {(CHIP, CHIP + 1, CHIP + 2, CHIP + 3)}
    assert {told.program for told in buffers} == {1}
    assert [look.planned_bytes(CHIP + chip) for chip in range(4)] == [3 * 4096 * CORES] * 4


def test_a_circular_buffer_that_looks_into_a_buffer_is_listed_and_charged_nothing(host: Host) -> None:
    address = int(host.tell("open 1 1 0", "buffer 2 1 L1 147456 2048"))
    host.tell(*an_add(), "cb 1 0,0-7,8 1 2048 2", "enqueue 1")
    look = host.look()
    [view] = [told for told in look.circular if told.is_view]

    assert (view.address, view.per_bank_bytes, view.core_count) == (address, 2048, CORES)
    assert view.reserved_bytes == 0
    assert look.planned_bytes(CHIP) == 3 * 4096 * CORES


@pytest.mark.parametrize("how", ["", " remote"])
def test_such_a_view_moves_with_its_buffer(how: str, host: Host) -> None:
    host.tell("open 1 1 0", "buffer 2 1 L1 147456 2048", *an_add(), "cb 1 0,0-7,8 1 2048 2", "enqueue 1")
    address = int(host.tell("buffer 4 1 L1 147456 2048"))
    host.tell(f"move 1 3 4{how}", "enqueue 1")
    look = host.look()

    assert [told.address for told in look.circular if told.is_view] == [address]
    assert look.findings == {}


def test_dataflow_buffers_and_scratchpads_are_shown_with_their_places(host: Host) -> None:
    host.tell("open 1 1 0", *a_matmul(), "scratchpad 3 0,0-3,0 64", "enqueue 2")
    look = host.look()

    assert [(told.kind, told.address, told.per_bank_bytes, told.core_count) for told in look.circular] == [
        (Kind.DATAFLOW_BUFFER, 105_824, 4096, 4),
        (Kind.DATAFLOW_BUFFER, 109_920, 4096, 4),
        (Kind.DATAFLOW_BUFFER, 114_016, 4096, 4),
        (Kind.SCRATCHPAD, 118_112, 64, 4),
    ]
    assert look.planned_bytes(CHIP) == (3 * 4096 + 64) * 4


def test_a_dataflow_buffer_on_two_rectangles_is_one(host: Host) -> None:
    host.tell("open 1 1 0", "program 5", "dataflow 5 0,0-7,7;0,8-3,8 2048", "workload 5 1 0 0 5", "enqueue 5")
    [told] = host.look().circular

    assert (told.address, told.per_bank_bytes, told.core_count) == (105_824, 2048, 68)


def test_dataflow_buffers_whose_cores_overlap_have_each_their_own(host: Host) -> None:
    """The runtime marks each of them wherever cores overlap."""
    host.tell("open 1 1 0", "program 5", "dataflow 5 0,0-7,7 2048", "dataflow 5 0,0-3,3 1024", "dataflow 5 2,2-5,5 512")
    host.tell("workload 5 1 0 0 5", "enqueue 5")
    buffers = host.look().circular

    assert [(told.per_bank_bytes, told.core_count) for told in buffers] == [(2048, 64), (1024, 16), (512, 16)]


@pytest.mark.parametrize("program", [an_add(5, workload=5), a_matmul(5, workload=5)], ids=["circular", "dataflow"])
def test_a_program_laid_out_again_with_fewer_buffers_keeps_only_these(program: tuple[str, ...], host: Host) -> None:
    host.tell("open 1 1 0", *program, "enqueue 5", "lessen 5", "enqueue 5")
    look = host.look()

    assert [told.address for told in look.circular] == [105_824, 109_920]
    assert look.findings == {}


def test_a_cached_launch_repeats_nothing(host: Host) -> None:
    host.tell("open 1 1 0", *an_add(), *a_matmul(), "enqueue 1", "enqueue 2")
    first = host.look()
    host.tell(*["enqueue 1", "enqueue 2"] * 5)
    look = host.look()

    assert look.alive == first.alive
    assert look.findings == {}


def test_a_cleared_program_is_gone_with_all_its_parts(host: Host) -> None:
    host.tell("open 1 1 0", *an_add(), *a_matmul(), "enqueue 1", "enqueue 2", "clear 1")
    half = host.look()
    host.tell("clear 2")
    look = host.look()

    assert {told.program for told in half.alive} == {3}
    assert (look.alive, look.findings) == ([], {})
    assert all(look.used(CHIP, pool) == 0 for pool in (Pool.DRAM, Pool.CB, Pool.KERNEL))


def test_programs_that_end_after_their_mesh_are_no_finding(host: Host) -> None:
    host.tell("open 1 1 0", "dispatch 1", "fabric 1", *an_add(10), *a_matmul(12), "enqueue 1", "enqueue 2", "close 1")
    closed = host.look()
    host.tell("clear 1", "clear 2")
    look = host.look()

    assert (closed.alive, closed.open_chips) == ([], [])
    assert (look.alive, look.findings) == ([], {})


def test_a_program_whose_place_in_memory_is_used_again_is_another_one(host: Host) -> None:
    """Pointers are reused at once; numbers tell programs apart."""
    host.tell("open 1 1 0")
    for program in range(1, 30):
        host.tell(*an_add(program, binaries=1000 + program), "enqueue 1", "clear 1", f"program {100 + program}")
        host.tell(f"drop {100 + program}")
    host.tell(*an_add(50), "enqueue 1")
    look = host.look()

    assert {told.program for told in look.alive} == {50}
    assert look.findings == {}


def test_system_programs_are_fabric_and_dispatch_on_their_chip(host: Host) -> None:
    host.tell("open 1 1 0 1", "fabric 1", "dispatch 1")
    look = host.look()
    fabric, dispatch = look.of(Kind.KERNEL_FABRIC), look.of(Kind.KERNEL_DISPATCH)

    assert sorted(told.chips for told in fabric) == [(CHIP,), (CHIP,), (CHIP + 1,), (CHIP + 1,)]
    assert {(told.core_type, told.core_count) for told in fabric} == {(CoreType.ACTIVE_ETH, 1)}
    assert sorted({told.per_bank_bytes for told in fabric}) == [padded(7772), padded(8380)]
    assert sorted({told.per_bank_bytes for told in dispatch}) == [
        padded(*sizes) for sizes in ((848, 264, 248), (2308,), (12_636,), (30_464,))
    ]
    assert {told.core_type for told in dispatch} == {CoreType.TENSIX}
    assert {told.found_by for told in (*fabric, *dispatch)} <= {FoundBy.OWNER, FoundBy.PATH}


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("tt_metal/fabric/impl/kernels/edm_fabric/fabric_erisc_router.cpp", Kind.KERNEL_FABRIC),
        ("tt_metal/impl/dispatch/kernels/cq_prefetch.cpp", Kind.KERNEL_DISPATCH),
        ("ttnn/cpp/ttnn/operations/fabric/dispatch/kernels/reader.cpp", Kind.KERNEL_APPLICATION),
    ],
)
def test_a_kernel_without_a_named_owner_goes_by_its_source(path: str, kind: Kind, host: Host) -> None:
    host.tell("open 1 1 0", "program 5", f"kernel 5 data {path} 0,0-0,0 640", "workload 5 1 0 0 5", "enqueue 5")
    [kernel] = host.look().kernels

    assert (kernel.kind, kernel.found_by) == (kind, FoundBy.PATH)


@pytest.mark.parametrize(
    ("core_type", "pool"),
    [("data", Pool.KERNEL), ("compute", Pool.KERNEL), ("ethernet", Pool.ETH), ("idle", Pool.ETH)],
)
def test_a_kernel_is_charged_to_the_memory_of_its_cores(core_type: str, pool: Pool, host: Host) -> None:
    host.tell("open 1 1 0", "program 5", f"kernel 5 {core_type} ttnn/x.cpp 0,0-0,0 640,640,640", "workload 5 1 0 0 5")
    host.tell("enqueue 5")
    [kernel] = host.look().kernels

    assert (kernel.pool, kernel.reserved_bytes > 0) == (pool, True)


def test_system_programs_that_run_before_their_mesh_is_open_are_listed_once_it_is(host: Host) -> None:
    host.tell("create 1 1 0 1", "fabric 1", "dispatch 1", "initialize 1")
    look = host.look()
    chips = [(CHIP,), (CHIP + 1,)]

    assert sorted(told.chips for told in look.of(Kind.KERNEL_FABRIC)) == sorted(chips * 2)
    assert sorted(told.chips for told in look.of(Kind.KERNEL_DISPATCH)) == sorted(chips * 4)


def test_a_clash_is_shown_with_its_program(host: Host) -> None:
    address = int(host.tell("open 1 1 0", *an_add(), "enqueue 1", f"buffer 2 1 L1 {NEARLY_ALL_L1} 2048"))
    before = host.look()
    thrown = host.tell("enqueue 1")
    end = 105_824 + 3 * 4096

    assert thrown.endswith(f"L1 buffer allocated at {address} and static circular buffer region ends at {end}")
    assert host.look().clashes_since(before) == [(CHIP, 1, end, address)]


@pytest.mark.parametrize(
    ("parts", "size_bytes"), [((), 3 * 4096), (("scratchpad 3 0,0-3,0 64",), 3 * 4096 + 64)], ids=["alone", "both"]
)
def test_a_clash_of_dataflow_buffers_and_scratchpads_is_shown_with_where_they_end(
    parts: tuple[str, ...], size_bytes: int, host: Host
) -> None:
    address = int(host.tell("open 1 1 0", *a_matmul(), *parts, "enqueue 2", f"buffer 2 1 L1 {NEARLY_ALL_L1} 2048"))
    before = host.look()
    host.tell("enqueue 2")

    assert host.look().clashes_since(before) == [(CHIP, 3, 105_824 + size_bytes, address)]


def test_kernels_compiled_on_many_threads_at_once_are_all_shown(host: Host) -> None:
    """Compilers report from threads of their own while four threads allocate."""
    host.tell("open 1 1 0")
    for program in range(1, 9):
        host.tell(*an_add(program, workload=program, binaries=10 * program))
    host.tell("together 8 enqueue %")
    look = host.look()

    assert Counter(told.program for told in look.kernels) == Counter([*range(1, 9)] * 3)
    assert len(look.circular) == 8 * 3
    assert look.findings == {}


def test_a_program_for_some_chips_of_a_mesh_is_charged_to_these(host: Host) -> None:
    host.tell("open 1 2 0 1 2 3", "program 1", "program 2")
    for program in (1, 2):
        host.tell(f"kernel {program} data ttnn/x.cpp 0,0-1,0 {100 * program}", f"cb {program} 0,0-1,0 1 2048")
    host.tell("workload 1 1 4096 6 1@0,0-0,1 2@1,0-1,1", "enqueue 1")
    look = host.look()

    assert {(told.per_bank_bytes, told.chips) for told in look.kernels} == {
        (padded(100), (CHIP, CHIP + 1)),
        (padded(200), (CHIP + 2, CHIP + 3)),
    }
