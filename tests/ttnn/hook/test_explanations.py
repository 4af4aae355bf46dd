"""Refusals of the stock runtime, explained: when the named buffers are freed, the same request is granted, and not
before the last of them has gone."""

from typing import Any

import pytest

from tests.support.hooked.core_buffers import on_cores
from tests.support.hooked.process import Hooked, StartedHooked
from ttmem.analysis import Explanation, explain

KIB = 1024
Step = dict[str, Any]


def of_every_core(identity: int, kib: int, rows: int = 8) -> Step:
    """A tensor in lockstep, a shard of so many KiB on each core of so many rows."""
    place = {"ranges": [[0, 0, 7, rows - 1]], "shard": [1, kib * KIB], "shape": [8 * rows, kib * KIB]}
    kind = {"op": "alloc", "type": "L1", "dtype": "uint8", "is_tiled": False, "layout": "HEIGHT_SHARDED"}
    return {**kind, **place, "id": identity, "allocation": "LOCKSTEP"}


def free(identity: int) -> Step:
    return {"op": "free", "id": identity, "type": "L1"}


def explained(hooked: Hooked) -> Explanation:
    """The newest incident. One that repeats another within a second is none of its own: tests ask for other sizes."""
    process = hooked.look().process
    copy = hooked.watch.collector.incident_copy(hooked.pid, process["incident_count"], key=process["key"])
    assert copy is not None
    return explain(copy)


def addresses_of(answers: list[Step], steps: list[Step]) -> dict[int, int]:
    """Which tensor lies at an address: of one by core, on its first core."""
    found = {}
    for step, answer in zip(steps, answers, strict=True):
        if step["op"] == "alloc":
            found[answer["addresses"][0][0] if "addresses" in answer else answer["address"]] = step["id"]
    return found


def expect_that_it_helps(hooked: Hooked, named: list[int], asked: Step) -> None:
    for number, identity in enumerate(named):
        hooked.runtime.steps([free(identity)])
        [answer] = hooked.runtime.steps([{**asked, "id": asked["id"] + number + 1}])
        assert ("refused" in answer) == (number + 1 < len(named)), answer


@pytest.mark.parametrize(
    ("held", "gone", "kib", "cause", "named"),
    [
        pytest.param([60, 700, 100], [], 612, "full", {2}, id="one big holder"),
        pytest.param([300, 250, 300, 250, 200], [2, 4], 400, "fragmented", {5}, id="fragmented"),
        pytest.param([112] * 10, [], 410, "full", {9, 10}, id="two of a leak"),
        pytest.param([1000, 1], [1], 1100, "fragmented", {2}, id="a small one in the middle"),
    ],
)
def test_the_named_buffers_make_room_on_the_stock_runtime(
    held: list[int], gone: list[int], kib: int, cause: str, named: set[int], hooked_of: StartedHooked
) -> None:
    hooked = hooked_of("n150")
    with hooked.opened():
        steps = [of_every_core(number, size) for number, size in enumerate(held, start=1)]
        where = addresses_of(hooked.runtime.steps(steps), steps)
        hooked.runtime.steps([free(identity) for identity in gone])
        asked = of_every_core(50, kib)
        [refused] = hooked.runtime.steps([asked])
        found = explained(hooked)

        assert "refused" in refused
        assert (found.cause, found.incident.is_of_text, found.notes) == (cause, True, ())
        assert found.freeing is not None
        ids = [where[entry.address] for entry in found.freeing.entries if entry.address is not None]
        assert set(ids) == named
        expect_that_it_helps(hooked, ids, asked)


def test_on_a_mesh_the_named_buffer_makes_room_on_all_chips(hooked_of: StartedHooked) -> None:
    hooked = hooked_of("n300")
    with hooked.opened((1, 2)) as device:
        rows = device.grid[1]
        steps = [of_every_core(1, 60, rows), of_every_core(2, 700, rows), of_every_core(3, 100, rows)]
        where = addresses_of(hooked.runtime.steps(steps), steps)
        asked = of_every_core(50, 612, rows)
        [refused] = hooked.runtime.steps([asked])
        found = explained(hooked)

        assert "refused" in refused
        assert (found.cause, found.incident.is_mesh, len(found.incident.device_ids)) == ("full", True, 2)
        assert found.freeing is not None
        assert [where[entry.address] for entry in found.freeing.entries if entry.address is not None] == [2]
        expect_that_it_helps(hooked, [2], asked)


def test_of_buffers_by_core_the_one_on_the_refused_cores_is_named(hooked_of: StartedHooked) -> None:
    hooked = hooked_of("n150", is_hybrid=True)
    with hooked.opened():
        steps = [on_cores(1, 900, first=0, last=1), on_cores(2, 500, first=2, last=3)]
        where = addresses_of(hooked.runtime.steps(steps), steps)
        asked = on_cores(3, 700, first=1, last=2)
        [refused] = hooked.runtime.steps([asked])
        found = explained(hooked)

        assert "refused" in refused
        assert found.incident.is_per_core
        assert found.freeing is not None
        assert {where[entry.address] for entry in found.freeing.entries if entry.address is not None} == {1}
        expect_that_it_helps(hooked, [1], asked)


def test_what_a_single_core_holds_is_named_where_it_is_in_the_way_of_all(hooked_of: StartedHooked) -> None:
    hooked = hooked_of("n150", is_hybrid=True)
    with hooked.opened():
        steps = [on_cores(1, 300, first=5, last=5), on_cores(2, 1000, first=2, last=2)]
        where = addresses_of(hooked.runtime.steps(steps), steps)
        asked = on_cores(3, 700, "LOCKSTEP")
        [refused] = hooked.runtime.steps([asked])
        found = explained(hooked)

        assert "B remained placeable" in refused["refused"]
        assert found.cause == "cores_in_the_way"
        assert found.freeing is not None
        [entry] = found.freeing.entries
        assert entry.address is not None
        assert where[entry.address] == 2
        expect_that_it_helps(hooked, [2], asked)


def test_a_clash_names_what_is_in_the_way(hooked_of: StartedHooked) -> None:
    hooked = hooked_of("n150")
    with hooked.opened() as device:
        steps = [of_every_core(1, 400), of_every_core(2, 300)]
        where = addresses_of(hooked.runtime.steps(steps), steps)
        program = [{"size": 700 * KIB, "cores": [[0, 0, 1, 1]]}]
        said = hooked.runtime.program(program, grid=device.grid)["refused"]
        found = explained(hooked)

        assert said
        assert found.clash is not None
        assert [where[entry.address] for entry in found.clash.in_the_way if entry.address is not None] == [2]
        assert found.clash.missing_bytes == int(said.rpartition(" ends at ")[2].split()[0]) - min(where)
        hooked.runtime.steps([free(2)])
        assert not hooked.runtime.program(program, grid=device.grid).get("refused")
