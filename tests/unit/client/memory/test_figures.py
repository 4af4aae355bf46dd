"""What a process is told about its own memory is what it reported, and what a collector sees of it."""

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ttmem
from tests.unit.client.memory.conftest import GIB, LEFT, LEFT_INDEX, RIGHT_INDEX, Stage
from ttmem.client.memory import chips as own_chips
from ttmem.devices import BufferType, Pool

ONCE = settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
STEPS = st.lists(
    st.tuples(st.sampled_from(["left", "right", "mesh", "free", "reset"]), st.integers(0, 1 << 24)), max_size=40
)


class Tally:
    """The same story in plain sums: what each chip holds, and its highest since the last reset."""

    def __init__(self) -> None:
        self.held: dict[int, tuple[str, int]] = {}
        self.peaks = {"left": 0, "right": 0, "mesh": 0}

    def at(self, target: str) -> int:
        return sum(size for where, size in self.held.values() if where == target)

    def on(self, chip: str) -> int:
        return self.at(chip) + self.at("mesh")

    def peak_at_least(self, chip: str) -> int:
        return max(self.on(chip), self.peaks[chip], self.peaks["mesh"])

    def raise_peaks(self) -> None:
        self.peaks = {target: max(peak, self.at(target)) for target, peak in self.peaks.items()}

    def reset(self) -> None:
        self.peaks = {target: self.at(target) for target in self.peaks}


class Step(NamedTuple):
    number: int
    what: str
    amount: int


def play(stage: Stage, steps: list[tuple[str, int]], check: Callable[[Tally], None]) -> None:
    ttmem.reset_peak_memory_stats([LEFT_INDEX, RIGHT_INDEX])
    tally = Tally()
    handles: list[int] = []
    try:
        for number, (what, amount) in enumerate(steps):
            play_step(stage, Step(number, what, amount), tally, handles)
            check(tally)
    finally:
        for handle in handles:
            ttmem.report_free(handle)


def play_step(stage: Stage, step: Step, tally: Tally, handles: list[int]) -> None:
    if step.what == "reset":
        ttmem.reset_peak_memory_stats(LEFT_INDEX)
        ttmem.reset_peak_memory_stats(RIGHT_INDEX)
        tally.reset()
    elif step.what != "free":
        handle = ttmem.report_buffer_alloc(getattr(stage, step.what), step.number, step.amount, step.amount)
        handles.append(handle)
        tally.held[handle] = (step.what, step.amount)
        tally.raise_peaks()
    elif handles:
        handle = handles.pop(step.amount % len(handles))
        ttmem.report_free(handle)
        del tally.held[handle]


@ONCE
@given(steps=STEPS)
def test_any_story_is_told_as_it_was_and_as_a_collector_tells_it(stage: Stage, steps: list[tuple[str, int]]) -> None:
    def check(tally: Tally) -> None:
        for chip, index in (("left", LEFT_INDEX), ("right", RIGHT_INDEX)):
            assert ttmem.memory_allocated(index) == tally.on(chip)
            assert ttmem.max_memory_allocated(index) == tally.peak_at_least(chip)
            assert ttmem.mem_get_info(index) == (12 * GIB - tally.on(chip), 12 * GIB)
        assert len(ttmem.memory_snapshot(LEFT_INDEX)) == sum(where != "right" for where, _ in tally.held.values())

    play(stage, steps, check)
    ids = [ttmem.report_buffer_alloc(stage.mesh, at, 4096 * at) for at in range(1, len(steps) + 1)]

    assert ttmem.memory_allocated(LEFT) == stage.used(LEFT) == 4096 * sum(range(1, len(ids) + 1))
    for handle in ids:
        ttmem.report_free(handle)
    assert ttmem.memory_allocated(LEFT) == stage.used(LEFT) == 0


def test_the_peak_of_a_mesh_is_exact_and_starts_over_where_it_is_reset(stage: Stage) -> None:
    first, second = (ttmem.report_buffer_alloc(stage.mesh, at, 100) for at in (1, 2))
    ttmem.report_free(first)
    assert ttmem.max_memory_allocated(RIGHT_INDEX) == 200

    ttmem.reset_peak_memory_stats(RIGHT_INDEX)
    assert ttmem.max_memory_allocated(RIGHT_INDEX) == ttmem.memory_allocated(RIGHT_INDEX) == 100
    assert ttmem.max_memory_allocated(LEFT_INDEX) == 100  # the mesh has one figure

    third = ttmem.report_buffer_alloc(stage.mesh, 3, 50)
    ttmem.report_free(third)
    ttmem.report_free(second)
    assert ttmem.max_memory_allocated(RIGHT_INDEX) == 150


def test_a_reset_leaves_the_peaks_that_others_see_and_those_of_phases(stage: Stage) -> None:
    chip = ttmem.open_device(LEFT + 7, index=LEFT_INDEX + 7)  # whose peak no other test has raised

    def seen() -> tuple[int, int]:
        rows = stage.journal.rows()
        [number] = [row["number"] for row in rows["devices"] if row["unique_id"] == LEFT + 7]
        [process] = [row[6] for row in rows["process_pools"] if row[1:3] == (number, Pool.TRACE)]
        return process, next((row[4] for row in rows["phases"] if row[1:4] == ("face", number, Pool.TRACE)), 0)

    with ttmem.phase("face"):
        ttmem.report_free(ttmem.report_buffer_alloc(chip, 1, 7000, 0, 0, 0, BufferType.TRACE))
        ttmem.reset_peak_memory_stats(LEFT_INDEX + 7)
        ttmem.report_free(ttmem.report_buffer_alloc(chip, 1, 3000, 0, 0, 0, BufferType.TRACE))

    assert ttmem.max_memory_allocated(LEFT_INDEX + 7, "trace") == 3000
    assert seen() == (7000, 7000)


