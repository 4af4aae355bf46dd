"""Buffers whose ids want one place in the hook's memory of handles: each ends when it is freed, and no other one."""

from pathlib import Path

import pytest

from tests.support.journals.watching import Watch
from tests.support.stand_in.build import CURRENT, StandIn
from tests.support.stand_in.host import CHIP, Host
from ttmem.devices import Pool

PLACES = 1 << 15  # kHandles
SAME_PLACE = (2, 2 + PLACES, 2 + 2 * PLACES)
FORMS = (("DRAM", ""), ("L1", ""), ("L1", "8"))  # interleaved, and sharded over so many cores


def buffer(identity: int, mesh: int = 1, memory: str = "DRAM") -> str:
    return f"buffer {identity} {mesh} {memory} 4096 2048"


def told(host: Host) -> list[int]:
    return [one.id for one in host.look().buffers]


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2), (1, 2, 0)])
def test_buffers_of_one_place_are_freed_in_any_order(order: tuple[int, int, int], host: Host) -> None:
    host.tell("open 1 1 0", *map(buffer, SAME_PLACE))
    left, seen = set(SAME_PLACE), [told(host)]
    for number in order:
        host.tell(f"free {SAME_PLACE[number]}")
        left.remove(SAME_PLACE[number])
        seen.append(told(host))
        assert seen[-1] == sorted(left)

    assert seen[0] == list(SAME_PLACE)
    assert (host.look().findings, host.look().used(CHIP, Pool.DRAM)) == ({}, 0)


def test_a_place_is_taken_again_once_it_is_free(host: Host) -> None:
    host.tell("open 1 1 0", buffer(SAME_PLACE[0]), buffer(SAME_PLACE[1]), f"free {SAME_PLACE[0]}")
    host.tell(buffer(SAME_PLACE[2]), f"free {SAME_PLACE[1]}")

    assert told(host) == [SAME_PLACE[2]]
    host.tell(f"free {SAME_PLACE[2]}")
    assert (told(host), host.look().findings) == ([], {})


@pytest.mark.parametrize("identity", [(1 << 40) - 2, 1 << 40, (1 << 64) - 2])
def test_an_id_of_any_size_is_shown_and_freed(identity: int, host: Host) -> None:
    host.tell("open 1 1 0", buffer(identity), buffer(2))
    before = host.look()
    host.tell(f"free {identity}")

    assert [one.id for one in before.buffers] == [2, identity]
    assert (told(host), host.look().findings) == ([2], {})


def test_a_buffer_of_a_closed_mesh_frees_its_place(host: Host) -> None:
    """Nobody frees it before a later buffer wants the place, and then its late free is not that one's."""
    host.tell("open 1 1 0", buffer(2), "shut 1", "open 3 1 0", buffer(SAME_PLACE[1], 3), "free 2")

    assert told(host) == [SAME_PLACE[1]]
    host.tell(buffer(SAME_PLACE[2], 3), f"free {SAME_PLACE[1]}")
    assert told(host) == [SAME_PLACE[2]]
    host.tell(f"free {SAME_PLACE[2]}", "close 3", "close 1")
    assert (told(host), host.look().findings) == ([], {})


def test_buffers_of_two_copies_with_the_same_id_end_each_for_itself(host: Host, tmp_path: Path) -> None:
    copy = tmp_path / "libtt_metal.so"
    copy.write_bytes(host.stand_in.library(CURRENT).read_bytes())
    host.tell("open 1 1 0", buffer(2), f"load second {copy}", "open 1 1 1", buffer(2, memory="L1"))
    both = host.look()
    host.tell("use second", "free 2")
    first = host.look()
    host.tell(buffer(2, memory="L1"), "use first", "free 2")
    second = host.look()

    assert sorted(one.pool for one in both.buffers) == [Pool.DRAM, Pool.L1]
    assert [(one.pool, one.chips) for one in first.buffers] == [(Pool.DRAM, (CHIP,))]
    assert [(one.pool, one.chips) for one in second.buffers] == [(Pool.L1, (CHIP + 1,))]
    assert second.findings == {}


def test_a_runtime_that_was_unloaded_leaves_its_ids_to_the_next_one(host: Host) -> None:
    for number in range(3):
        host.tell("open 1 1 0", buffer(2), buffer(4))
        there = told(host)
        host.tell("free 4")

        assert (there, told(host)) == ([2, 4], [2]), number
        host.tell("unload first")  # with its mesh open
        host.load("first")
    host.tell("open 1 1 0", buffer(2), "free 2")
    assert (told(host), host.look().findings) == ([], {})


