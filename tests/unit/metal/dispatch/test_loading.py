"""Circular buffers of loaded programs: told again when they change, and by their kind."""

import pytest

from tests.support.metal.heard import HeardAll
from tests.support.metal.operations import add_program
from ttmem.devices import BufferType, Kind, Pool
from ttmem.metal import (
    CircularBufferClash,
    CoreRanges,
    MeshWorkload,
    Program,
    enqueue,
    open_device,
    tensor,
)
from ttmem.metal.programs import ProgramMisuse

GRID = CoreRanges.grid(8, 8)


def test_another_size_lays_all_out_again_and_reports_all_again() -> None:
    heard = HeardAll()
    with open_device("n150", tracker=heard) as device:
        program = add_program(GRID)
        workload = MeshWorkload(program)
        enqueue(device, workload)
        heard.forget()

        program.resize(program.circular_buffers[0], 8192)
        enqueue(device, workload)

        assert [call.address for call in heard.of("cb")] == [105_824, 114_016, 118_112]
        assert heard.counts["cb_end"] == 0
        chip = device.truth()[0]
        assert chip.used_bytes[Pool.CB] == chip.cb_planned_bytes == chip.cb_resident_bytes == 64 * 16_384


def test_a_size_that_clashes_keeps_the_old_layout_in_the_books() -> None:
    with open_device("n150") as device:
        program = add_program(GRID)
        workload = MeshWorkload(program)
        enqueue(device, workload)
        device.create_buffer(tensor((64 * 32, 32 * 600), "bfloat16", buffer_type=BufferType.L1))

        program.resize(program.circular_buffers[0], 500 * 2048)
        with pytest.raises(CircularBufferClash):
            enqueue(device, workload)

        assert device.truth()[0].used_bytes[Pool.CB] == 64 * 3 * 4096
        program.resize(program.circular_buffers[0], 4096)
        enqueue(device, workload)
        assert device.truth()[0].launch_count == 2


def test_views_are_listed_and_never_charged() -> None:
    heard = HeardAll()
    with open_device("n150", tracker=heard) as device:
        buffer = device.create_buffer(tensor((64 * 32, 64), "bfloat16", buffer_type=BufferType.L1))
        program = Program()
        program.add_circular_buffer(GRID, 4096, buffer=buffer)
        heard.forget()

        workload = MeshWorkload(program)
        enqueue(device, workload)

        [view] = heard.of("cb")
        assert (view.is_global, view.address, view.size) == (True, buffer.address, 4096)
        chip = device.truth()[0]
        assert chip.counts[Kind.CIRCULAR_BUFFER] == chip.view_count == 1
        assert Pool.CB not in chip.used_bytes
        assert chip.used_bytes[Pool.L1] == buffer.reserved_bytes
        assert chip.cb_planned_bytes == 0
        workload.destroy()
        assert device.truth()[0].view_count == 0


def test_a_view_is_shown_again_only_when_it_moved() -> None:
    heard = HeardAll()
    with open_device("n150", tracker=heard) as device:
        spec = tensor((64 * 32, 64), "bfloat16", buffer_type=BufferType.L1)
        first, second = device.create_buffer(spec), device.create_buffer(spec)
        program = Program()
        view = program.add_circular_buffer(GRID, 4096, buffer=first)
        workload = MeshWorkload(program)
        enqueue(device, workload)
        heard.forget()

        program.rebind(view, first)
        enqueue(device, workload)
        program.rebind(view, second)
        enqueue(device, workload)
        enqueue(device, workload)

        assert [call.address for call in heard.of("cb")] == [second.address]


def test_dataflow_buffers_and_scratchpads_are_shown_by_their_kind() -> None:
    heard = HeardAll()
    with open_device("n150", tracker=heard) as device:
        program = Program()
        program.add_dataflow_buffer(GRID, 4096)
        program.add_scratchpad(GRID, 1024)

        enqueue(device, MeshWorkload(program))

        assert [call.kind for call in heard.of("cb")] == [Kind.DATAFLOW_BUFFER, Kind.SCRATCHPAD]
        counts = device.truth()[0].counts
        assert (counts[Kind.DATAFLOW_BUFFER], counts[Kind.SCRATCHPAD]) == (1, 1)


def test_a_circular_buffer_index_must_exist_on_the_architecture() -> None:
    with open_device("n150") as device:
        program = Program()
        program.add_circular_buffer(GRID, 2048, index=32)

        with pytest.raises(ProgramMisuse, match="index 32"):
            enqueue(device, MeshWorkload(program))
