"""Buffers of the stand-in as the hook tells them: with every figure, on every thread, until their mesh is closed."""

from pathlib import Path

import pytest

from tests.support.stand_in.build import StandIn
from tests.support.stand_in.host import CHIP, Host, unequal
from tests.support.stand_in.stories import an_add
from ttmem.devices import BufferLayout, Pool

DRAM_BANKS, L1_BANKS = 12, 72
RING_BYTES = 70_656  # of a worker's kernels
SMALLEST_TABLE = 64


def test_a_buffer_is_shown_as_the_allocator_gave_it(host: Host) -> None:
    address = host.tell("open 1 1 0", "buffer 4 1 DRAM 8192 2048")
    [told] = host.look().buffers

    assert (told.id, told.address, told.pool, told.chips) == (4, int(address), Pool.DRAM, (CHIP,))
    assert (told.requested_bytes, told.per_bank_bytes, told.reserved_bytes) == (8192, 2048, 2048 * DRAM_BANKS)


def test_pages_and_shards_decide_what_banks_give_up(host: Host) -> None:
    host.tell("open 1 1 0", "buffer 2 1 L1 100000 1000", "buffer 4 1 L1 65536 2048 8", "buffer 6 1 DRAM 1000 1000")
    small, uneven, sharded = host.look().buffers

    assert (uneven.pool, uneven.requested_bytes, uneven.per_bank_bytes) == (Pool.L1, 100_000, 2 * 1024)
    assert (sharded.per_bank_bytes, sharded.reserved_bytes) == (
        8192,
        8192 * L1_BANKS,
    )  # all banks, whoever holds shards
    assert (small.pool, small.per_bank_bytes, small.reserved_bytes) == (Pool.DRAM, 1024, 1024 * DRAM_BANKS)


def test_a_buffer_has_a_layout_pages_and_the_thread_that_allocated_it(host: Host) -> None:
    host.tell(
        "open 1 1 0", "on 1 buffer 2 1 L1 65536 2048 8", "on 2 buffer 4 1 L1 9000 1000", "on 1 buffer 6 1 DRAM 64 64"
    )
    look = host.look()

    assert look.form_of(2) == (BufferLayout.HEIGHT_SHARDED, 2048)
    assert look.form_of(4) == (BufferLayout.INTERLEAVED, 1000)
    assert look.thread_of(2) == look.thread_of(6) != look.thread_of(4)


def test_a_freed_buffer_is_gone_and_its_place_may_be_taken_again(host: Host) -> None:
    first = host.tell("open 1 1 0", "buffer 2 1 DRAM 4096 2048")
    again = host.tell("free 2", "buffer 4 1 DRAM 4096 2048")
    look = host.look()

    assert first == again
    assert [told.id for told in look.buffers] == [4]
    assert look.findings == {}


def test_a_buffer_that_a_capture_only_imagines_is_not_charged(host: Host) -> None:
    imagined = host.tell("open 1 1 0", "buffer 2 1 L1 8192 2048", "capture on", "buffer 4 1 L1 524288 2048")
    host.tell("capture off", "buffer 6 1 L1 8192 2048", "free 4")
    look = host.look()

    assert imagined == "0"
    assert [told.id for told in look.buffers] == [2, 6]
    assert look.used(CHIP, Pool.L1) == 2 * 2048 * L1_BANKS
    assert look.findings == {}


def test_a_mesh_buffer_is_one_record_with_the_bytes_of_each_chip(host: Host) -> None:
    host.tell("open 1 2 4 0 3 7", "buffer 2 1 DRAM 8192 2048")
    look = host.look()
    [told] = look.buffers

    assert told.chips == (CHIP + 4, CHIP, CHIP + 3, CHIP + 7)  # in the mesh's own order
    assert [look.used(chip, Pool.DRAM) for chip in told.chips] == [2048 * DRAM_BANKS] * 4
    assert [mesh[1:3] for mesh in look.meshes] == [(2, 2)]


def test_a_chip_is_shown_with_its_board_and_what_its_banks_hold(host: Host) -> None:
    host.tell("open 1 1 0")
    device = host.look().device(CHIP)

    assert (device["arch"], device["board"], device["index"]) == ("wormhole_b0", "n150", 0)
    assert (tuple(device["grid"]), tuple(device["banks"])) == ((8, 9), (DRAM_BANKS, L1_BANKS))
    assert device["capacities"][Pool.DRAM] == 1_072_603_072 * DRAM_BANKS
    assert device["capacities"][Pool.L1] == 1_393_312 * L1_BANKS


def test_a_chip_is_shown_with_its_kernel_ring_once_there_is_one(host: Host) -> None:
    host.tell("open 1 1 0", *an_add(), "enqueue 1", "open 3 1 1")

    assert host.look().device(CHIP + 1)["kernel_ring_bytes"] == RING_BYTES


