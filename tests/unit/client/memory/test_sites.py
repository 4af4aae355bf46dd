"""Python stacks of allocations: the lines that asked, whoever holds the interpreter lock, at a bounded price."""

import ctypes
import gc
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import ttmem
from tests.support.processes.native_programs import CLIENT_LIBRARY
from tests.unit.client.memory.conftest import LEFT_INDEX, Stage
from ttmem import _native
from ttmem.client.memory.listing import LiveAllocation

HERE = "/".join(Path(__file__).parts[-3:])


@pytest.fixture(autouse=True)
def recorded(stage: Stage) -> Iterator[None]:
    ttmem.record_sites()
    yield
    ttmem.forget_sites()


def line_of(function: Callable[..., object], text: str) -> int:
    """The line of a function's source that holds this text."""
    import inspect

    lines, first = inspect.getsourcelines(function)
    [found] = [number for number, line in enumerate(lines, first) if text in line and "line_of" not in line]
    return found


def only() -> LiveAllocation:
    [one] = ttmem.memory_snapshot(LEFT_INDEX)
    return one


def allocate(stage: Stage, number: int = 1) -> int:
    return ttmem.report_buffer_alloc(stage.left, number, 100)


def test_a_buffer_names_the_line_that_asked_and_the_lines_that_led_there(stage: Stage) -> None:
    def led() -> int:
        return allocate(stage)

    led()

    stack = only()["stack"]
    assert stack[0] == f"{HERE}:{line_of(allocate, 'return')} allocate"
    assert stack[1].startswith(f"{HERE}:{line_of(led, 'return')} ")
    assert stack[1].endswith("led")
    assert stack[2].startswith(f"{HERE}:")


def test_two_calls_on_different_lines_are_two_sites_and_the_same_line_is_one(stage: Stage) -> None:
    for number in range(50):
        allocate(stage, number)
    for number in range(50, 100):
        allocate(stage, number)
    allocate(stage, 100)
    allocate(stage, 101)

    assert len({tuple(one["stack"]) for one in ttmem.memory_snapshot(LEFT_INDEX)}) == 4


def test_a_stack_that_is_known_is_not_known_again(stage: Stage) -> None:
    known = []
    for _ in range(40):  # a call that Python has got used to returns elsewhere: then it is another stack once more
        for number in range(10):
            allocate(stage, number)
        known.append(_native.own.stack_node_count())

    assert known[-1] == known[20]
    assert known[-1] - known[0] <= 4


def test_a_deep_stack_keeps_its_sixteen_innermost_frames(stage: Stage) -> None:
    def down(depth: int) -> None:
        if depth:
            down(depth - 1)
        else:
            allocate(stage)

    down(40)

    stack = only()["stack"]
    assert len(stack) <= 16
    assert stack[0].endswith(" allocate")
    assert all("down" in frame for frame in stack[1:])


def test_a_site_that_is_told_is_kept(stage: Stage) -> None:
    ttmem.report_buffer_alloc(stage.left, 1, 100, 0, 0, 0, 0, _native.client.intern("told"))

    assert only()["stack"] == ["told"]


def test_code_that_is_made_anew_at_the_same_place_is_not_taken_for_the_old_one(stage: Stage) -> None:
    for number in range(200):
        names = {"report": ttmem.report_buffer_alloc, "target": stage.left}
        exec(compile(f"def made_{number}():\n report(target, {number}, 1)\nmade_{number}()", "made", "exec"), names)
        del names
        gc.collect(0)

    told = {one["id"]: one["stack"][0] for one in ttmem.memory_snapshot(LEFT_INDEX)}
    assert told == {number: f"made:2 made_{number}" for number in range(200)}


def test_names_in_any_script_are_told_and_a_new_line_in_one_ends_no_frame(stage: Stage) -> None:
    names = {"report": ttmem.report_buffer_alloc, "target": stage.left}
    exec(compile("def größe_中():\n report(target, 1, 1)\ngröße_中()", "Ünï\n𝔠ode\udcff", "exec"), names)

    assert only()["stack"][:2] == ["Ünï?𝔠ode?:2 größe_中", "Ünï?𝔠ode?:3 <module>"]


