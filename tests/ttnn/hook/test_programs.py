"""Programs of one's own on the stock runtime: views of sharded tensors, clashes with buffers, `ttmem` beside them."""

import json
import re
import subprocess
import sys
from typing import Any

import pytest

from tests.support.hooked.process import Hooked, StartedHooked
from tests.support.ttnn.runtime import has_compiler
from ttmem.devices import Kind, Pool

pytestmark = pytest.mark.skipif(
    not has_compiler(),
    reason="OPERATIONS NOT COMPARED: no riscv64-unknown-elf-gcc (Debian: apt-get install gcc-riscv64-unknown-elf)",
)
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
    assert look.clashes_since(before) == [(hooked.runtime.chips[0], program + 1, end, address)]
    assert look.circular == []
    assert look.findings == {}


def asked(hooked: Hooked, *arguments: str) -> dict[str, Any]:
    """What a command says that looks at the process's journals."""
    environment = {"TTMEM_DIR": str(hooked.journals), "PATH": "/usr/bin:/bin"}
    command = [sys.executable, "-m", "ttmem", *arguments, "--json"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=60)
    said: dict[str, Any] = json.loads(done.stdout)
    return said


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
        pool = chip["memory"].get(name.lower(), {"used": 0, "total": banks * bank_bytes})
        assert (pool["used"], pool["total"]) == (allocated * banks, banks * bank_bytes), name
    [process] = shown["processes"]
    assert (process["pid"], process["source"], process["complete"]) == (hooked.pid, "journal", True)
    groups = {group["type"]: group["allocations"] for group in dumped["devices"][0]["groups"]}
    assert sorted(int(one["address"], 16) for one in groups["l1"]) == sorted(row[0] for row in judged["buffers"])
    assert [one["name"] for one in groups["application"]] == [told.name for told in look.of(Kind.KERNEL_APPLICATION)]
    assert sum(one["view"] for one in groups["cb"]) == 1
