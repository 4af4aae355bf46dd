"""Mistakes that newcomers make: one clear error with the next step, and nothing half done."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.metal.heard import HeardAll
from tests.support.metal.operations import a_program, a_workload
from ttmem.devices import BufferType
from ttmem.metal import (
    BufferSpec,
    CoreRanges,
    DispatchCores,
    Kernel,
    MeshRange,
    MeshWorkload,
    Program,
    UnknownHardware,
    enqueue,
    launch,
    open_device,
    open_mesh,
    tensor,
)
from ttmem.metal.memory import BadBuffer, Layout, Sharding
from ttmem.metal.programs import ProgramMisuse

GRID = CoreRanges.grid(8, 8)
L1 = BufferSpec(64 * 4096, 4096, BufferType.L1)


# Opening


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"dispatch": "slow"}, "there are DispatchCores.TENSIX, DispatchCores.ETHERNET, DispatchCores.SLOW"),
        ({"command_queue_count": 0}, "0 command queues; a device has 1 or 2"),
        ({"command_queue_count": -1}, "a device has 1 or 2"),
        ({"command_queue_count": 3}, "a device has 1 or 2"),
        ({"command_queue_count": 1.0}, "a device has 1 or 2"),
        ({"command_queue_count": 0, "dispatch": DispatchCores.SLOW}, "a device has 1 or 2"),
        ({"l1_small_bytes": -1}, "L1_SMALL of -1 bytes is not within"),
        ({"l1_small_bytes": 1.5}, "L1_SMALL of 1.5 bytes is not within"),
        ({"trace_region_bytes": -1}, "ask for whole bytes"),
        ({"trace_region_bytes": 1.5}, "ask for whole bytes"),
        ({"shape": (1,)}, "rows and columns, like"),
        ({"shape": 2}, "rows and columns, like"),
        ({"shape": (1, 1.5)}, "rows and columns, like"),
        ({"shape": ()}, "rows and columns, like"),
        ({"chip_offset": 0.5}, "counted from 0"),
    ],
)
def test_what_cannot_be_opened_is_shown_with_what_can(options: dict[str, Any], words: str) -> None:
    heard = HeardAll()

    with pytest.raises(UnknownHardware, match=words):
        open_mesh("n300", tracker=heard, **options)

    assert heard.calls == []


def test_a_board_has_a_name() -> None:
    number: Any = 7
    with pytest.raises(UnknownHardware, match="no board 7; there are n150"):
        open_device(number)


def test_only_a_tracker_can_be_reported_to() -> None:
    no_tracker: Any = object()

    with pytest.raises(ProgramMisuse, match=r"no tracker: <object .*>; use ttmem\.GraphTracker"):
        open_device("n150", tracker=no_tracker)


# Buffers


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: BufferSpec(2048, 2048, 7), "use BufferType"),  # type: ignore[arg-type]
        (lambda: BufferSpec(2048, 2048, BufferType.L1, 0), "use Layout"),  # type: ignore[arg-type]
        (lambda: BufferSpec(2048.0, 2048), "whole numbers"),  # type: ignore[arg-type]
        (lambda: BufferSpec(-2048, 2048), "not below 0"),
        (lambda: BufferSpec(2048, 1024, BufferType.L1, Layout.HEIGHT_SHARDED, (2, 1)), "use Sharding"),  # type: ignore[arg-type]
        (lambda: Sharding(-1, 2), "not below 0"),
        (lambda: Sharding(1, 2, (0, 8)), "columns and rows"),
        (lambda: tensor((-1, 5), "bfloat16"), "like \\(1, 1, 32, 4096\\)"),
        (lambda: tensor((1.5, 3), "bfloat16"), "whole numbers"),  # type: ignore[arg-type]
        (lambda: tensor(32, "bfloat16"), "no shape of a tensor: 32"),  # type: ignore[arg-type]
        (lambda: tensor((32, 32), "bfloat16", layout=Layout.HEIGHT_SHARDED, shard=(32,)), "rows and columns"),  # type: ignore[arg-type]
    ],
)
def test_a_buffer_that_cannot_be_is_refused_when_it_is_named(make: Callable[[], object], words: str) -> None:
    with pytest.raises(BadBuffer, match=words):
        make()


def test_only_a_spec_can_be_allocated() -> None:
    size: Any = 2048
    with open_device("n150") as device, pytest.raises(BadBuffer, match="use a BufferSpec"):
        device.create_buffer(size)


# Circular buffers and kernels


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"size_bytes": 1.5}, "whole numbers"),
        ({"page_bytes": 0}, "must be divisible"),
        ({"page_bytes": 512.0}, "whole numbers"),
        ({"index": -1}, "index -1.* not below 0"),
        ({"offset_bytes": 5}, "only a view has one"),
        ({"cores": (8, 8)}, "use CoreRanges"),
        ({"buffer": 4096}, "use what create_buffer returns"),
    ],
)
def test_a_circular_buffer_that_cannot_be_is_not_added(options: dict[str, Any], words: str) -> None:
    program = Program()

    with pytest.raises(ProgramMisuse, match=words):
        program.add_circular_buffer(**{"cores": GRID, "size_bytes": 2048, **options})

    assert program.circular_buffers == []


def test_an_index_is_taken_once_on_every_core() -> None:
    program = Program()
    program.add_circular_buffer(CoreRanges.grid(4, 8), 2048, index=3)
    program.add_circular_buffer(CoreRanges.parse("4,0-7,7"), 2048, index=3)

    with pytest.raises(ProgramMisuse, match="index 3 is taken on some of the cores 0,0-7,7; use another, like 4"):
        program.add_circular_buffer(GRID, 2048, index=3)

    assert len(program.circular_buffers) == 2


@pytest.mark.parametrize("binaries", [(1.5,), (0,), (True,), ()])
def test_a_binary_is_whole_bytes(binaries: tuple[Any, ...]) -> None:
    with pytest.raises(ProgramMisuse, match="BRISC takes 1 binaries, each of whole bytes"):
        Kernel(name="reader", cores=GRID, binaries=binaries)


def test_a_kernel_runs_on_a_set_of_cores() -> None:
    cores: Any = (8, 8)
    with pytest.raises(ProgramMisuse, match="use CoreRanges"):
        Kernel(name="reader", cores=cores, binaries=(160,))


# Views


def test_a_view_is_of_a_buffer_in_l1() -> None:
    program = Program()
    with open_device("n150") as device:
        dram = device.create_buffer(BufferSpec(64 * 4096, 4096))

        with pytest.raises(ProgramMisuse, match=r"create it with BufferType\.L1"):
            program.add_circular_buffer(GRID, 2048, buffer=dram)


def test_a_view_of_a_buffer_that_is_gone_is_refused_when_it_is_made_and_when_it_is_loaded() -> None:
    with open_device("n150") as device:
        before = device.truth()[0]
        buffer, program = device.create_buffer(L1), a_program()
        program.add_circular_buffer(GRID, 2048, buffer=buffer)
        buffer.deallocate()

        with pytest.raises(ProgramMisuse, match=r"freed.*bind it to one that is allocated"):
            a_program().add_circular_buffer(GRID, 2048, buffer=buffer)
        with pytest.raises(ProgramMisuse, match=r"freed.*bind it to one that is allocated"):
            enqueue(device, MeshWorkload(program))

        assert (device.truth()[0].used_bytes, device.truth()[0].counts) == (before.used_bytes, before.counts)
        program.rebind(program.circular_buffers[0], device.create_buffer(L1))
        enqueue(device, MeshWorkload(program))


def test_a_view_of_another_devices_buffer_is_refused() -> None:
    with open_device("n150") as here, open_device("n150", index=1) as there:
        own, foreign, program = here.create_buffer(L1), there.create_buffer(L1), a_program()
        view = program.add_circular_buffer(GRID, 2048, buffer=foreign)

        with pytest.raises(ProgramMisuse, match=f"of device {there.id}, and runs on device {here.id}"):
            enqueue(here, MeshWorkload(program))

        program.rebind(view, own)
        enqueue(here, MeshWorkload(program))
        with pytest.raises(ProgramMisuse, match="create it where the program runs"):
            program.rebind(view, foreign)
        assert view.buffer is own


def test_a_view_that_cannot_be_moved_stays_where_it_is() -> None:
    nothing: Any = None
    with open_device("n150") as device:
        kept, freed, program = device.create_buffer(L1), device.create_buffer(L1), a_program()
        view = program.add_circular_buffer(GRID, 2048, buffer=kept)
        freed.deallocate()

        for buffer in (nothing, freed, device.create_buffer(BufferSpec(64 * 4096, 4096))):
            with pytest.raises(ProgramMisuse):
                program.rebind(view, buffer)
        with pytest.raises(ProgramMisuse, match="not below 0"):
            program.rebind(view, kept, offset_bytes=-32)

        assert (view.buffer, view.offset_bytes, view.address) == (kept, 0, kept.address)


# Workloads and launches


def test_a_program_is_once_in_a_workload() -> None:
    program = a_program()

    with pytest.raises(ProgramMisuse, match=r"twice in one workload.*make one for each range"):
        MeshWorkload({MeshRange((0, 0), (0, 0)): program, MeshRange((0, 1), (0, 1)): program})


@pytest.mark.parametrize("programs", [None, {None: None}, {(0, 0): Program()}, [Program()]])
def test_a_workload_is_made_of_programs(programs: Any) -> None:
    with pytest.raises(ProgramMisuse, match="MeshRange"):
        MeshWorkload(programs)


@pytest.mark.parametrize("dispatch", [DispatchCores.TENSIX, DispatchCores.SLOW])
def test_programs_are_launched_and_workloads_enqueued(dispatch: DispatchCores) -> None:
    program, workload = a_program(), a_workload()
    run: Any = enqueue
    run_slow: Any = launch
    with open_device("n150", dispatch=dispatch) as device:
        with pytest.raises(ProgramMisuse, match=r"MeshWorkload\(program\)"):
            run(device, program)
        with pytest.raises(ProgramMisuse, match="MeshDevice"):
            run(workload, device)
        with pytest.raises(ProgramMisuse, match="run by enqueue"):
            run_slow(device, workload)
        assert device.truth()[0].launch_count == 0


@pytest.mark.parametrize("dispatch", [DispatchCores.TENSIX, DispatchCores.SLOW])
def test_a_program_of_a_workload_is_launched_and_ended_with_it_only(dispatch: DispatchCores) -> None:
    with open_device("n150", dispatch=dispatch) as device:
        before = device.truth()[0].used_bytes
        program = a_program(cb_bytes=2048)
        workload = MeshWorkload(program)
        enqueue(device, workload)

        with pytest.raises(ProgramMisuse, match=r"belongs to (a )?workload"):
            launch(device, program)
        with pytest.raises(ProgramMisuse, match="destroy the workload"):
            device.release_program(program)
        program.destroy()

        enqueue(device, workload)
        assert device.truth()[0].launch_count == 2
        workload.destroy()
        assert device.truth()[0].used_bytes == before


@pytest.mark.parametrize("dispatch", [DispatchCores.TENSIX, DispatchCores.SLOW])
def test_a_program_is_loaded_by_itself_or_by_one_workload(dispatch: DispatchCores) -> None:
    with open_device("n150", dispatch=dispatch) as device:
        alone, shared = a_program(), a_program()
        launch(device, alone)
        enqueue(device, MeshWorkload(shared))

        for program in (alone, shared):
            with pytest.raises(ProgramMisuse, match="loaded already"):
                enqueue(device, MeshWorkload(program))
        assert device.truth()[0].launch_count == 2


def test_a_program_that_ran_on_a_larger_chip_is_looked_at_again() -> None:
    program = a_program(cores=CoreRanges.grid(11, 10))
    with open_device("p150") as large:
        launch(large, program)
        program.destroy()

    with open_device("n150") as small, pytest.raises(ProgramMisuse, match="not all on the grid of 8x8"):
        launch(small, program)


def test_things_say_what_they_are() -> None:
    with open_mesh("t3000") as mesh:
        workload = a_workload()
        assert repr(mesh) == f"MeshDevice({mesh.id}, t3000 2x4, ethernet dispatch)"
        assert repr(workload) == f"MeshWorkload({workload.id}, 1 program, not_sent)"
        enqueue(mesh, workload)
        assert repr(workload) == f"MeshWorkload({workload.id}, 1 program, committed)"
    assert repr(mesh).endswith("dispatch, closed)")
    assert repr(workload).endswith("destroyed)")
