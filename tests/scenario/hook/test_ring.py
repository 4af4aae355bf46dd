"""The kernel ring through long runs of launches, as it is told and as it must be by hand."""

import random
from typing import NamedTuple

import pytest

from tests.support.stand_in.host import CHIP, Host
from ttmem.tracking import CoreType, Stall

BASE, SIZE = 35_168, 70_656  # of the stand-in's ring
ENTRIES_MOST = 7
TEXT_OFFSET = 208
ETHERNET, ETHERNET_ROOM = 9, 112
KERNELS = {1: 1_008, 2: 7_008, 3: 12_000, 4: 30_000, ETHERNET: 64}  # bytes of the one kernel of each program
LAUNCHES, STRIDE = 300, 10
TRACE = 0  # what it holds is captured before anything else


class Room(NamedTuple):
    begin: int
    end: int
    program: int  # 0: a replayed trace, which may have used every byte

    def overlaps(self, other: "Room") -> bool:
        return max(self.begin, other.begin) < min(self.end, other.end)


class RingByHand:
    """Launches go up the ring and back to its base; whoever is in the way, the oldest first, is waited for."""

    def __init__(self) -> None:
        self.live: list[Room] = []  # those of ethernet cores only are empty here
        self.left: list[Room] = []  # by finished launches, and not written over
        self.tail = BASE
        self.waits = 0

    def launch(self, program: int) -> None:
        room = self._next(program)
        self.waits += self._must_wait(room)
        while self._must_wait(room):
            self._finish_oldest()
            room = self._next(program)
        self.left = [one for one in self.left if not one.overlaps(room)]
        self.live.append(room)
        self.tail = room.end

    def launch_first(self, program: int) -> None:
        """Its binaries are not there yet: everybody is waited for."""
        self.waits += 1
        while self.live:
            self._finish_oldest()
        self.launch(program)

    def replay(self) -> None:
        self.live, self.left, self.tail = [Room(BASE, BASE + SIZE, 0)], [], BASE + SIZE

    def figures(self) -> tuple[int, int, int]:
        return sum(map(size, self.live)), len(list(filter(size, self.live))), sum(map(size, self.left))

    def on_ethernet(self) -> tuple[int, int]:
        count = sum(one.program == ETHERNET for one in self.live)
        return count * ETHERNET_ROOM, count

    def _next(self, program: int) -> Room:
        needed = 0 if program == ETHERNET else TEXT_OFFSET + KERNELS[program]
        begin = self.tail if self.tail + needed <= BASE + SIZE else BASE
        return Room(begin, begin + needed, program)

    def _must_wait(self, room: Room) -> bool:
        is_full = size(room) > 0 and len(list(filter(size, self.live))) == ENTRIES_MOST
        is_filled = any(one.program == 0 for one in self.live)  # on all cores
        in_the_way = (one.overlaps(room) or room.program == one.program == ETHERNET for one in self.live)
        return is_full or is_filled or any(in_the_way)

    def _finish_oldest(self) -> None:
        done = self.live.pop(0)
        if done.program and size(done):
            self.left.append(done)


def size(room: Room) -> int:
    return room.end - room.begin


def a_program(number: int, kernel_bytes: int, *, mesh: int = 1) -> tuple[str, ...]:
    kind = "ethernet" if number == ETHERNET else "data"
    kernel = f"kernel {number} {kind} ttnn/x{number}.cpp 0,0-0,0 {kernel_bytes}"
    return f"program {number}", kernel, f"workload {number} {mesh} 2048 {20 + 2 * number} {number}"


def test_large_programs_wait_for_the_room_of_the_oldest(host: Host) -> None:
    host.tell("open 1 1 0", *a_program(4, KERNELS[4]), "repeat 900 enqueue 4")
    look = host.look()
    ring = look.ring(CHIP, CoreType.TENSIX)

    assert (ring["live"], ring["entries"], ring["retired"]) == (2 * (TEXT_OFFSET + KERNELS[4]), 2, 0)
    assert look.stalls(CHIP) == {Stall.IN_FLIGHT: 1, Stall.SPACE: 898}
    assert (ring["launches"], look.launches(CHIP)) == (900, 900)


