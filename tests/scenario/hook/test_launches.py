"""Launches of the stand-in as the hook tells them: binaries on their way, room in the ring, traces."""

from pathlib import Path

import pytest

from tests.support.stand_in.build import STATUSLESS
from tests.support.stand_in.host import CHIP, Host
from tests.support.stand_in.stories import ADD_BINARY_BYTES, a_matmul, an_add
from ttmem.devices import BinaryStatus, Kind, Pool
from ttmem.sources.inspected import inspected
from ttmem.tracking import CoreType, Stall

ADD, MATMUL = 1, 3  # the runtime's numbers
ADD_ROOM, MATMUL_ROOM = 208 + 7392, 208 + 5728  # where the text begins, and the samples' sizes of it
ETHERNET_ROOM = 112
DRAM_BANKS = 12

IN_HALVES = (  # one program on each row of a mesh of two
    "program 1",
    "kernel 1 data ttnn/x.cpp 0,0-1,0 100",
    "program 2",
    "kernel 2 data ttnn/y.cpp 0,0-1,0 200",
    "workload 1 1 0 0 1@0,0-0,1 2@1,0-1,1",
)


def test_binaries_in_dram_belong_to_their_program(host: Host) -> None:
    host.tell("open 1 1 0", *an_add(), "enqueue 1")
    look = host.look()
    [binaries] = look.of(Kind.PROGRAM_BINARY)

    assert (binaries.id, binaries.pool, look.buffers) == (ADD, Pool.DRAM, [])
    assert binaries.reserved_bytes == 2048 * DRAM_BANKS  # six pages lie in six of twelve banks, all give up one
    assert look.used(CHIP, Pool.DRAM) == 2048 * DRAM_BANKS
    assert ADD_BINARY_BYTES == 6 * 2048


def test_the_status_of_binaries_is_shown_when_it_changes(host: Host) -> None:
    host.tell("open 1 1 0", *an_add(), *a_matmul(), "enqueue 1", *["enqueue 2"] * 3)
    programs = host.look().programs(CHIP)

    assert programs == {ADD: (BinaryStatus.COMMITTED, 1), MATMUL: (BinaryStatus.COMMITTED, 3)}


def test_a_status_that_is_said_again_is_not_reported_again(host: Host) -> None:
    """A cached launch is one event: it is counted, and the place it took in the ring is told with it."""
    host.tell("open 1 1 0", *an_add(), "enqueue 1", "enqueue 1")
    before = host.look().process["events"]
    host.tell(*["enqueue 1"] * 4)

    assert host.look().process["events"] - before == 4


def test_a_launch_that_is_waited_for_reports_the_ring_before_its_end(host: Host) -> None:
    host.tell("open 1 1 0", *an_add(), "enqueue 1", "enqueue 1 blocking")
    before = host.look().process["events"]
    host.tell(*["enqueue 1 blocking"] * 4)
    look = host.look()

    assert look.process["events"] - before == 2 * 4
    assert (look.launches(CHIP), look.ring(CHIP, CoreType.TENSIX)["launches"]) == (6, 6)


def test_a_first_launch_that_throws_may_have_brought_its_binaries_there(host: Host) -> None:
    host.tell("open 1 1 0", *an_add(), "failing on", "enqueue 1")

    assert host.look().programs(CHIP)[ADD] == (BinaryStatus.COMMITTED, 0)


def test_of_two_moves_in_one_launch_the_newer_one_is_shown_last(host: Host, journals: Path) -> None:
    host.tell("open 1 1 0", *IN_HALVES[:4], "workload 1 1 0 0 1 2", "enqueue 1", "enqueue 1")
    ring = host.look().ring(CHIP, CoreType.TENSIX)
    [journal] = journals.iterdir()
    moves = [one for one in inspected(str(journal), most=100)["recent"] if one["event"] == "RingMoved"]

    assert len(moves) == 4
    assert (moves[-1]["live_bytes"], moves[-1]["entry_count"]) == (ring["live"], ring["entries"])


def test_a_launch_that_throws_when_it_has_its_room_is_no_launch_and_has_the_room(host: Host) -> None:
    host.tell("open 1 1 0", *an_add(), "enqueue 1", "failing on")
    before = host.look().process["events"]
    answer = host.tell("enqueue 1")
    look = host.look()

    assert answer == "throws the device does not answer"
    assert look.process["events"] - before == 1
    assert look.launches(CHIP) == 1
    assert look.ring(CHIP, CoreType.TENSIX)["entries"] == 2
    assert look.programs(CHIP)[ADD] == (BinaryStatus.COMMITTED, 1)
    host.tell("failing off", "enqueue 1")
    look = host.look()
    assert (look.launches(CHIP), look.ring(CHIP, CoreType.TENSIX)["entries"], look.findings) == (2, 3, {})