def test_a_forked_child_frees_nothing_of_its_parent_by_a_place(host: Host, watch: Watch) -> None:
    host.tell("open 1 1 0", buffer(2), buffer(4))
    host.tell(f"fork {buffer(SAME_PLACE[1])};free 2;{buffer(SAME_PLACE[2])};free {SAME_PLACE[1]};free 4")
    [child] = [row for row in watch.come_to_rest()["processes"] if row["pid"] != host.pid]

    assert [entry[2] for entry in watch.allocations(child["key"])] == [SAME_PLACE[2]]
    assert child["findings"] == {}
    host.tell("free 2")
    assert (told(host), host.look().findings) == ([4], {})


@pytest.mark.slow
def test_threads_that_share_places_are_shown_to_the_byte(host: Host) -> None:
    """Each goes through all places once, and leaves its last sixteen buffers."""
    host.tell("open 1 1 0", f"together 4 churn 1 %000000 {PLACES} kept")
    look = host.look()

    assert len(look.buffers) == 4 * 16
    assert look.used(CHIP, Pool.DRAM) == sum(one.reserved_bytes for one in look.buffers)
    assert look.findings == {}


def test_the_binaries_of_a_program_are_not_taken_for_a_buffer_of_the_same_place(
    stand_in: StandIn, journals: Path
) -> None:
    with Host(stand_in, journals) as host:
        host.tell("open 1 1 0", buffer(SAME_PLACE[0]), "program 5", "kernel 5 data ttnn/x.cpp 0,0-0,0 64")
        host.tell(f"workload 5 1 4096 {SAME_PLACE[1]} 5", "enqueue 5")
        with_binaries = host.look()
        host.tell(f"free {SAME_PLACE[0]}", buffer(SAME_PLACE[2]), "clear 5")
        look = host.look()

    assert with_binaries.used(CHIP, Pool.DRAM) > 2048 * 12
    assert [one.id for one in look.buffers] == [SAME_PLACE[2]]
    assert (look.used(CHIP, Pool.DRAM), look.findings) == (2048 * 12, {})


def test_buffers_that_only_look_like_earlier_ones_have_figures_of_their_own(host: Host) -> None:
    """Equal in size and page, but not in memory, layout, mesh or opening; each comes three times, on two threads."""
    kinds = [f"{mesh} {form} 65536 2048 {cores}" for mesh in (1, 3) for form, cores in FORMS]
    for opening in range(2):
        host.tell("open 1 1 0", "open 3 2 1 2")
        seen = [
            {figures(host, turn, 2 * (turn * len(kinds) + number) + 2, kind) for turn in range(3)}
            for number, kind in enumerate(kinds)
        ]
        look = host.look()
        on_first = [one.reserved_bytes for one in look.buffers if one.pool == Pool.L1 and one.chips == (CHIP,)]
        host.tell("close 3", "close 1")

        assert [len(one) for one in seen] == [1] * len(kinds), opening
        assert len(set.union(*seen)) == len(kinds), opening
        assert look.used(CHIP, Pool.L1) == sum(on_first), opening
    assert (told(host), host.look().findings) == ([], {})


def test_what_was_remembered_of_one_mesh_is_not_said_of_another(host: Host) -> None:
    """Buffers of one size again and again, on ever new meshes: there are more of these than a thread remembers."""
    for opening in range(24):
        chip, mesh = opening % 3, 2 * opening + 1
        host.tell(f"open {mesh} 1 {chip}", buffer(4 * opening + 2, mesh), buffer(4 * opening + 4, mesh, "L1"))
        pools = {one.id - 4 * opening: (one.pool, one.chips) for one in host.look().buffers}
        host.tell(f"close {mesh}")

        assert pools == {2: (Pool.DRAM, (CHIP + chip,)), 4: (Pool.L1, (CHIP + chip,))}, opening


def figures(host: Host, turn: int, identity: int, kind: str) -> tuple[object, ...]:
    """Of a new buffer: all but its id and address."""
    host.tell(f"on {turn % 2 + 1} buffer {identity} {kind}")
    look = host.look()
    [one] = [one for one in look.buffers if one.id == identity]
    sizes = (one.requested_bytes, one.per_bank_bytes, one.reserved_bytes)
    return (one.pool, one.chips, *sizes, *look.form_of(identity))