def test_chips_have_their_own_ids_also_where_the_runtime_keeps_no_counters(host: Host) -> None:
    host.tell("board 8 9 without-counters", "open 1 1 3", "buffer 2 1 DRAM 4096 2048")
    [told] = host.look().buffers

    assert told.chips == (CHIP + 3,)


def test_a_mesh_number_is_no_chip_number(host: Host) -> None:
    host.tell("open 5 1 0", "buffer 2 5 DRAM 4096 2048", "close 5", "open 7 1 0", "buffer 4 7 DRAM 4096 2048")
    look = host.look()

    assert look.open_chips == [CHIP]
    assert [(told.id, told.chips) for told in look.buffers] == [(4, (CHIP,))]


def test_closing_a_mesh_ends_all_of_it_and_late_frees_are_no_finding(host: Host) -> None:
    host.tell("open 1 1 0 1", "buffer 2 1 DRAM 4096 2048", "buffer 4 1 L1 4096 2048", "close 1")
    closed = host.look()
    host.tell("free 2", "free 4")
    look = host.look()

    assert (closed.alive, closed.open_chips) == ([], [])
    assert (look.alive, look.findings) == ([], {})
    assert (look.used(CHIP, Pool.DRAM), look.used(CHIP, Pool.L1)) == (0, 0)


def test_a_closed_mesh_holds_nothing_even_while_it_is_still_referred_to(host: Host) -> None:
    host.tell("open 1 1 0 1", "buffer 2 1 DRAM 4096 2048", *an_add(), "enqueue 1", "shut 1")
    shut = host.look()
    host.tell("free 2", "clear 1", "close 1")
    look = host.look()

    assert (shut.alive, shut.open_chips, shut.programs(CHIP)) == ([], [], {})
    assert [shut.used(CHIP, pool) for pool in (Pool.DRAM, Pool.CB, Pool.KERNEL)] == [0, 0, 0]
    assert (look.alive, look.findings) == ([], {})


def test_two_open_meshes_of_the_same_chips_are_distinguished(host: Host) -> None:
    host.tell("open 1 1 0 1", "open 3 1 0 1", "open 5 1 1", "buffer 2 1 DRAM 4096 2048", "buffer 4 3 DRAM 4096 2048")
    both = host.look()
    host.tell("close 1", "buffer 6 5 L1 4096 2048")
    other = host.look()
    host.tell("close 3")
    last = host.look()

    assert [(told.id, told.chips) for told in both.buffers] == [(2, (CHIP, CHIP + 1)), (4, (CHIP, CHIP + 1))]
    assert ([told.id for told in other.buffers], other.open_chips) == ([4, 6], [CHIP, CHIP + 1])
    assert ([told.id for told in last.buffers], last.open_chips) == ([6], [CHIP + 1])
    assert last.findings == {}


def test_what_runs_on_one_chip_outlives_another_mesh_that_has_the_chip(host: Host) -> None:
    host.tell("open 1 1 0 1", "open 3 1 0 1", "program 5", "kernel 5 data ttnn/x.cpp 0,0-0,0 64")
    host.tell("workload 5 3 0 0 5@0,0-0,0", "enqueue 5", "close 1")
    left = host.look()
    host.tell("close 3")
    look = host.look()

    assert [(told.program, told.chips) for told in left.kernels] == [(5, (CHIP,))]
    assert (look.alive, look.open_chips) == ([], [])


def test_figures_stay_exact_when_more_is_allocated_and_freed_than_the_table_holds(
    stand_in: StandIn, journals: Path
) -> None:
    with Host(stand_in, journals, TTMEM_TABLE=str(SMALLEST_TABLE)) as host:
        host.tell("open 1 1 0", *(f"buffer {2 * number} 1 DRAM 4096 2048" for number in range(1, 2 * SMALLEST_TABLE)))
        full = host.look().used(CHIP, Pool.DRAM)
        host.tell(*(f"free {2 * number}" for number in range(2, 2 * SMALLEST_TABLE)))
        left = host.look().used(CHIP, Pool.DRAM)

    assert full == (2 * SMALLEST_TABLE - 1) * 2048 * DRAM_BANKS
    assert left == 2048 * DRAM_BANKS


def test_two_meshes_are_closed_one_by_one(host: Host) -> None:
    host.tell("open 1 1 0", "open 3 1 1", "buffer 2 1 DRAM 4096 2048", "buffer 4 3 DRAM 4096 2048", "close 1")
    look = host.look()

    assert [(told.id, told.chips) for told in look.buffers] == [(4, (CHIP + 1,))]
    assert look.open_chips == [CHIP + 1]