def test_phases_leave_the_own_peak(stage: Stage) -> None:
    ttmem.report_free(ttmem.report_buffer_alloc(stage.left, 1, 500))
    with ttmem.phase("face"):
        ttmem.report_free(ttmem.report_buffer_alloc(stage.left, 1, 400))

    assert ttmem.max_memory_allocated(LEFT_INDEX) == 500


class Device:
    """As a runtime's device: known by a number."""

    def __init__(self, number: int) -> None:
        self.number = number

    def id(self) -> int:
        return self.number


class Mesh(Device):
    """As a runtime's mesh: its own number is not that of a chip."""

    def get_device_ids(self) -> list[int]:
        return [LEFT_INDEX, RIGHT_INDEX]


@pytest.mark.parametrize(
    "device",
    [LEFT_INDEX, LEFT, f"0x{LEFT:x}", str(LEFT_INDEX), Device(LEFT_INDEX), [LEFT_INDEX], [Device(LEFT_INDEX)]],
    ids=["index", "unique id", "unique id as text", "index as text", "device", "list", "list of devices"],
)
def test_a_chip_goes_by_many_names(stage: Stage, device: Any) -> None:
    ttmem.report_buffer_alloc(stage.left, 1, 100, 0, 0, 0, BufferType.L1)

    assert ttmem.memory_allocated(device, "l1") == ttmem.memory_allocated(device, Pool.L1) == 100
    assert ttmem.mem_get_info(device, "l1") == ((64 << 20) - 100, 64 << 20)


def test_a_mesh_is_answered_for_by_the_chip_that_holds_most(stage: Stage) -> None:
    ttmem.report_buffer_alloc(stage.mesh, 1, 100)
    assert ttmem.memory_allocated(Mesh(LEFT_INDEX + 77)) == 100
    ttmem.report_buffer_alloc(stage.right, 2, 50)

    assert ttmem.memory_allocated(Mesh(1)) == 150
    assert ttmem.max_memory_allocated(Mesh(1)) == 150
    assert ttmem.mem_get_info(Mesh(1)) == (12 * GIB - 150, 12 * GIB)


def test_without_a_device_the_first_open_chip_is_meant(stage: Stage) -> None:
    others = [chip for chip in own_chips.chips() if chip.is_open and chip.index < LEFT_INDEX]
    assert others == []  # tests close what they open
    ttmem.report_buffer_alloc(stage.left, 1, 100)
    ttmem.report_buffer_alloc(stage.right, 2, 1)

    assert ttmem.memory_allocated() == 100
    ttmem.close(stage.mesh)
    ttmem.close(stage.left)
    assert ttmem.memory_allocated() == 1


@pytest.mark.parametrize("device", [-1, 4321, "0xffff", Device(4321), []])
def test_a_device_that_was_never_opened_holds_nothing(stage: Stage, device: Any) -> None:
    assert ttmem.memory_allocated(device) == ttmem.max_memory_allocated(device) == 0
    assert ttmem.mem_get_info(device) == (0, 0)
    assert ttmem.memory_snapshot(device) == []
    ttmem.reset_peak_memory_stats(device)


def test_what_is_no_device_and_what_is_no_pool_is_said(stage: Stage) -> None:
    for no_device in (object(), "the first"):
        with pytest.raises(TypeError, match="is no device: give an index"):
            ttmem.memory_allocated(no_device)
    with pytest.raises(ValueError, match="'vram' is no pool: known are dram, trace, l1"):
        ttmem.memory_allocated(0, "vram")


def test_a_closed_chip_holds_nothing_and_opens_again_empty(stage: Stage) -> None:
    ttmem.report_buffer_alloc(stage.left, 1, 100)
    ttmem.close(stage.left)
    assert ttmem.memory_allocated(LEFT_INDEX) == 0

    ttmem.open_device(LEFT, index=LEFT_INDEX)
    assert ttmem.memory_allocated(LEFT_INDEX) == 0
    assert ttmem.mem_get_info(LEFT_INDEX) == (0, 0)  # nobody says how much there is


def test_a_chip_that_gets_another_index_is_found_by_the_new_one(stage: Stage) -> None:
    ttmem.report_buffer_alloc(stage.left, 1, 100)
    assert ttmem.memory_allocated(LEFT_INDEX) == 100
    ttmem.open_device(LEFT, index=LEFT_INDEX + 50)

    assert (ttmem.memory_allocated(LEFT_INDEX), ttmem.memory_allocated(LEFT_INDEX + 50)) == (0, 100)


def test_with_tracking_off_all_answers_are_empty(stage: Stage) -> None:
    ttmem.report_buffer_alloc(stage.left, 1, 100)
    ttmem.disable()

    assert ttmem.memory_allocated(LEFT_INDEX) == ttmem.max_memory_allocated() == 0
    assert ttmem.mem_get_info() == (0, 0)
    assert ttmem.memory_snapshot() == []
    ttmem.reset_peak_memory_stats()
    assert "tracking is off" in ttmem.memory_summary()
    assert "ttmem run -- python" in ttmem.memory_summary()