def test_binaries_are_in_flight_until_the_runtime_says_otherwise(host: Host) -> None:
    host.tell("open 1 1 0", *an_add(), "stuck on", "enqueue 1")
    stuck = host.look().programs(CHIP)
    host.tell("enqueue 1", "enqueue 1")
    waiting = host.look().stalls(CHIP)
    host.tell("stuck off", "enqueue 1")
    moved = host.look().programs(CHIP)

    assert [status for status, _ in stuck.values()] == [BinaryStatus.IN_FLIGHT]
    assert waiting == {Stall.IN_FLIGHT: 3}
    assert [status for status, _ in moved.values()] == [BinaryStatus.COMMITTED]


def test_every_enqueue_is_one_launch_on_each_chip_of_the_mesh(host: Host) -> None:
    host.tell("open 1 2 0 1 2 3", *an_add(), *a_matmul(), *["enqueue 1"] * 5, "enqueue 2")
    look = host.look()

    assert [look.launches(CHIP + chip) for chip in range(4)] == [6] * 4


def test_a_workload_of_several_programs_launches_each_of_them(host: Host) -> None:
    host.tell("open 1 2 0 1 2 3", *IN_HALVES, "enqueue 1", "enqueue 1")
    launched = host.look()
    trace = host.tell("begin 1")
    host.tell("enqueue 1", f"end 1 {trace} 118 14336", *[f"replay 1 {trace}"] * 3)
    replayed = host.look()

    assert [launched.launches(CHIP + chip) for chip in range(4)] == [2] * 4
    assert [replayed.launches(CHIP + chip) for chip in range(4)] == [2 + 3] * 4
    assert [launches for _, launches in replayed.programs(CHIP + 2).values() if launches] == [2 + 3]


def test_a_workload_that_is_listed_on_all_chips_ends_there(host: Host) -> None:
    """Its programs have their own, and without binaries in DRAM nothing else ends it."""
    host.tell("open 1 2 0 1 2 3", *IN_HALVES, "enqueue 1")
    before = host.look()
    host.tell("clear 1")
    look = host.look()

    assert all(before.programs(CHIP + chip) for chip in range(4))
    assert [look.programs(CHIP + chip) for chip in range(4)] == [{}] * 4
    assert (look.alive, look.findings) == ([], {})


def test_a_replayed_trace_counts_what_was_captured_in_it(host: Host) -> None:
    host.tell("open 1 1 0", *an_add(), *a_matmul(), "enqueue 1", "enqueue 2")
    trace = host.tell("begin 1")
    host.tell("enqueue 1", "enqueue 2", "enqueue 1", f"end 1 {trace} 118 14336")
    captured = host.look().programs(CHIP)
    host.tell(*[f"replay 1 {trace}"] * 10)
    look = host.look()

    assert [launches for _, launches in captured.values()] == [1, 1]  # what is only recorded does not run
    assert [launches for _, launches in look.programs(CHIP).values()] == [1 + 2 * 10, 1 + 10]


def test_a_launch_on_another_queue_than_the_captured_one_runs_at_once(host: Host) -> None:
    host.tell("open 1 1 0", *an_add(), "enqueue 1", "begin 1", "enqueue 1", "enqueue 1 other-queue")
    host.tell("end 1 0 118 14336")
    captured = host.look().launches(CHIP)
    host.tell(*["replay 1 0"] * 5)

    assert captured == 2
    assert host.look().launches(CHIP) == 2 + 5


def test_the_beginning_of_a_capture_leaves_the_ring_as_it_is(host: Host) -> None:
    host.tell("open 1 1 0", *an_add(), "enqueue 1")
    before = host.look().ring(CHIP, CoreType.TENSIX)
    host.tell("begin 1")
    begun = host.look().ring(CHIP, CoreType.TENSIX)
    host.tell("end 1 0 118 14336", "replay 1 0")

    assert begun == before
    assert host.look().ring(CHIP, CoreType.TENSIX)["live"] == before["total"]


