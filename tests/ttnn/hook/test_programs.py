"""Programs of one's own on the stock runtime: views of sharded tensors, clashes with buffers, `ttmem` beside them."""

import json
import re
import subprocess
import sys
from collections import Counter
from typing import Any

import pytest

from tests.support.faces.json_documents import opened
from tests.support.hooked.looks import Look
from tests.support.hooked.process import Hooked, StartedHooked
from tests.support.ttnn.runtime import has_compiler
from tests.support.ttnn.scripts.stories import Story
from ttmem.devices import Kind, Pool

pytestmark = pytest.mark.skipif(
    not has_compiler(),
    reason="OPERATIONS NOT COMPARED: no riscv64-unknown-elf-gcc (Debian: apt-get install gcc-riscv64-unknown-elf)",
)
EVENTS = 120
WHOLE = [[0, 0, 7, 7]]
CLASHED = re.compile(
    r"in program (\d+) clash .* L1 buffer allocated at (\d+) and static circular buffer region ends at (\d+)"
)


def a_sharded_tensor(identity: int) -> dict[str, Any]:
    """Two tiles on each of 64 cores."""
    shape = {"shape": [64 * 64, 32], "dtype": "bfloat16", "is_tiled": True, "shard": [64, 32], "grid": [8, 8]}
    return {"op": "alloc", "id": identity, "type": "L1", "layout": "HEIGHT_SHARDED", **shape}


def a_view_of(identity: int) -> list[dict[str, Any]]:
    return [{"size": 4096, "cores": [[0, 0, 3, 3]]}, {"view": identity, "offset": 0, "size": 2048, "cores": WHOLE}]


@pytest.mark.parametrize("is_slow", [False, True], ids=["fast", "slow"])
def test_a_circular_buffer_on_a_tensor_is_a_view_that_moves_with_it(is_slow: bool, hooked_of: StartedHooked) -> None:
    hooked = hooked_of("n150", is_slow=is_slow)
    with hooked.opened() as device:
        tensors = hooked.runtime.steps([a_sharded_tensor(1), a_sharded_tensor(2)])
        looks = []
        for identity in (1, 2):
            hooked.runtime.program(a_view_of(identity), grid=(8, 8))
            looks.append(hooked.look())

    for look, tensor in zip(looks, tensors, strict=True):
        [local, view] = look.circular
        assert (local.address, local.is_view, local.core_count) == (device.first_cb_address, False, 16)
        assert local.reserved_bytes == 4096 * 16
        assert (view.address, view.is_view, view.core_count) == (tensor["address"], True, 64)
        assert view.reserved_bytes == 0
        assert look.used(hooked.runtime.chips[0], Pool.CB) == local.reserved_bytes
    assert [told.id for told in looks[0].circular] == [told.id for told in looks[1].circular]


def test_an_operation_on_shards_has_circular_buffers_in_the_tensors_themselves(hooked_of: StartedHooked) -> None:
    hooked = hooked_of("n150")
    add = {"do": "run", "name": "add", "inputs": [1, 2], "id": 3, "memory": None, "times": 1}
    with hooked.opened():
        tensors = hooked.runtime.steps([a_sharded_tensor(1), a_sharded_tensor(2)])
        tensors.append(hooked.ask(add))
        look = hooked.look()
        [fourth] = hooked.runtime.steps([a_sharded_tensor(4)])
        result = hooked.ask(add | {"inputs": [4, 2], "id": 5})
        moved = hooked.look()

    assert [(told.is_view, told.reserved_bytes) for told in look.circular] == 3 * [(True, 0)]
    assert {told.address for told in look.circular} == {tensor["address"] for tensor in tensors}
    places = {fourth["address"], tensors[1]["address"], result["address"]}
    assert {told.address for told in moved.circular} == places
    assert {told.id for told in moved.circular} == {told.id for told in look.circular}
    assert look.used(hooked.runtime.chips[0], Pool.CB) == 0


@pytest.mark.parametrize("is_slow", [False, True], ids=["fast", "slow"])
def test_a_clash_passes_unharmed_and_is_told_with_its_figures(is_slow: bool, hooked_of: StartedHooked) -> None:
    hooked = hooked_of("n150", is_slow=is_slow)
    with hooked.opened() as device:
        before = hooked.look()
        hooked.runtime.steps([a_sharded_tensor(1)])
        huge = device.views["L1"][1] // 64 * 64
        said = hooked.runtime.program([{"size": huge, "cores": [[0, 0, 1, 1]]}], grid=device.grid)
        look = hooked.look()

    words = CLASHED.search(said["refused"])
    assert words
    program, address, end = (int(number) for number in words.groups())
    assert look.clashes_since(before) == [(hooked.runtime.chips[0], program, end, address)]
    assert look.circular == []
    assert look.findings == {}


