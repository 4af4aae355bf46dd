"""Which operation the buffers of the stock runtime's tensors were allocated for, as users call it."""

from typing import Any

import pytest

from tests.support.hooked.process import Hooked, StartedHooked
from tests.support.ttnn.runtime import has_compiler
from tests.ttnn.hook.test_operation_names import CALLS
from ttmem.analysis import explain
from ttmem.devices import Pool

pytestmark = pytest.mark.skipif(not has_compiler(), reason="OPERATIONS NOT COMPARED: no riscv64-unknown-elf-gcc")

IN_PLACE = {"ttnn.uniform"}  # what they return was there before
PICTURE = "tensor(1, 1, 256, 32, layout=ttnn.ROW_MAJOR_LAYOUT)"
POOLED = f"ttnn.max_pool2d({PICTURE}, 1, 16, 16, 32, [2, 2], [2, 2], [0, 0], [1, 1])"
MULTIPLIED, WAITED = "ttnn.multiply(x, y)", "ttnn.gelu(x)"
OLDER = (
    "ttnn.add(x, y)",
    "ttnn.matmul(x, y)",
    "ttnn.softmax(x, dim=-1)",
    "ttnn.topk(x, 32)",
    "ttnn.concat([x, y], dim=3)",
    "ttnn.experimental.nlp_create_qkv_heads(tensor(1, 1, 64, 192), num_heads=4, num_kv_heads=1)",
)
A_TENSOR = "tensor(1, 1, 96, 96)"


def name_of(call: str) -> str:
    name = call.partition("(")[0]
    return "" if name in IN_PLACE or not name.startswith("ttnn.") else name


def told_of(hooked: Hooked, made: dict[str, list[Any]]) -> dict[str, list[str]]:
    """Of each call the operations of the buffers that its tensors lie in."""
    told = {(one.pool, one.address): one.operation for one in hooked.look().buffers}
    return {call: [told[Pool[pool], address] for pool, address in places] for call, places in made.items()}


def made_by(hooked: Hooked, *calls: str) -> dict[str, list[str]]:
    answer = hooked.ask({"do": "calls", "calls": calls, "is_kept": True})
    assert answer["failed"] == {}
    told = told_of(hooked, answer["made"])
    hooked.ask({"do": "drop"})
    return told


def is_right(told: dict[str, list[str]]) -> dict[str, list[str]]:
    """The same, as it should be."""
    return {call: [name_of(call)] * len(operations) for call, operations in told.items()}


def test_outputs_of_thirty_operations_have_the_operation(hooked_of: StartedHooked) -> None:
    hooked = hooked_of("n150")
    with hooked.opened(l1_small=32768):
        told = made_by(hooked, *CALLS, POOLED, MULTIPLIED, WAITED, A_TENSOR)

    assert told == is_right(told)
    assert len([call for call, operations in told.items() if operations and operations[0]]) >= 30
    assert told[A_TENSOR] == [""]


@pytest.mark.parametrize("release", ["0.80.0", "0.78.0"])
def test_outputs_in_older_releases_have_the_operation(release: str, hooked_of: StartedHooked) -> None:
    hooked = hooked_of("n150", release=release)
    with hooked.opened():
        told = made_by(hooked, *OLDER, A_TENSOR)

    assert told == is_right(told)
    assert [len(operations) for operations in told.values()] == [1, 1, 1, 2, 1, 3, 1]


def test_one_line_that_calls_several_operations_has_each_with_its_own(hooked_of: StartedHooked) -> None:
    """Also two that share a device operation, and the same ones again."""
    names = ["ttnn.add", "ttnn.multiply", "ttnn.add", "ttnn.matmul", "ttnn.multiply", "ttnn.add"]
    calls = ", ".join(f"partial({name}, x, y)" for name in names)
    hooked = hooked_of("n150")
    with hooked.opened():
        [told] = made_by(hooked, f"in_turn({calls})").values()

    assert told == names


def test_what_failed_leaves_nothing_to_the_next_operation(hooked_of: StartedHooked) -> None:
    wrong = "partial(ttnn.matmul, x, tensor(1, 1, 96, 96))"
    too_much = "partial(ttnn.to_memory_config, tensor(1, 1, 8192, 8192), ttnn.L1_MEMORY_CONFIG)"
    hooked = hooked_of("n150")
    with hooked.opened():
        before = hooked.look().process["incident_count"]
        [told] = made_by(
            hooked, f"in_turn({wrong}, {too_much}, partial(ttnn.add, x, y), partial(ttnn.exp, x))"
        ).values()
        process = hooked.look().process
        copy = hooked.watch.collector.incident_copy(hooked.pid, process["incident_count"], key=process["key"])

    assert told == ["ttnn.add", "ttnn.exp"]
    assert process["incident_count"] == before + 1
    assert copy is not None
    incident = explain(copy).incident
    assert incident.operation == "ttnn.to_memory_config"
    assert incident.site is not None
    assert incident.site.tensor == "1x1x8192x8192 bfloat16 tile"


def test_threads_that_work_at_once_have_their_own_operations(hooked_of: StartedHooked) -> None:
    lists = [["ttnn.add(x, y)", "ttnn.exp(x)"], ["ttnn.matmul(x, y)", A_TENSOR], ["ttnn.softmax(x, dim=-1)"]]
    hooked = hooked_of("n150")
    with hooked.opened():
        made_by(hooked, *(call for calls in lists for call in calls))  # compiled before threads wait for each other
        told = told_of(hooked, hooked.ask({"do": "together", "calls": lists, "times": 20})["made"])
        hooked.ask({"do": "drop"})

    assert told == is_right(told)
    assert {len(operations) for operations in told.values()} == {20}


def test_outputs_on_a_mesh_have_the_operation(hooked_of: StartedHooked) -> None:
    hooked = hooked_of("n300")
    with hooked.opened((1, 2)):
        told = made_by(hooked, "ttnn.add(x, y)", "ttnn.matmul(x, y)", A_TENSOR)

    assert told == {"ttnn.add(x, y)": ["ttnn.add"], "ttnn.matmul(x, y)": ["ttnn.matmul"], A_TENSOR: [""]}