def test_a_trace_has_memory_of_its_own_until_it_is_released(host: Host) -> None:
    host.tell("open 1 1 0", *an_add(), "enqueue 1", "begin 1", "enqueue 1", "end 1 0 118 14336")
    captured = host.look()
    host.tell("release 1 0")
    released = host.look()

    assert [(told.id, told.pool, told.requested_bytes) for told in captured.buffers] == [(118, Pool.TRACE, 14_336)]
    assert released.used(CHIP, Pool.TRACE) == 0
    assert released.findings == {}


def test_a_trace_of_a_closed_mesh_is_forgotten(host: Host) -> None:
    host.tell("open 1 1 0", *an_add(), "enqueue 1", "begin 1", "enqueue 1", "end 1 0 118 14336", "close 1", "clear 1")
    host.tell("open 3 1 0", *an_add(7, mesh=3), "enqueue 1", "begin 3", "end 3 1 120 2048", "replay 3 1")
    look = host.look()

    assert look.programs(CHIP) == {7: (BinaryStatus.COMMITTED, 1)}
    assert look.findings == {}


def test_a_launch_takes_room_in_the_ring_of_the_workers(host: Host) -> None:
    host.tell("open 1 1 0", *an_add(), "enqueue 1")
    ring = host.look().ring(CHIP, CoreType.TENSIX)

    assert (ring["live"], ring["entries"], ring["launches"], ring["total"]) == (ADD_ROOM, 1, 1, 70_656)


def test_a_stalled_launch_counts_once_and_its_stall_is_shown(host: Host) -> None:
    host.tell("open 1 1 0", *an_add(), "enqueue 1", "enqueue 1", "fill", "enqueue 1")
    look = host.look()

    assert look.ring(CHIP, CoreType.TENSIX)["launches"] == 3
    assert look.stalls(CHIP) == {Stall.IN_FLIGHT: 1, Stall.SPACE: 1}  # the first waited for its binaries
    assert look.launches(CHIP) == 3


def test_a_program_in_the_place_of_another_has_launches_of_its_own(host: Host) -> None:
    """A workload at the same address, a journal's entry that was given back: neither is taken for the one before."""
    host.tell("open 1 1 0", *an_add(), *["enqueue 1"] * 5, "clear 1", *an_add(7), *["enqueue 1"] * 3)
    look = host.look()

    assert look.programs(CHIP) == {7: (BinaryStatus.COMMITTED, 3)}
    assert (look.launches(CHIP), look.findings) == (8, {})


def test_a_mesh_that_is_opened_again_counts_from_the_beginning(host: Host) -> None:
    host.tell("open 1 1 0", *an_add(), *["enqueue 1"] * 9, "close 1", "clear 1")
    host.tell("open 3 1 0", *an_add(7, mesh=3), *["enqueue 1"] * 4)
    look = host.look()
    ring = look.ring(CHIP, CoreType.TENSIX)

    assert look.programs(CHIP) == {7: (BinaryStatus.COMMITTED, 4)}
    assert (ring["live"], ring["entries"]) == (4 * ADD_ROOM, 4)
    assert look.findings == {}


def test_a_forked_child_launches_nothing_of_its_parent(host: Host) -> None:
    host.tell("open 1 1 0", *an_add(), *["enqueue 1"] * 3, "fork enqueue 1;enqueue 1", "enqueue 1")
    look = host.look()

    assert look.programs(CHIP) == {ADD: (BinaryStatus.COMMITTED, 4)}
    assert look.ring(CHIP, CoreType.TENSIX)["launches"] == 4


def test_many_rounds_of_the_ring_are_shown_as_they_are(host: Host) -> None:
    """Nine launches fit side by side: seven are in the table, what the others left stays as long as nobody needs it."""
    host.tell("open 1 1 0", *an_add(), "repeat 900 enqueue 1")
    look = host.look()
    ring = look.ring(CHIP, CoreType.TENSIX)

    assert (ring["live"], ring["entries"], ring["launches"]) == (7 * ADD_ROOM, 7, 900)
    assert ring["retired"] == 2 * ADD_ROOM
    assert look.stalls(CHIP)[Stall.ENTRIES] == 893
    assert look.launches(CHIP) == 900


@pytest.mark.parametrize("count", [6, 7, 8, 20])
def test_the_ring_holds_seven_entries_and_the_next_waits(count: int, host: Host) -> None:
    host.tell("open 1 1 0", *an_add(), *["enqueue 1"] * count)
    look = host.look()

    assert look.ring(CHIP, CoreType.TENSIX)["entries"] == min(count, 7)
    assert look.stalls(CHIP).get(Stall.ENTRIES, 0) == max(0, count - 7)