def test_rings_without_launches_take_no_place(host: Host) -> None:
    """A Galaxy opened chip by chip has hundreds of them, and each may be launched on at any time."""
    host.tell("open 1 1 0", "rings 2000", *a_program(2, KERNELS[2]), *["enqueue 2"] * 3)
    look = host.look()
    ring = look.ring(CHIP, CoreType.TENSIX)

    assert (ring["live"], ring["entries"], ring["launches"]) == (3 * (TEXT_OFFSET + KERNELS[2]), 3, 3)
    assert look.findings == {}


def test_of_more_rings_than_can_be_remembered_the_oldest_is_not_followed(host: Host) -> None:
    host.tell("open 1 1 0", "rings 20000", *a_program(2, KERNELS[2]), *["enqueue 2"] * 3)
    look = host.look()

    assert (look.launches(CHIP), look.ring(CHIP, CoreType.TENSIX)["launches"], look.findings) == (3, 0, {})


@pytest.mark.parametrize("size_before", [SIZE, 102_400])
@pytest.mark.parametrize("launches_before", [0, 2])
def test_a_ring_that_is_set_up_again_begins_again_with_its_new_size(
    size_before: int, launches_before: int, host: Host
) -> None:
    """The size follows from how much a mesh is opened with, also if nobody launched on the one before."""
    first = [*a_program(2, KERNELS[2]), *["enqueue 2"] * launches_before, "clear 2"] if launches_before else []
    host.tell(f"ring-again {size_before}", "open 1 1 0", *first, "close 1")
    host.tell(f"ring-again {SIZE}", "open 3 1 0", *a_program(3, KERNELS[3], mesh=3), *["enqueue 3"] * 3)
    ring = host.look().ring(CHIP, CoreType.TENSIX)

    assert (ring["live"], ring["entries"], ring["total"]) == (3 * (TEXT_OFFSET + KERNELS[3]), 3, SIZE)
    assert ring["launches"] == launches_before + 3


def test_a_ring_that_is_set_up_again_is_shown_where_it_is_launched_on_now(host: Host) -> None:
    """Both meshes are open: the one that it was launched on before has nothing to do with it."""
    host.tell("open 1 1 0", "open 3 1 1", *a_program(2, KERNELS[2]), *["enqueue 2"] * 2, f"ring-again {SIZE}")
    host.tell(*a_program(3, KERNELS[3], mesh=3), *["enqueue 3"] * 3)
    look = host.look()

    assert [look.ring(CHIP + chip, CoreType.TENSIX)["launches"] for chip in range(2)] == [2, 3]
    assert look.ring(CHIP + 1, CoreType.TENSIX)["live"] == 3 * (TEXT_OFFSET + KERNELS[3])


def test_counts_that_begin_again_end_no_later_launch(host: Host) -> None:
    """Who is finished is told by a count that later launches are above; if not, it must be forgotten."""
    host.tell("open 1 1 0", *a_program(2, KERNELS[2]), "enqueue 2", "fill", "count-anew", *["enqueue 2"] * 2)
    ring = host.look().ring(CHIP, CoreType.TENSIX)

    assert (ring["live"], ring["entries"]) == (2 * (TEXT_OFFSET + KERNELS[2]), 2)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("programs", [(4,), (1, 2), (1, ETHERNET), (1, 2, 3, 4), (1, 2, 3, 4, ETHERNET)], ids=str)
def test_whatever_is_launched_the_ring_is_as_it_must_be(host: Host, programs: tuple[int, ...], seed: int) -> None:
    rng, ring = random.Random(seed), RingByHand()
    host.tell("open 1 1 0", *(order for number in programs for order in a_program(number, KERNELS[number])))
    for number in programs:
        host.tell(f"enqueue {number}")
        ring.launch_first(number)
    host.tell("begin 1", f"end 1 {TRACE} 118 14336")
    for _ in range(LAUNCHES // STRIDE):
        orders = []
        for _ in range(STRIDE):
            number = rng.choice(programs)
            orders.append(f"enqueue {number}{' blocking' if rng.random() < 0.1 else ''}")
            ring.launch(number)
        if rng.random() < 0.1:
            orders.append(f"replay 1 {TRACE}")
            ring.replay()
        host.tell(*orders)
        look = host.look()
        told, ethernet = look.ring(CHIP, CoreType.TENSIX), look.ring(CHIP, CoreType.ACTIVE_ETH)
        assert (told["live"], told["entries"], told["retired"]) == ring.figures()
        assert sum(look.stalls(CHIP).values()) == ring.waits
        if ring.live[0].program:  # a trace fills every ring
            assert (ethernet["live"], ethernet["entries"]) == ring.on_ethernet()