def test_eight_threads_at_once_are_shown_to_the_byte(host: Host) -> None:
    host.tell("open 1 1 0", "together 8 churn 1 %0000 800 kept")
    look = host.look()

    assert len(look.buffers) == 8 * 16
    assert {told.id // 10_000 for told in look.buffers} == set(range(1, 9))
    assert look.used(CHIP, Pool.DRAM) == sum(told.reserved_bytes for told in look.buffers)
    assert look.findings == {}
    assert unequal(host.tell("tallies")) == []


def test_a_buffer_is_freed_by_another_thread_than_allocated_it(host: Host) -> None:
    host.tell("on 1 open 1 1 0", "on 2 buffer 2 1 DRAM 4096 2048", "on 3 buffer 4 1 DRAM 4096 2048", "on 4 free 2")
    look = host.look()

    assert [told.id for told in look.buffers] == [4]
    assert look.findings == {}


@pytest.mark.parametrize(("memory", "banks"), [("L1", L1_BANKS), ("DRAM", DRAM_BANKS)])
def test_a_refusal_is_shown_with_what_was_free_and_reaches_its_caller_unharmed(
    memory: str, banks: int, host: Host, stand_in: StandIn, journals: Path
) -> None:
    orders = ("open 1 1 0", f"buffer 2 1 {memory} {2048 * banks} 2048", f"buffer 4 1 {memory} {1 << 40} 2048")
    host.tell(*orders[:-1])
    before = host.look()
    thrown = host.tell(orders[-1])
    look = host.look()
    with Host(stand_in, journals, is_hooked=False) as plain:
        expected = plain.tell(*orders)
    bank_bytes = look.device(CHIP)["capacities"][Pool[memory]] // banks

    assert thrown == expected
    assert thrown.startswith(f"throws Out of Memory: Not enough space to allocate {1 << 40} B {memory} buffer")
    assert look.refusals_since(before) == [(CHIP, Pool[memory], 1 << 40, *[(bank_bytes - 2048) * banks] * 2)]
    assert [told.id for told in look.buffers] == [2]
    assert unequal(host.tell("tallies")) == []
    assert host.tell(f"buffer 6 1 {memory} 2048 2048").isdecimal()


def test_a_refusal_shows_the_largest_hole_beside_all_that_is_free(host: Host) -> None:
    """Of three buffers the middle one is freed: its hole and the rest are free, and neither is as large as both."""
    page_bytes = 2048 * DRAM_BANKS
    host.tell("open 1 1 0", *(f"buffer {number} 1 DRAM {8 * page_bytes} 2048" for number in (2, 4, 6)), "free 4")
    before = host.look()
    host.tell(f"buffer 8 1 DRAM {1 << 40} 2048")
    look = host.look()
    capacity = look.device(CHIP)["capacities"][Pool.DRAM]
    [(_, _, _, free, largest)] = look.refusals_since(before)

    assert (free, largest) == (capacity - 16 * page_bytes, capacity - 24 * page_bytes)


def test_a_request_that_is_refused_with_room_enough_is_shown_too(host: Host) -> None:
    """No figure in its words: what was asked for is the buffer's, what was free the allocator's, a moment later."""
    bank_bytes, page_bytes = 32_768, 2048
    host.tell(f"small {bank_bytes}", "open 1 1 0", f"buffer 2 1 L1_SMALL {page_bytes} {page_bytes} 1")
    before = host.look()
    thrown = host.tell("buffer 4 1 L1_SMALL 131072 2048")
    look = host.look()
    free = (bank_bytes - page_bytes) * L1_BANKS

    assert thrown == "throws L1_SMALL only supports sharded allocations"
    assert look.refusals_since(before) == [(CHIP, Pool.L1_SMALL, 131072, free, free)]
    assert [told.id for told in look.buffers] == [2]


def test_a_refusal_of_a_buffer_on_a_single_chip_is_shown_on_that_chip(host: Host) -> None:
    host.tell("open 1 1 0 1")
    before = host.look()
    thrown = host.tell(f"buffer 2 1@1 DRAM {1 << 40} 2048")
    look = host.look()

    assert thrown.startswith("throws Out of Memory: Not enough space to allocate")
    assert [(chip, pool) for chip, pool, *_ in look.refusals_since(before)] == [(CHIP + 1, Pool.DRAM)]


def test_a_thread_that_is_ended_inside_the_allocator_was_refused_nothing(host: Host) -> None:
    host.tell("open 1 1 0")
    before = host.look()
    ended = host.tell("ended buffer 2 1 DRAM 2048 2048")
    host.tell("buffer 4 1 DRAM 2048 2048")
    look = host.look()

    assert ended == "ended"
    assert (look.refusals_since(before), [told.id for told in look.buffers]) == ([], [4])
