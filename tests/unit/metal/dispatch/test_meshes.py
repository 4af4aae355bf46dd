"""Workloads on meshes: one record per operation, and every program on its own chips only."""

import pytest

from tests.support.metal.heard import HeardAll
from tests.support.metal.operations import a_program, a_workload, add_program
from ttmem.devices import Pool
from ttmem.metal import (
    CoreRanges,
    DispatchCores,
    MeshRange,
    MeshWorkload,
    enqueue,
    open_device,
    open_mesh,
)
from ttmem.metal.programs import ProgramMisuse
from ttmem.tracking import CoreType

GRID = CoreRanges.grid(8, 8)
FIRST, REST = MeshRange((0, 0), (0, 0)), MeshRange((0, 1), (0, 1))


def test_a_mesh_is_reported_once_whatever_its_size() -> None:
    heard = HeardAll()
    with open_mesh("galaxy", tracker=heard) as mesh:
        heard.forget()

        enqueue(mesh, MeshWorkload(add_program(GRID)))

        assert heard.counts["kernel"] == heard.counts["cb"] == 3
        assert heard.counts["launch"] == heard.counts["allocate"] == 1
        assert {call.device for call in heard.calls} == {mesh}
        assert {chip.launch_count for chip in mesh.truth().chips} == {1}


def test_programs_of_one_workload_count_on_their_own_chips_only() -> None:
    heard = HeardAll()
    with open_mesh("n300", tracker=heard) as mesh:
        system = [chip.used_bytes for chip in mesh.truth().chips]
        small, large = a_program(1000, cb_bytes=4096), a_program(30_000)
        workload = MeshWorkload({FIRST: small, REST: large})
        heard.forget()

        enqueue(mesh, workload)

        left, right = mesh.truth().chips
        assert left.used_bytes[Pool.KERNEL] == 1008 * 64
        assert right.used_bytes[Pool.KERNEL] == 30_000 * 64
        assert left.used_bytes[Pool.CB] == 4096 * 64
        assert Pool.CB not in right.used_bytes
        assert left.used_bytes[Pool.DRAM] == right.used_bytes[Pool.DRAM] == 2 * 12 * 2048
        assert (left.launch_count, right.launch_count) == (1, 1)
        assert [call.device.chips for call in heard.of("kernel")] == [(mesh.chips[0],), (mesh.chips[1],)]

        workload.destroy()
        assert [chip.used_bytes for chip in mesh.truth().chips] == system


def test_programs_of_one_workload_get_slots_of_one_size() -> None:
    with open_mesh("n300") as mesh:
        small, large = a_program(1000), a_program(3000)

        enqueue(mesh, MeshWorkload({FIRST: small, REST: large}))

        assert small.offsets == large.offsets
        assert mesh.truth().rings[CoreType.TENSIX].live_bytes == 3008


def test_chips_outside_the_mesh_are_refused() -> None:
    with open_device("n150") as device, pytest.raises(ProgramMisuse, match="mesh of 1x1"):
        enqueue(device, MeshWorkload({REST: a_program()}))


def test_two_programs_cannot_share_chips() -> None:
    with pytest.raises(ProgramMisuse, match="same chips"):
        MeshWorkload({MeshRange((0, 0), (0, 1)): a_program(), REST: a_program()})
    with pytest.raises(ProgramMisuse, match="same chips"):
        MeshWorkload({None: a_program(), REST: a_program()})


def test_a_workload_stays_on_the_mesh_it_was_loaded_on() -> None:
    with open_device("n150") as here, open_device("n150", index=1) as there:
        workload = a_workload()
        enqueue(here, workload)

        with pytest.raises(ProgramMisuse, match="another mesh"):
            enqueue(there, workload)


def test_a_program_belongs_to_one_workload() -> None:
    with open_device("n150") as device:
        program = a_program()
        enqueue(device, MeshWorkload(program))

        with pytest.raises(ProgramMisuse, match="loaded already"):
            enqueue(device, MeshWorkload(program))


def test_a_slow_device_runs_workloads_the_slow_way() -> None:
    heard = HeardAll()
    with open_device("n150", dispatch=DispatchCores.SLOW, tracker=heard) as device:
        workload = a_workload(cb_bytes=2048)

        enqueue(device, workload)

        assert heard.counts["status"] == heard.counts["ring"] == heard.counts["allocate"] == 0
        assert heard.counts["launch"] == 1
        workload.destroy()
        assert device.truth()[0].used_bytes == {}