def test_generators_and_comprehensions_and_lambdas_are_frames_too(stage: Stage) -> None:
    def numbers() -> Iterator[int]:
        yield allocate(stage)

    (lambda: [next(one) for one in [numbers()]])()

    words = [frame.rsplit(" ", 1)[-1].rsplit(".", 1)[-1] for frame in only()["stack"]]
    assert words[:2] == ["allocate", "numbers"]
    assert "<lambda>" in words[2:4]


class Buffer(ctypes.Structure):
    """ttmem_buffer, for those who report without Python's help."""

    _fields_ = (
        *((name, ctypes.c_uint64) for name in ("id", "address", "requested", "reserved", "per_bank", "page")),
        ("site", ctypes.c_uint32),
        ("target", ctypes.c_uint16),
        *((name, ctypes.c_uint8) for name in ("type", "options", "layout")),
    )


@pytest.mark.parametrize("library", [ctypes.CDLL, ctypes.PyDLL], ids=["lock given away", "lock held"])
def test_the_lock_need_not_be_held(stage: Stage, library: type[ctypes.CDLL]) -> None:
    copy = library(str(CLIENT_LIBRARY))
    copy.ttmem_buffer_alloc_on(ctypes.byref(Buffer(id=1, reserved=10, target=stage.left)))

    assert only()["stack"][0].endswith(" test_the_lock_need_not_be_held")


def test_a_thread_of_python_has_its_own_stack(stage: Stage) -> None:
    threads = [threading.Thread(target=allocate, args=(stage, number)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    for one in ttmem.memory_snapshot(LEFT_INDEX):
        assert one["stack"][0].endswith(" allocate")
        assert not any("test_a_thread_of_python" in frame for frame in one["stack"])


def test_threads_that_ask_at_once_come_to_one_site(stage: Stage) -> None:
    copy = ctypes.CDLL(str(CLIENT_LIBRARY))
    start = threading.Barrier(4)

    def report(first: int) -> None:
        start.wait()
        for number in range(first, first + 200):
            copy.ttmem_buffer_alloc_on(ctypes.byref(Buffer(id=number, reserved=1, target=stage.left)))

    threads = [threading.Thread(target=report, args=(1000 * number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len({tuple(one["stack"]) for one in ttmem.memory_snapshot(LEFT_INDEX)}) == 1


def test_after_forgetting_buffers_have_no_stack_and_old_ones_keep_theirs(stage: Stage) -> None:
    allocate(stage, 1)
    ttmem.forget_sites()
    allocate(stage, 2)

    assert [bool(one["stack"]) for one in ttmem.memory_snapshot(LEFT_INDEX)] == [True, False]


def test_frames_of_the_test_runner_and_of_ttmem_are_left_out(stage: Stage) -> None:
    with ttmem.phase("held"):
        ttmem.phase("run")(allocate)(stage)

    files = {frame.rsplit(":", 1)[0] for frame in only()["stack"]}
    assert HERE in files
    assert not any(name in file for file in files for name in ("pytest", "pluggy", "ttmem/client"))


@pytest.mark.slow
def test_twenty_thousand_stacks_take_nothing_from_names_chips_and_figures(stage: Stage) -> None:
    names = {"report": ttmem.report_buffer_alloc, "target": stage.left}
    for first in range(0, 20_000, 100):  # in files of usual length: a line is looked up from the beginning of its code
        lines = (f"def f{n}(): report(target, {n}, 3)\nf{n}()" for n in range(first, first + 100))
        exec(compile("\n".join(lines), f"many_{first}.py", "exec"), names)
    late = ttmem.open_device(0x77, index=7)

    with ttmem.phase("after"):
        ttmem.report_buffer_alloc(late, 1, 50)

    told = ttmem.memory_snapshot(LEFT_INDEX)
    assert ttmem.memory_allocated(LEFT_INDEX) == 3 * len(told) == 60_000
    assert {one["stack"][0] for one in told} == {
        f"many_{n // 100 * 100}.py:{n % 100 * 2 + 1} f{n}" for n in range(20_000)
    }
    assert (ttmem.memory_allocated(7), ttmem.memory_snapshot(7)[0]["pool"]) == (50, "dram")


def test_an_error_on_its_way_arrives_unharmed(stage: Stage) -> None:
    class Dying:
        def __del__(self) -> None:
            allocate(stage)

    with pytest.raises(ZeroDivisionError):
        raise_over(Dying())
    assert only()["stack"][0].endswith(" allocate")


def raise_over(what: object) -> float:
    del what
    return 1 / 0
