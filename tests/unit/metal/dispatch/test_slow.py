"""Slow dispatch: told of at two places and charged once; no ring, no payload, no status."""

import pytest

from tests.support.metal.heard import HeardAll
from tests.support.metal.operations import a_program, add_program
from ttmem.devices import BufferType, Kind, Pool
from ttmem.metal import CircularBufferClash, CoreRanges, DispatchCores, launch, open_device, open_mesh, tensor
from ttmem.metal.programs import ProgramMisuse

GRID = CoreRanges.grid(8, 8)


def test_a_first_launch_reports_kernels_twice_and_books_them_once() -> None:
    heard = HeardAll()
    with open_device("n150", dispatch=DispatchCores.SLOW, tracker=heard) as device:
        program = add_program(GRID)

        launch(device, program)

        told = [call.name for call in heard.calls if call.name != "cache"]
        assert told == ["opened", *["kernel"] * 6, *["cb"] * 3, "program", "launch"]
        assert len({call.id for call in heard.of("kernel")}) == 3
        chip = device.truth()[0]
        assert chip.counts[Kind.KERNEL_APPLICATION] == 3
        assert chip.used_bytes[Pool.KERNEL] == program.code_bytes == 7392 * 64


def test_later_launches_report_kernels_again_and_book_nothing() -> None:
    heard = HeardAll()
    with open_device("n150", dispatch=DispatchCores.SLOW, tracker=heard) as device:
        program = add_program(GRID)
        launch(device, program)
        before = device.truth()[0]
        heard.forget()

        launch(device, program)

        assert heard.counts == {"kernel": 3, "program": 1, "launch": 1}
        after = device.truth()[0]
        assert (after.used_bytes, after.counts) == (before.used_bytes, before.counts)
        assert after.launch_count == 2


def test_nothing_of_a_slow_launch_lies_in_dram_or_the_ring() -> None:
    with open_device("n150", dispatch=DispatchCores.SLOW) as device:
        launch(device, a_program())

        truth = device.truth()
        assert Pool.DRAM not in truth[0].used_bytes
        assert truth.rings == {}
        assert Kind.PROGRAM_BINARY not in truth[0].counts


def test_destroying_a_program_takes_it_off() -> None:
    heard = HeardAll()
    with open_device("n150", dispatch=DispatchCores.SLOW, tracker=heard) as device:
        program = add_program(GRID)
        launch(device, program)
        heard.forget()

        program.destroy()
        program.destroy()

        assert heard.counts == {"cb_end": 1, "kernel_end": 3, "program_end": 1}
        assert device.truth()[0].used_bytes == {}


def test_a_program_can_be_launched_the_slow_way_on_a_fast_device() -> None:
    with open_device("n150") as device:
        launch(device, a_program(cb_bytes=2048))

        assert device.truth()[0].launch_count == 1
        assert device.truth()[0].cb_resident_bytes == 2048 * 64


def test_a_launch_on_a_mesh_is_reported_once() -> None:
    heard = HeardAll()
    with open_mesh("t3000", dispatch=DispatchCores.SLOW, has_fabric=False, tracker=heard) as mesh:
        heard.forget()

        launch(mesh, add_program(GRID))

        assert heard.counts["launch"] == 1
        assert {call.device for call in heard.calls} == {mesh}
        assert {chip.launch_count for chip in mesh.truth().chips} == {1}


def test_a_refused_launch_leaves_nothing_of_a_new_program() -> None:
    with open_device("n150", dispatch=DispatchCores.SLOW) as device:
        large = device.create_buffer(tensor((72 * 32, 32 * 600), "bfloat16", buffer_type=BufferType.L1))
        before = device.truth()[0]
        program = a_program(cb_bytes=1_000_000)

        with pytest.raises(CircularBufferClash):
            launch(device, program)
        assert (device.truth()[0].used_bytes, device.truth()[0].counts) == (before.used_bytes, before.counts)

        large.deallocate()
        launch(device, program)
        assert device.truth()[0].launch_count == 1


def test_a_program_stays_on_the_device_it_was_loaded_on() -> None:
    with open_device("n150") as here, open_device("n150", index=1) as there:
        program = a_program()
        launch(here, program)

        with pytest.raises(ProgramMisuse, match="other chips"):
            launch(there, program)
        assert here.truth()[0].counts[Kind.KERNEL_APPLICATION] == 1


def test_a_launched_program_can_no_longer_be_changed() -> None:
    with open_device("n150") as device:
        program = a_program()
        launch(device, program)

        for add in (program.add_semaphore, lambda: program.add_scratchpad(GRID, 64)):
            with pytest.raises(ProgramMisuse, match="finalized"):
                add()
