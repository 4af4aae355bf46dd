"""Tracking off and on again: nothing is told meanwhile, and what is told afterwards is true.

Turning it off ends everything in the journal. What lives on is not listed again, but for what is launched or laid out.
"""

from pathlib import Path

import pytest

from tests.support.stand_in.build import OLD, StandIn
from tests.support.stand_in.host import CHIP, Host
from tests.support.stand_in.stories import an_add
from ttmem.devices import BinaryStatus, Kind, Pool
from ttmem.tracking import CoreType

OFF, ON = "tracking off", "tracking on"
OPEN = "open 1 1 0"
ADD_ROOM = 208 + 7392  # where the text begins, and the size of it
DRAM_BANKS = 12
RING_BYTES, OTHER_RING_BYTES = 70_656, 102_400


def buffer(identity: int, mesh: int = 1) -> str:
    return f"buffer {identity} {mesh} DRAM 4096 2048"


def test_nothing_is_shown_while_it_is_off_and_what_comes_later_is(host: Host) -> None:
    host.tell(OPEN, buffer(2), buffer(4), OFF, buffer(6))
    off = host.look()
    host.tell(ON, buffer(8), buffer(10), "free 8")
    look = host.look()

    assert (off.alive, off.open_chips) == ([], [])
    assert ([told.id for told in look.buffers], look.open_chips) == ([10], [CHIP])
    assert look.used(CHIP, Pool.DRAM) == 2048 * DRAM_BANKS


def test_buffers_end_in_peace_on_whichever_side_of_it_they_were_made(host: Host) -> None:
    before, meanwhile = range(2, 10), range(20, 40)
    host.tell(OPEN, *map(buffer, before), OFF, *(f"free {number}" for number in before[:4]), *map(buffer, meanwhile))
    host.tell(*(f"free {number}" for number in meanwhile[:8]), ON)
    host.tell(*(f"free {number}" for number in (*before[4:], *meanwhile[8:])), buffer(50))
    look = host.look()

    assert [told.id for told in look.buffers] == [50]
    assert look.findings == {}


def test_a_mesh_that_was_closed_meanwhile_is_closed(host: Host) -> None:
    host.tell(OPEN, "open 3 1 1", buffer(2), OFF, "close 1", "open 5 1 2", ON, buffer(4, 3), buffer(6, 5), "free 2")
    look = host.look()

    assert [(told.id, told.chips) for told in look.buffers] == [(4, (CHIP + 1,)), (6, (CHIP + 2,))]
    assert look.open_chips == [CHIP + 1, CHIP + 2]
    assert look.findings == {}


def test_a_program_goes_on_where_it_was(host: Host) -> None:
    """Its binaries are where they were, and its launches meanwhile took their room in the ring."""
    host.tell(OPEN, *an_add(), *["enqueue 1"] * 2, OFF, "on 1 enqueue 1", ON, *["enqueue 1"] * 2)
    look = host.look()
    ring = look.ring(CHIP, CoreType.TENSIX)
    [binaries] = look.of(Kind.PROGRAM_BINARY)
    host.tell("clear 1")
    cleared = host.look()

    assert look.programs(CHIP) == {1: (BinaryStatus.COMMITTED, 2)}
    assert (look.launches(CHIP), ring["live"], ring["entries"]) == (2 + 2, 5 * ADD_ROOM, 5)
    assert binaries.reserved_bytes == 2048 * DRAM_BANKS
    assert (cleared.alive, cleared.findings) == ([], {})


def test_a_workload_in_the_place_of_one_that_ended_meanwhile_is_not_taken_for_it(host: Host) -> None:
    host.tell(OPEN, *an_add(), *["enqueue 1"] * 3, OFF, "clear 1", ON, *an_add(7), *["enqueue 1"] * 2)
    look = host.look()

    assert look.programs(CHIP) == {7: (BinaryStatus.COMMITTED, 2)}
    assert {told.program for told in look.kernels} == {7}
    assert look.buffers == []  # the binaries are known as such
    assert look.findings == {}


def test_binaries_that_were_freed_meanwhile_are_not_remembered_by_their_address(
    stand_in: StandIn, journals: Path
) -> None:
    """In a release without ids another buffer may be taken for them."""
    with Host(stand_in, journals, release=OLD) as host:
        host.tell(OPEN, *an_add(), "enqueue 1", OFF, "clear 1", ON)
        host.tell(*an_add(7), "enqueue 1", "clear 1", buffer(2), buffer(4), "free 2")
        look = host.look()

    assert (len(look.buffers), look.programs(CHIP), look.findings) == (1, {}, {})


@pytest.mark.parametrize("size_before", [RING_BYTES, OTHER_RING_BYTES])
def test_a_ring_that_was_set_up_again_meanwhile_is_followed(size_before: int, host: Host) -> None:
    host.tell(f"ring-again {size_before}", OPEN, *an_add(), *["enqueue 1"] * 3, "clear 1", "close 1")
    host.tell(OFF, f"ring-again {RING_BYTES}", ON, "open 3 1 0", *an_add(7, mesh=3), *["enqueue 1"] * 2)
    look = host.look()
    ring = look.ring(CHIP, CoreType.TENSIX)

    assert (ring["live"], ring["entries"], ring["total"]) == (2 * ADD_ROOM, 2, RING_BYTES)
    assert look.programs(CHIP) == {7: (BinaryStatus.COMMITTED, 2)}


@pytest.mark.parametrize("ends", [("end 1 0 118 14336",), ("end 1 0 118 14336", "release 1 0")])
def test_launches_after_a_capture_that_ended_meanwhile_are_launches(ends: tuple[str, ...], host: Host) -> None:
    host.tell(OPEN, *an_add(), "enqueue 1", "begin 1", "enqueue 1", OFF, *ends, ON, *["enqueue 1"] * 2)

    assert host.look().launches(CHIP) == 1 + 2


def test_a_launch_in_a_capture_that_began_meanwhile_is_only_recorded(host: Host) -> None:
    host.tell(OPEN, *an_add(), "enqueue 1", OFF, "begin 1", ON, "enqueue 1", "end 1 0 118 14336")
    captured = host.look().launches(CHIP)
    host.tell(*["replay 1 0"] * 3)

    assert (captured, host.look().launches(CHIP)) == (1, 1 + 3)


def test_a_part_of_a_mesh_is_open_again_with_its_mesh(host: Host) -> None:
    kernel = "kernel 5 data ttnn/x.cpp 0,0-0,0 64"
    host.tell("open 1 2 0 1 2 3", "program 5", kernel, "workload 5 1 0 0 5@0,0-0,1", "enqueue 5")
    before = host.look()
    host.tell(OFF, ON, "enqueue 5")
    look = host.look()

    assert [look.launches(CHIP + chip) for chip in range(4)] == [2, 2, 0, 0]
    assert (look.meshes, look.open_chips) == (before.meshes, before.open_chips)


def test_threads_that_work_while_it_is_switched_are_not_disturbed(host: Host) -> None:
    host.tell(OPEN, *an_add(binaries=900_006), "enqueue 1", "start 3 churn 1 %000000 3000")
    for _ in range(20):
        host.tell(OFF, "enqueue 1", ON, "enqueue 1")
    host.tell("finish 3")

    assert host.look().launches(CHIP) == 1 + 20
