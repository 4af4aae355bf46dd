"""Buffers on single cores: what the stock runtime answered in its allocator mode HYBRID, and what is true of any of it.

A recorded step holds the runtime's answer: its address, or for each chip its addresses on the cores of the step, as
runs of equal ones; the whole text of a refusal; the view of its memory afterwards.
"""

import json
from collections.abc import Iterator
from itertools import chain, repeat
from math import prod
from pathlib import Path
from typing import Any

import pytest

from tests.support.ttnn.model_memory import Answer, Model
from ttmem.devices import BufferType
from ttmem.metal import Allocation, CoreRanges
from ttmem.metal.chips import board
from ttmem.metal.memory import AllocationRefused, Allocator, BadBuffer, BufferSpec, Layout, OutOfDeviceMemory, tensor

RECORDED = Path(__file__).parents[3] / "data" / "alloc" / "hybrid"
BOARDS = ["n150", "n300", "p150"]
PER_CORE, RANGE_LOCKSTEP, LOCKSTEP = Allocation.PER_CORE, Allocation.RANGE_LOCKSTEP, Allocation.LOCKSTEP
TOP = 1_499_136  # of the L1 of an n150
KIB = 1024


def recorded(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((RECORDED / f"{name}.json").read_text(encoding="utf-8"))
    return found


def model_of(name: str, record: dict[str, Any]) -> Model:
    chip = board(name).chip(l1_small_bytes=record["l1_small"])
    return Model(chip, chip_count=prod(record["mesh"]), is_hybrid=True)


def unpacked(answer: Answer) -> Answer:
    """With an address for each core."""
    if "addresses" not in answer:
        return answer
    chips = [list(chain.from_iterable(repeat(*run) for run in chip)) for chip in answer["addresses"]]
    return answer | {"addresses": chips}


@pytest.mark.parametrize("name", BOARDS)
def test_a_recorded_sequence_on_cores_comes_out_the_same(name: str) -> None:
    record = recorded(name)
    steps = record["steps"]
    runtime = [unpacked(step["answer"]) for step in steps]

    ours = model_of(name, record).steps(steps, runtime)

    assert [{word: value for word, value in answer.items() if word != "reserved"} for answer in ours] == runtime


@pytest.mark.parametrize("name", BOARDS)
def test_a_recorded_sequence_is_worth_replaying(name: str) -> None:
    """Each way to allocate was given memory and refused some; two chips came to differ."""
    record = recorded(name)
    for allocation in Allocation:
        answers = [step["answer"] for step in record["steps"] if step.get("allocation") == allocation.name]
        assert sum("refused" in answer for answer in answers) >= 10
        assert sum("address" in answer or "addresses" in answer for answer in answers) >= 10
    chips = [step["answer"].get("addresses", []) for step in record["steps"]]
    assert any(one != other for one, *others in filter(None, chips) for other in others) == (name == "n300")


def an_allocator(chip_count: int = 1) -> Allocator:
    return Allocator(board("n150").chip(), chip_count=chip_count, is_hybrid=True)


def on(cores: str, core_bytes: int, allocation: Allocation = PER_CORE, *, row_bytes: int = KIB) -> BufferSpec:
    """A buffer with a shard on each of these cores."""
    places = CoreRanges.parse(cores)
    rows = core_bytes // row_bytes
    return tensor(
        (rows * places.core_count, row_bytes),
        "uint8",
        buffer_type=BufferType.L1,
        layout=Layout.HEIGHT_SHARDED,
        is_tiled=False,
        shard=(rows, row_bytes),
        cores=places,
        allocation=allocation,
    )


def test_only_its_cores_give_memory_for_a_buffer_by_core() -> None:
    allocator = an_allocator()

    placement = allocator.allocate(on("1,0-2,1", 8 * KIB))

    assert placement.reserved_bytes == 4 * 8 * KIB
    assert placement.core_addresses == (4 * (TOP - 8 * KIB,),)
    assert allocator.statistics(BufferType.L1).allocated_bytes == 0  # the runtime's view does not show it either


def test_each_core_chooses_its_own_address() -> None:
    allocator = an_allocator()
    allocator.allocate(on("0,0-0,0", 16 * KIB))

    placement = allocator.allocate(on("0,0-1,0", 8 * KIB))

    assert placement.core_addresses == ((TOP - 24 * KIB, TOP - 8 * KIB),)


def test_a_lockstep_buffer_keeps_clear_of_every_core_and_a_range_lockstep_one_of_its_own() -> None:
    allocator = an_allocator()
    allocator.allocate(on("0,0-0,0", 16 * KIB))

    beside = allocator.allocate(on("1,0-1,0", 8 * KIB, RANGE_LOCKSTEP))
    below = allocator.allocate(on("1,0-1,0", 8 * KIB, LOCKSTEP))
    own = allocator.allocate(on("0,0-0,0", 8 * KIB, RANGE_LOCKSTEP))

    assert [one.address for one in (beside, below, own)] == [TOP - 8 * KIB, TOP - 24 * KIB, TOP - 32 * KIB]


def test_a_core_keeps_clear_of_every_lockstep_buffer_also_of_one_on_other_cores() -> None:
    allocator = an_allocator()
    allocator.allocate(on("7,7-7,7", 8 * KIB, RANGE_LOCKSTEP))

    assert allocator.allocate(on("0,0-0,0", 8 * KIB)).core_addresses == ((TOP - 16 * KIB,),)


def test_freed_on_all_cores_the_same_addresses_are_given_again() -> None:
    allocator = an_allocator()
    first = allocator.allocate(on("0,0-7,7", 600 * KIB))
    allocator.free(first)

    again = allocator.allocate(on("0,0-7,7", 600 * KIB))

    assert again.core_addresses == first.core_addresses
    assert allocator.live_count == 1


def test_what_a_refused_buffer_took_on_earlier_cores_is_lost_on_the_chip_that_refused() -> None:
    allocator = an_allocator(chip_count=2)
    allocator.allocate(on("2,0-2,0", 1000 * KIB))
    with pytest.raises(OutOfDeviceMemory):
        allocator.allocate(on("0,0-3,0", 480 * KIB))

    after = allocator.allocate(on("0,0-3,0", 8 * KIB))

    full, free = TOP - 1008 * KIB, TOP - 8 * KIB
    lost = TOP - 488 * KIB
    assert after.core_addresses == ((lost, lost, full, free), (free, free, full, free))
    allocator.clear()
    assert allocator.allocate(on("0,0-0,0", 8 * KIB)).core_addresses == ((free,), (free,))


def test_the_refusal_of_a_core_has_the_figures_of_that_core() -> None:
    allocator = an_allocator()
    allocator.allocate(on("1,0-1,0", 1000 * KIB))
    with pytest.raises(OutOfDeviceMemory) as refused:
        allocator.allocate(on("0,0-1,0", 480 * KIB))

    assert str(refused.value) == (
        "Out of Memory: Not enough space after considering dependencies to allocate 491520 B L1 across 1 banks "
        "(491520 B per bank), bank size is 1393312 B (allocated: 1024000 B, free: 369312 B, largest free block: "
        "369312 B). After subtracting 0 dependency range(s) and 0 additional occupied range(s), 0 B remained placeable "
        "across 0 window(s), largest 0 B."
    )


def test_circular_buffers_must_end_below_what_their_own_cores_hold() -> None:
    allocator = an_allocator()
    allocator.allocate(on("2,0-2,0", 1000 * KIB))

    assert allocator.lowest_l1_address == allocator.lowest_l1_address_on([(2, 0)]) == TOP - 1000 * KIB
    assert allocator.lowest_l1_address_on([(0, 0), (3, 3)]) is None


def test_pages_in_l1_are_aligned_as_in_dram() -> None:
    spec = on("0,0-0,0", 80, row_bytes=40)

    assert Allocator(board("n150").chip()).allocate(on("0,0-0,0", 80, LOCKSTEP, row_bytes=40)).block_bytes == 96
    assert an_allocator().allocate(spec).block_bytes == 128
    assert an_allocator().allocate(on("0,0-0,0", 80, LOCKSTEP, row_bytes=40)).block_bytes == 128


def test_without_the_mode_a_buffer_by_core_is_refused_and_range_lockstep_is_lockstep() -> None:
    allocator = Allocator(board("n150").chip())
    with pytest.raises(
        AllocationRefused, match=r"^Per-core allocation requires AllocatorMode::HYBRID when opening the device$"
    ):
        allocator.allocate(on("0,0-0,0", KIB))

    assert allocator.allocate(on("0,0-0,0", KIB, RANGE_LOCKSTEP)).address == TOP - KIB


def test_a_lockstep_buffer_of_no_bytes_is_refused_in_the_mode_and_one_by_core_lies_nowhere() -> None:
    nothing = BufferSpec(0, KIB, BufferType.L1)
    with pytest.raises(AllocationRefused, match=r"^Failed to mirror allocation at address 0 of size 0 in allocator 0 "):
        an_allocator().allocate(nothing)

    spec = tensor(
        (0, 32),
        "bfloat16",
        buffer_type=BufferType.L1,
        layout=Layout.HEIGHT_SHARDED,
        shard=(32, 32),
        grid=(4, 1),
        allocation=PER_CORE,
    )
    assert an_allocator().allocate(spec).reserved_bytes == 0


def misfits() -> Iterator[tuple[dict[str, Any], str]]:
    sharded = {"layout": Layout.HEIGHT_SHARDED, "shard": (32, 32), "grid": (1, 1), "buffer_type": BufferType.L1}
    yield sharded | {"buffer_type": BufferType.DRAM}, "per_core_allocation is only supported for L1 buffers"
    yield {"buffer_type": BufferType.L1}, "per_core_allocation requires a sharded memory layout"
    yield sharded | {"grid": None}, "per_core_allocation without cores"
    yield sharded | {"grid": None, "cores": [(0, 0), (0, 0)]}, "as many different cores"
    yield sharded | {"grid": None, "cores": ["0,0"]}, "a core is its column and row"
    block = sharded | {"layout": Layout.BLOCK_SHARDED, "grid": None}
    yield block | {"cores": [(0, 0), (1, 0), (0, 1)]}, "blocks need a rectangle of cores"
    yield sharded | {"allocation": "PER_CORE"}, "use Allocation, like Allocation.PER_CORE"


@pytest.mark.parametrize(("options", "text"), list(misfits()))
def test_what_cannot_lie_on_cores_says_why(options: dict[str, Any], text: str) -> None:
    with pytest.raises(BadBuffer, match=text):
        tensor((32, 32), "bfloat16", **({"allocation": PER_CORE} | options))


def test_a_core_that_the_chip_does_not_have_is_refused_in_the_runtimes_words() -> None:
    with pytest.raises(AllocationRefused, match=r"^Invalid shard grid: shard core \(8, 0\) has no L1 bank .* has 64 "):
        an_allocator().allocate(on("7,0-8,0", KIB))