@pytest.mark.parametrize(("seed", "is_slow"), [(11, False), (12, True)], ids=["fast", "slow"])
def test_random_programs_are_told_as_the_runtime_lays_and_refuses_them(
    seed: int, is_slow: bool, hooked_of: StartedHooked
) -> None:
    hooked = hooked_of("n150", is_slow=is_slow)
    chip = hooked.runtime.chips[0]
    with hooked.opened() as device:
        story = Story(seed, grid=device.grid, bank_bytes=device.views["L1"][1])
        teller = Teller(hooked, device.grid)
        [viewed, _] = [teller.tell(event) for event in story.opening()]
        teller.viewed_address = viewed["address"]
        before = hooked.look()
        for number, event in enumerate(story.events(EVENTS)):
            teller.tell(event)
            if number % 15 == 0:
                teller.compare(hooked.look(), before)
        look = hooked.look()

    teller.compare(look, before)
    assert teller.clash_count > 2
    assert look.launches(chip) - before.launches(chip) > 20
    assert any(told.is_view for told in look.circular)
    assert look.findings == {}


class Teller:
    """Plays a story and keeps, by program, what the runtime laid out when it ran first.

    A capture of the graph lists local buffers; views it lists only beside those, so they are taken from the program.
    """

    def __init__(self, hooked: Hooked, grid: tuple[int, int]) -> None:
        self._hooked = hooked
        self._grid = grid
        self._laid: dict[int, list[tuple[int, int, int, bool]]] = {}
        self._launch_count = 0
        self.viewed_address = 0
        self.clash_count = 0

    def tell(self, event: dict[str, Any]) -> dict[str, Any]:
        if event["op"] != "program":
            [answer] = self._hooked.runtime.steps([event])
            return answer
        said = self._hooked.runtime.program(event["buffers"], grid=self._grid)
        if "refused" in said:
            self.clash_count += "clash" in said["refused"]
        else:
            self._laid.setdefault(event["number"], self._laid_out(event, said))
            self._launch_count += 1
        return said

    def _laid_out(self, event: dict[str, Any], said: dict[str, Any]) -> list[tuple[int, int, int, bool]]:
        views = [
            (self.viewed_address + one["offset"], one["size"], core_count(one["cores"]), True)
            for one in event["buffers"]
            if "view" in one
        ]
        return views + [
            (one["address"], one["size"], core_count(one["cores"]), False)
            for one in said["buffers"]
            if one["address"] < self.viewed_address
        ]

    def compare(self, look: Look, before: Look) -> None:
        told = Counter((one.address, one.per_bank_bytes, one.core_count, one.is_view) for one in look.circular)
        assert told == Counter(one for laid in self._laid.values() for one in laid)
        chip = self._hooked.runtime.chips[0]
        assert look.launches(chip) - before.launches(chip) == self._launch_count
        assert look.clash_count(chip) - before.clash_count(chip) == self.clash_count
        assert {told.program for told in look.circular} <= set(look.programs(chip))


def core_count(rectangles: list[list[int]]) -> int:
    return sum((right - left + 1) * (bottom - top + 1) for left, top, right, bottom in rectangles)


def asked(hooked: Hooked, *arguments: str) -> dict[str, Any]:
    """What a command says that looks at the process's journals, and at nothing of anybody else's."""
    nobodys = dict.fromkeys(("TTMEM_STOCK_SHM_DIR", "TTMEM_SYSTEM_DIR"), str(hooked.journals / "none"))
    environment = {"TTMEM_DIR": str(hooked.journals), "PATH": "/usr/bin:/bin", **nobodys}
    command = [sys.executable, "-m", "ttmem", *arguments, "--json"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=60)
    said: dict[str, Any] = json.loads(done.stdout)
    return opened(said) if "device_info" in said else said


def test_ps_and_dump_say_from_outside_what_ttnn_says_inside(hooked_of: StartedHooked) -> None:
    hooked = hooked_of("n150")
    with hooked.opened(l1_small=32_768) as device:
        hooked.runtime.steps([a_sharded_tensor(1), a_sharded_tensor(2)])
        hooked.runtime.program(a_view_of(1), grid=(8, 8))
        judged = hooked.ask({"do": "judge"})
        look = hooked.look()
        shown, dumped = asked(hooked, "ps"), asked(hooked, "dump", "--all")

    [chip] = shown["device_info"]
    assert int(chip["uuid"], 16) == hooked.runtime.chips[0]
    assert (chip["arch"], chip["grid"], chip["board_info"]["board_type"]) == ("wormhole_b0", list(device.grid), "n150")
    for name, (banks, bank_bytes, allocated, *_) in judged["views"].items():
        pool = chip["memory"].get(name.lower(), {"used_bytes": 0, "capacity_bytes": banks * bank_bytes})
        total = (
            pool["capacity_bytes"] or 0
        )  # a memory that this opening has none of, but an earlier one had, is of unknown size
        assert (pool["used_bytes"], total) == (allocated * banks, banks * bank_bytes), name
    [process] = shown["processes"]
    assert (process["pid"], process["source"], process["is_complete"]) == (hooked.pid, "journal", True)
    groups = {group["type"]: group["allocations"] for group in dumped["devices"][0]["groups"]}
    assert sorted(int(one["address"], 16) for one in groups["l1"]) == sorted(row[0] for row in judged["buffers"])
    assert [one["name"] for one in groups["application"]] == [told.name for told in look.of(Kind.KERNEL_APPLICATION)]
    assert sum(one["is_view"] for one in groups["cb"]) == 1