def test_a_first_launch_waits_for_all_others_and_finds_the_ring_empty(host: Host) -> None:
    host.tell("open 1 1 0", *an_add(), *a_matmul(), *["enqueue 1"] * 3, "enqueue 2")
    look = host.look()

    assert look.stalls(CHIP) == {Stall.IN_FLIGHT: 2}
    assert (look.ring(CHIP, CoreType.TENSIX)["live"], look.ring(CHIP, CoreType.TENSIX)["entries"]) == (MATMUL_ROOM, 1)


def test_an_ethernet_program_waits_for_the_one_before_it(host: Host) -> None:
    """It always lies at the base of the ring, however much room there is behind it."""
    kernel = "kernel 5 ethernet ttnn/x.cpp 0,0-0,0 64"
    host.tell("open 1 1 0", "program 5", kernel, "workload 5 1 2048 8 5", "enqueue 5", "fill", "enqueue 5")
    look = host.look()
    ring = look.ring(CHIP, CoreType.ACTIVE_ETH)

    assert look.stalls(CHIP) == {Stall.IN_FLIGHT: 1, Stall.ORDER: 1}
    assert (ring["live"], ring["entries"]) == (ETHERNET_ROOM, 1)


def test_a_launch_that_waits_though_there_is_room_waits_for_binaries(host: Host) -> None:
    """Also where it has none in DRAM, and nobody says how far they are."""
    host.tell("open 1 1 0", "program 5", "kernel 5 data ttnn/x.cpp 0,0-0,0 64", "workload 5 1 0 0 5", "enqueue 5")

    assert host.look().stalls(CHIP) == {Stall.IN_FLIGHT: 1}


def test_slow_dispatch_shows_the_same_programs_without_ring_and_status(host: Host) -> None:
    host.tell("slow on", "open 1 1 0", *an_add(), "enqueue 1", "enqueue 1")
    look = host.look()

    assert len(look.kernels) == 3
    assert [told.address for told in look.circular] == [105_824, 109_920, 114_016]
    assert look.of(Kind.PROGRAM_BINARY) == [] or look.programs(CHIP)[ADD][0] is BinaryStatus.NOT_SENT
    assert look.ring(CHIP, CoreType.TENSIX)["entries"] == 0
    assert look.launches(CHIP) == 2


def test_a_program_of_slow_dispatch_ends_like_any_other(host: Host) -> None:
    host.tell("slow on", "open 1 1 0", *an_add(), "enqueue 1", "clear 1")
    look = host.look()

    assert (look.alive, look.programs(CHIP), look.findings) == ([], {}, {})


def test_a_buffer_that_a_launch_of_slow_dispatch_makes_is_a_buffer(host: Host) -> None:
    """It loads no binaries into DRAM."""
    host.tell("slow on", "open 1 1 0", *an_add(), "within 50", "enqueue 1", "enqueue 1")
    look = host.look()

    assert [told.id for told in look.buffers] == [50]
    assert look.of(Kind.PROGRAM_BINARY) == []


def test_a_buffer_that_a_later_launch_makes_is_a_buffer(host: Host) -> None:
    """Binaries that are still on their way were loaded by the launch before."""
    host.tell("open 1 1 0", *an_add(), "stuck on", "enqueue 1", "within 50", "enqueue 1")
    look = host.look()

    assert [told.id for told in look.buffers] == [50]
    assert [told.reserved_bytes for told in look.of(Kind.PROGRAM_BINARY)] == [2048 * DRAM_BANKS]


@pytest.mark.parametrize("release", [STATUSLESS])
def test_binaries_without_a_known_place_are_not_in_flight_for_good(host: Host) -> None:
    host.tell("open 1 1 0", *an_add(), *["enqueue 1"] * 6)
    look = host.look()

    assert look.programs(CHIP) == {ADD: (BinaryStatus.UNKNOWN, 6)}
    assert look.stalls(CHIP) == {Stall.IN_FLIGHT: 1}  # the first one did wait for them
    assert [told.reserved_bytes for told in look.of(Kind.PROGRAM_BINARY)] == [2048 * DRAM_BANKS]


def test_a_launch_that_throws_is_no_launch(host: Host) -> None:
    host.tell("open 1 1 0", *an_add(), "buffer 2 1 L1 99532800 2048", "enqueue 1")

    assert host.look().launches(CHIP) == 0
