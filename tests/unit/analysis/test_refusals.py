"""Made-up refusals with known answers: the set to free is the one that the model's own allocator needs, and no smaller
one will do, tried one by one."""

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

import pytest

from tests.support.metal.refused_memory import KIB, MIB, RefusingChip
from ttmem.analysis import Cause, Explanation, explain
from ttmem.devices import BufferType
from ttmem.metal import Allocation, CoreRanges
from ttmem.metal.memory import BufferSpec


class Refusal(NamedTuple):
    """What is alive, what is asked for, and the answers that are known beforehand."""

    chip: RefusingChip
    asked: BufferSpec
    cause: Cause
    frees: set[str] | None  # the set that must be named; None: any of the smallest
    owner: str | None  # the line that holds most


def fragmented_dram() -> Refusal:
    """Short requests left holes between long ones: any one of those between two holes will do."""
    chip = RefusingChip()
    for number in range(6):
        chip.hold(f"short{number}", chip.dram(40 * MIB), "batch.py:31 handle")
        chip.hold(f"long{number}", chip.dram(60 * MIB), "cache.py:54 keep_prefix")
    rest = chip.allocator.statistics(BufferType.DRAM).largest_free_bytes // 32 * 32
    chip.hold("weights", chip.dram(rest), "model.py:12 load")
    chip.free(*(f"short{number}" for number in range(6)))
    return Refusal(chip, chip.dram(56 * MIB), "fragmented", {"long0"}, "model.py:12 load")


def one_big_holder() -> Refusal:
    chip = RefusingChip()
    chip.hold("mask", chip.l1(60 * KIB), "model.py:31 masks")
    chip.hold("attention", chip.l1(700 * KIB), "model.py:77 attention")
    chip.hold("hidden", chip.l1(100 * KIB), "model.py:90 mlp")
    return Refusal(chip, chip.l1(612 * KIB), "full", {"attention"}, "model.py:77 attention")


def leak() -> Refusal:
    """Each token leaves 28 KiB; to make room for 300 KiB, several of them must go."""
    chip = RefusingChip()
    chip.hold("weights", chip.l1(600 * KIB), "model.py:12 load")
    token = 0
    while chip.allocator.statistics(BufferType.L1).free_bytes > 200 * KIB:
        chip.hold(f"hidden{token}", chip.l1(28 * KIB), "model.py:131 keep_hidden")
        token += 1
    return Refusal(chip, chip.l1(300 * KIB), "full", {"weights"}, "model.py:12 load")


def leak_of_most() -> Refusal:
    """Without anything large: the newest of the leak border on what is free."""
    chip = RefusingChip()
    for token in range(10):
        chip.hold(f"hidden{token}", chip.l1(112 * KIB), "model.py:131 keep_hidden")
    return Refusal(chip, chip.l1(400 * KIB), "full", {"hidden8", "hidden9"}, "model.py:131 keep_hidden")


def floor_pinned_by_four_bytes() -> Refusal:
    """A semaphore of 4 bytes, made while L1 was full, stays in the middle of what is free."""
    chip = RefusingChip()
    chip.hold("large", chip.l1(700 * KIB), "model.py:77 attention")
    chip.hold("semaphore", chip.l1(4), "model.py:31 semaphores")
    chip.free("large")
    return Refusal(chip, chip.l1(1000 * KIB), "fragmented", {"semaphore"}, "model.py:31 semaphores")


