"""Which operation a buffer was allocated for: the next launch of its thread, if both come from one Python stack."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.hooked.process import hook_path
from tests.support.journals.watching import Watch
from tests.support.processes.children import Actor
from tests.support.stand_in.build import StandIn
from tests.support.stand_in.stories import NEARLY_ALL_L1, an_add
from ttmem.devices import Kind
from ttmem.tracking import RefusalKind

FAKE = "FakeDeviceOperation"
MOST = 64  # that a thread keeps
# `tell` obeys on one and the same line, so that all it does comes from one stack; each `tell` of a test from another.
LOAD = """
import ctypes, threading
runtime, operations = (ctypes.CDLL(path, mode=ctypes.RTLD_LOCAL) for path in {!r})
runtime.fake_enqueue_by(operations.fake_operations_enqueue)
def obey(order):
    answer = ctypes.create_string_buffer(4096)
    runtime.fake_obey(order.encode(), answer, len(answer))
    return answer.value.decode()
"""
TELL = "for order in {}: obey(order)"


@pytest.fixture
def model(stand_in: StandIn, journals: Path) -> Iterator[Actor]:
    """A Python program with a chip and a program of an operation that is to be launched."""
    with Actor(journals, LD_PRELOAD=str(hook_path()), TTMEM_SITES="1") as actor:
        actor.do(LOAD.format((str(stand_in.library()), str(stand_in.operations()))))
        tell(actor, "open 1 1 0", *an_add(1))
        yield actor


def tell(model: Actor, *orders: str) -> None:
    model.do(TELL.format(json.dumps(orders)))


def a_buffer(number: int) -> str:
    return f"buffer {number} 1 DRAM 8192 2048"


def operations(watch: Watch, pid: int) -> dict[int, str]:
    """Of each buffer the operation that is told."""
    row = watch.process(pid)
    watch.come_to_rest()
    return {entry[2]: entry[-5] for entry in watch.allocations(row["key"]) if entry[1] == Kind.BUFFER}


def test_buffers_of_a_launch_from_the_same_stack_get_its_operation(model: Actor, watch: Watch) -> None:
    tell(model, a_buffer(10))
    tell(model, a_buffer(11), a_buffer(12), "enqueue 1", a_buffer(13))

    assert operations(watch, model.pid) == {10: "", 11: FAKE, 12: FAKE, 13: ""}


def test_the_operation_is_called_as_users_call_it(model: Actor, watch: Watch) -> None:
    tell(model, a_buffer(10), "enqueue 1 blocking")

    assert operations(watch, model.pid) == {10: "ttnn.other"}


def test_one_line_that_launches_several_operations_has_each_with_its_own(model: Actor, watch: Watch) -> None:
    tell(model, *an_add(2, workload=2, binaries=20))
    turns = [(a_buffer(10 + at), "enqueue 1", a_buffer(20 + at), "enqueue 2 blocking") for at in range(3)]
    tell(model, *(order for turn in turns for order in turn))

    told = operations(watch, model.pid)
    assert told == {10 + at: FAKE for at in range(3)} | {20 + at: "ttnn.other" for at in range(3)}


def test_early_and_late_viewers_see_the_same(model: Actor, watch: Watch, journals: Path) -> None:
    operations(watch, model.pid)
    tell(model, a_buffer(10), a_buffer(11), "enqueue 1", "free 11", a_buffer(12))
    early = operations(watch, model.pid)
    with Watch(journals) as late:
        assert operations(late, model.pid) == early == {10: FAKE, 12: ""}


def test_buffers_before_a_launch_that_was_refused_get_no_other_operation(model: Actor, watch: Watch) -> None:
    clash = f"buffer 9 1 L1 {NEARLY_ALL_L1} 2048"
    tell(model, clash, a_buffer(10), "enqueue 1", "free 9", *an_add(2, workload=2, binaries=20), "enqueue 2")

    assert operations(watch, model.pid) == {10: ""}


def test_buffers_before_memory_ran_out_get_no_other_operation(model: Actor, watch: Watch) -> None:
    tell(model, a_buffer(10), f"buffer 9 1 L1 {2 * NEARLY_ALL_L1} 2048", "enqueue 1")

    assert operations(watch, model.pid) == {10: ""}
    [incident] = watch.process(model.pid)["incidents"]
    assert incident["kind"] == RefusalKind.OUT_OF_MEMORY


def test_a_buffer_that_was_freed_before_the_launch_leaves_its_place_alone(model: Actor, watch: Watch) -> None:
    tell(model, a_buffer(10), "free 10")
    tell(model, a_buffer(11))
    tell(model, a_buffer(12), "free 12", a_buffer(13), "enqueue 1")

    assert operations(watch, model.pid) == {11: "", 13: FAKE}


def test_of_more_buffers_than_are_stored_the_newest_have_the_operation(model: Actor, watch: Watch) -> None:
    numbers = list(range(100, 100 + MOST + 6))
    tell(model, *map(a_buffer, numbers), "enqueue 1")

    assert operations(watch, model.pid) == dict.fromkeys(numbers[:6], "") | dict.fromkeys(numbers[6:], FAKE)


def test_another_threads_launch_is_none_of_ours(model: Actor, watch: Watch) -> None:
    tell(model, a_buffer(10))
    model.do("thread = threading.Thread(target=obey, args=('enqueue 1',)); thread.start(); thread.join()")
    both = json.dumps([a_buffer(11), "enqueue 1"])
    model.do(f"thread = threading.Thread(target=lambda: [obey(order) for order in {both}]); thread.start()")
    model.do("thread.join()")

    assert operations(watch, model.pid) == {10: "", 11: FAKE}


def test_a_forked_child_names_nothing_of_its_parents(model: Actor, watch: Watch, tmp_path: Path) -> None:
    tell(model, a_buffer(10))
    child = model.fork(tmp_path / "child")
    child.do(TELL.format(json.dumps(["enqueue 1", a_buffer(11), "enqueue 1"])))

    assert operations(watch, model.pid) == {10: ""}


def test_without_stacks_no_buffer_has_an_operation(stand_in: StandIn, journals: Path, watch: Watch) -> None:
    with Actor(journals, LD_PRELOAD=str(hook_path())) as model:
        model.do(LOAD.format((str(stand_in.library()), str(stand_in.operations()))))
        tell(model, "open 1 1 0", *an_add(1), a_buffer(10), "enqueue 1")

        assert operations(watch, model.pid) == {10: ""}