def fewest_bytes_of_equal_sets() -> Refusal:
    """Either of two would do: the smaller is named."""
    chip = RefusingChip()
    chip.hold("top", chip.l1(300 * KIB), "model.py:1 a")
    chip.hold("gap", chip.l1(200 * KIB), "model.py:2 b")
    chip.hold("middle", chip.l1(250 * KIB), "model.py:3 c")
    rest = chip.allocator.statistics(BufferType.L1).free_bytes - 200 * KIB
    chip.hold("bottom", chip.l1(rest // 32 * 32), "model.py:4 d")
    chip.free("gap")
    return Refusal(chip, chip.l1(440 * KIB), "full", {"middle"}, "model.py:4 d")


def three_must_go() -> Refusal:
    chip = RefusingChip()
    for number in range(9):
        chip.hold(f"kept{number}", chip.l1(150 * KIB), f"model.py:{number} kept")
    return Refusal(chip, chip.l1(430 * KIB), "full", {"kept6", "kept7", "kept8"}, "model.py:0 kept")


def more_than_there_is() -> Refusal:
    chip = RefusingChip()
    chip.hold("hidden", chip.l1(100 * KIB), "model.py:90 mlp")
    return Refusal(chip, chip.l1(1500 * KIB), "too_large", None, "model.py:90 mlp")


def binary_in_the_way() -> Refusal:
    """The smallest thing between the holes is a program's binary: it is named and not proposed."""
    chip = RefusingChip()
    for number, (size, kind) in enumerate([(10, "buffer"), (1, "program_binary"), (10, "buffer"), (30, "buffer")]):
        chip.hold(f"hole{number}", chip.dram(100 * MIB))
        chip.hold(f"kept{number}", chip.dram(size * MIB), f"model.py:{number} kept", kind=kind)
    rest = chip.allocator.statistics(BufferType.DRAM).largest_free_bytes // 32 * 32
    chip.hold("weights", chip.dram(rest), "model.py:12 load")
    chip.free(*(f"hole{number}" for number in range(4)))
    return Refusal(chip, chip.dram(180 * MIB), "fragmented", {"kept0"}, "model.py:12 load")


def only_traces() -> Refusal:
    """All of DRAM that matters holds captured traces."""
    chip = RefusingChip()
    chip.hold("trace0", chip.dram(500 * MIB), kind="trace_buffer")
    chip.hold("trace1", chip.dram(500 * MIB), kind="trace_buffer")
    return Refusal(chip, chip.dram(100 * MIB), "full", None, None)


def trace_region() -> Refusal:
    chip = RefusingChip(trace_region_bytes=96 * MIB)
    chip.hold("trace0", chip.dram(6 * MIB, BufferType.TRACE))
    return Refusal(chip, chip.dram(4 * MIB, BufferType.TRACE), "full", None, None)


def two_allocators() -> Refusal:
    """L1_SMALL is short while L1 is nearly empty: only what lies in L1_SMALL counts."""
    chip = RefusingChip(l1_small_bytes=32 * KIB)
    chip.hold("activations", chip.l1(900 * KIB), "model.py:90 mlp")
    for number in range(3):
        spec = chip.on_cores("0,0-7,7", 10 * KIB, Allocation.LOCKSTEP, BufferType.L1_SMALL)
        chip.hold(f"halo{number}", spec, "conv.py:5 halo")
    asked = chip.on_cores("0,0-7,7", 11 * KIB, Allocation.LOCKSTEP, BufferType.L1_SMALL)
    return Refusal(chip, asked, "full", {"halo2"}, "conv.py:5 halo")


def mesh_of_eight() -> Refusal:
    chip = RefusingChip("n300", chip_count=8)
    chip.hold("mask", chip.l1(60 * KIB), "model.py:31 masks")
    chip.hold("attention", chip.l1(800 * KIB), "model.py:77 attention")
    return Refusal(chip, chip.l1(900 * KIB), "full", {"attention"}, "model.py:77 attention")


def blackhole() -> Refusal:
    """Blocks are multiples of 64 there: a buffer of 33 bytes takes 64."""
    chip = RefusingChip("p150")
    free = chip.allocator.statistics(BufferType.L1).free_bytes
    chip.hold("large", chip.l1(free // 2 // 64 * 64), "model.py:77 attention")
    chip.hold("flag", chip.l1(33), "model.py:31 flags")
    chip.free("large")
    return Refusal(chip, chip.l1(free - 64), "fragmented", {"flag"}, "model.py:31 flags")


def per_core() -> Refusal:
    """Asked of four cores; one of them is held by somebody."""
    chip = RefusingChip(is_hybrid=True)
    chip.hold("scratch", chip.on_cores("1,0-1,0", 900 * KIB), "moe.py:8 scratch")
    chip.hold("other", chip.on_cores("5,5-5,5", 1200 * KIB), "moe.py:9 other")
    return Refusal(chip, chip.on_cores("0,0-3,0", 600 * KIB), "full", {"scratch"}, "moe.py:9 other")


def per_core_two_lines() -> Refusal:
    """Two cores, each held by somebody else, and a third by one who must not go."""
    chip = RefusingChip(is_hybrid=True)
    chip.hold("left", chip.on_cores("0,0-0,0", 900 * KIB), "moe.py:8 left")
    chip.hold("right", chip.on_cores("1,0-1,0", 800 * KIB), "moe.py:9 right")
    chip.hold("far", chip.on_cores("2,0-2,0", 700 * KIB), "moe.py:10 far")
    return Refusal(chip, chip.on_cores("0,0-2,0", 600 * KIB), "full", {"left", "right"}, "moe.py:8 left")


def per_core_one_for_all() -> Refusal:
    """One buffer on both cores stands against one on each: freeing the shared one makes room on both."""
    chip = RefusingChip(is_hybrid=True)
    chip.hold("left", chip.on_cores("0,0-0,0", 400 * KIB), "moe.py:8 left")
    chip.hold("right", chip.on_cores("1,0-1,0", 450 * KIB), "moe.py:9 right")
    chip.hold("shared", chip.on_cores("0,0-1,0", 500 * KIB), "moe.py:10 shared")
    return Refusal(chip, chip.on_cores("0,0-1,0", 800 * KIB), "full", {"shared"}, "moe.py:10 shared")


def hybrid_with_a_large_free_block() -> Refusal:
    """The lockstep allocator has a block that is large enough, but buffers of single cores lie in it."""
    chip = RefusingChip(is_hybrid=True)
    chip.hold("weights", chip.l1(500 * KIB), "model.py:12 load")
    chip.hold("spill", chip.on_cores("3,3-3,3", 300 * KIB), "moe.py:8 spill")
    return Refusal(chip, chip.l1(700 * KIB), "cores_in_the_way", {"spill"}, "model.py:12 load")


def hybrid_on_many_cores() -> Refusal:
    """Several buffers of single cores at different addresses: two must go."""
    chip = RefusingChip(is_hybrid=True)
    for number, size in enumerate([200, 500, 800]):
        chip.hold(f"spill{number}", chip.on_cores(f"{number},3-{number},3", size * KIB), f"moe.py:{number} spill")
    return Refusal(chip, chip.l1(1000 * KIB), "cores_in_the_way", {"spill1", "spill2"}, "moe.py:2 spill")


def sharded_on_fewer_cores() -> Refusal:
    """The runtime counts the shards of what was asked for; every bank gives up a block all the same."""
    chip = RefusingChip()
    for name, kib in (("mask", 60), ("attention", 430)):
        chip.hold(name, chip.on_cores("0,0-7,6", kib * KIB, Allocation.LOCKSTEP), f"model.py:{kib} {name}")
    asked = chip.on_cores("0,0-7,6", 1100 * KIB, Allocation.LOCKSTEP)
    return Refusal(chip, asked, "full", {"attention"}, "model.py:430 attention")


def sharded_on_fewer_cores_beside_flags() -> Refusal:
    """All that is alive is smaller than a block."""
    chip = RefusingChip()
    for number in range(3):
        chip.hold(f"large{number}", chip.l1(400 * KIB))
        chip.hold(f"flag{number}", chip.on_cores("0,0-7,6", 4, Allocation.LOCKSTEP), f"model.py:{number} flags")
    chip.free(*(f"large{number}" for number in range(3)))
    asked = chip.on_cores("0,0-7,6", 700 * KIB, Allocation.LOCKSTEP)
    return Refusal(chip, asked, "fragmented", {"flag1"}, "model.py:0 flags")


SUB_DEVICES = ["0,0-3,3", "4,0-7,3"]


def with_sub_devices() -> RefusingChip:
    """Two of 16 cores, each with 256 KiB of its own."""
    chip = RefusingChip()
    chip.allocator.load_sub_devices([CoreRanges.parse(cores) for cores in SUB_DEVICES], 256 * KIB)
    return chip


def of_a_sub_device(chip: RefusingChip, number: int, core_bytes: int) -> BufferSpec:
    return chip.on_cores(SUB_DEVICES[number], core_bytes, Allocation.LOCKSTEP, sub_device=number)


def sub_device() -> Refusal:
    """The other sub-device holds the same addresses, and the mesh those above: neither is in the way."""
    chip = with_sub_devices()
    chip.hold("weights", chip.l1(900 * KIB), "model.py:12 load")
    chip.hold("neighbour", of_a_sub_device(chip, 1, 240 * KIB), "expert.py:9 other")
    chip.hold("cache", of_a_sub_device(chip, 0, 40 * KIB), "expert.py:20 cache")
    chip.hold("scratch", of_a_sub_device(chip, 0, 150 * KIB), "expert.py:8 scratch")
    return Refusal(chip, of_a_sub_device(chip, 0, 200 * KIB), "full", {"scratch"}, "expert.py:8 scratch")


def fragmented_sub_device() -> Refusal:
    chip = with_sub_devices()
    chip.hold("neighbour", of_a_sub_device(chip, 0, 250 * KIB), "expert.py:9 other")
    chip.hold("gap", of_a_sub_device(chip, 1, 100 * KIB), "expert.py:30 gap")
    chip.hold("flag", of_a_sub_device(chip, 1, 32), "expert.py:31 flag")
    chip.free("gap")
    return Refusal(chip, of_a_sub_device(chip, 1, 200 * KIB), "fragmented", {"flag"}, "expert.py:31 flag")


def mesh_above_its_sub_devices() -> Refusal:
    """What sub-devices hold lies below the addresses of the mesh, and freeing it would not help."""
    chip = with_sub_devices()
    chip.hold("expert", of_a_sub_device(chip, 0, 250 * KIB), "expert.py:8 scratch")
    chip.hold("mask", chip.l1(60 * KIB), "model.py:31 masks")
    chip.hold("attention", chip.l1(600 * KIB), "model.py:77 attention")
    return Refusal(chip, chip.l1(700 * KIB), "full", {"attention"}, "model.py:77 attention")


REFUSALS: list[Callable[[], Refusal]] = [
    *(fragmented_dram, one_big_holder, leak, leak_of_most, floor_pinned_by_four_bytes, fewest_bytes_of_equal_sets),
    *(three_must_go, more_than_there_is, binary_in_the_way, only_traces, trace_region, two_allocators, mesh_of_eight),
    *(blackhole, per_core, per_core_two_lines, per_core_one_for_all, hybrid_with_a_large_free_block),
    *(sharded_on_fewer_cores, sharded_on_fewer_cores_beside_flags),
    *(hybrid_on_many_cores, sub_device, fragmented_sub_device, mesh_above_its_sub_devices),
]


def explained(refusal: Refusal) -> Explanation:
    return explain(refusal.chip.refused(refusal.asked, "model.py:118 forward < model.py:201 main"))


@pytest.mark.parametrize("make", REFUSALS)
def test_the_buffers_to_free_are_the_fewest_that_the_model_needs(make: Callable[[], Refusal]) -> None:
    refusal = make()
    found = explained(refusal)
    by_trying = refusal.chip.fewest_by_trying(refusal.asked)

    assert found.cause == refusal.cause
    assert found.holders[0].name == refusal.owner
    if refusal.frees is None:
        assert (found.freeing, by_trying) == (None, [])
        return
    assert found.freeing is not None
    freed = {entry.id for entry in found.freeing.entries}
    assert freed == refusal.frees
    assert freed in by_trying
    assert found.freeing.is_least
    sizes = {name: held.placement.reserved_bytes for name, held in refusal.chip.held.items()}
    assert sum(sizes[name] for name in freed) == min(sum(sizes[name] for name in some) for some in by_trying)


@pytest.mark.parametrize("make", REFUSALS)
def test_the_holes_are_those_of_the_model(make: Callable[[], Refusal]) -> None:
    refusal = make()
    found = explained(refusal)
    figures = refusal.chip.allocator.statistics(refusal.asked.buffer_type)
    space = refusal.chip.allocator.space_of(refusal.asked)

    for line in found.lines:
        assert (line.begin_address, line.end_address) == (space.begin, space.end)
        assert sum(stretch.size_bytes for stretch in line.stretches) == space.end - space.begin
    if space.cores:
        [line] = found.lines
        assert line.cores == SUB_DEVICES[refusal.asked.sub_device or 0]
    elif refusal.cause != "cores_in_the_way" and not found.incident.is_per_core:
        [line] = found.lines
        assert (line.free_bytes, line.largest_free_bytes) == (figures.free_bytes, figures.largest_free_bytes)
        assert line.hole_count == sum(not block.is_allocated for block in _blocks(refusal))
    assert found.notes == ()


@pytest.mark.parametrize("make", REFUSALS)
def test_each_buffer_has_its_size_in_a_bank(make: Callable[[], Refusal]) -> None:
    refusal = make()
    found = explained(refusal)
    held = refusal.chip.held.values()
    of_line = {one.line: one.placement.block_bytes for one in held if one.line}
    lines = Counter(one.line for one in held)

    sizes = {holder.name: holder.size_bytes for holder in found.holders if holder.name and lines[holder.name] == 1}
    assert sizes == {name: of_line[name] for name in sizes}


def test_the_line_of_a_sub_device_has_its_own_buffers_alone() -> None:
    chip = sub_device().chip
    found = explain(chip.refused(of_a_sub_device(chip, 0, 200 * KIB), "expert.py:40 step"))
    [line] = found.lines

    assert (line.cores, line.core_count) == ("0,0-3,3", 16)
    assert line.end_address - line.begin_address == 256 * KIB
    assert line.begin_address == chip.allocator.base_address(BufferType.L1) - 256 * KIB
    assert line.free_bytes == (256 - 150 - 40) * KIB
    assert {holder.name for holder in found.holders} == {"expert.py:8 scratch", "expert.py:20 cache"}


def _blocks(refusal: Refusal) -> list:  # type: ignore[type-arg]
    return list(refusal.chip.allocator.blocks(refusal.asked.buffer_type))


def test_the_block_that_freeing_a_line_opens_is_what_the_model_then_has() -> None:
    refusal = fragmented_dram()
    found = explained(refusal)
    prefix = next(holder for holder in found.holders if holder.name == "cache.py:54 keep_prefix")

    refusal.chip.free(*(f"long{number}" for number in range(6)))

    largest = refusal.chip.allocator.statistics(BufferType.DRAM).largest_free_bytes
    assert (prefix.block_if_freed_bytes, prefix.count) == (largest, 6)


def test_as_many_choices_are_counted_as_would_do() -> None:
    refusal = fragmented_dram()
    found = explained(refusal)

    assert found.freeing is not None
    assert found.freeing.choice_count == len(refusal.chip.fewest_by_trying(refusal.asked))
