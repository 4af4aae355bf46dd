"""What differs between releases of the stock runtime, on each of them: judged by its own lists and getters.

A test names the releases it runs on; `./run test-ttnn` installs them side by side.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import islice
from typing import Any

import pytest

from tests.support.hooked.crowds import turns
from tests.support.hooked.looks import Look, Owner, places
from tests.support.hooked.process import StartedHooked
from tests.support.ttnn.stock import OLDER_RELEASES, RELEASE
from ttmem.devices import Kind, Pool

BANKS, ALLOCATED = 0, 2  # of a view
L1_SMALL = 32_768
SMALL_TENSORS = 12
on_every_release = pytest.mark.parametrize("release", [*OLDER_RELEASES, RELEASE])


def agree(look: Look, said: dict[str, Any], chip: int) -> None:
    """Every buffer and every pool as the runtime has them."""
    assert places([*look.buffers, *look.of(Kind.TRACE_BUFFER)]) == Counter(
        (address, name) for address, name, _ in said["buffers"]
    )
    for name, view in said["views"].items():
        assert look.used(chip, Pool[name]) == view[ALLOCATED] * view[BANKS], name
    assert look.findings == {}


def a_tensor(identity: int, memory: str, **form: Any) -> dict[str, Any]:
    shape = {"shape": [1, 1, 32, 32], "dtype": "bfloat16", "is_tiled": True, "layout": "INTERLEAVED"}
    return {"op": "alloc", "id": identity, "type": memory, **shape, **form}


@on_every_release
def test_small_buffers_are_counted_as_what_they_are(release: str, hooked_of: StartedHooked) -> None:
    hooked = hooked_of("n150", release=release)
    shards = {"layout": "HEIGHT_SHARDED", "shard": [32, 32], "grid": [1, 1]}
    with hooked.opened(l1_small=L1_SMALL):
        hooked.runtime.steps([a_tensor(number, "L1_SMALL", **shards) for number in range(SMALL_TENSORS)])
        said = hooked.ask({"do": "judge"})
        look = hooked.look()

    assert look.used(hooked.runtime.chips[0], Pool.L1) == 0
    assert said["views"]["L1_SMALL"][ALLOCATED] == SMALL_TENSORS * 2048
    agree(look, said, hooked.runtime.chips[0])


@on_every_release
def test_whatever_threads_allocate_is_told_as_the_runtime_has_it(release: str, hooked_of: StartedHooked) -> None:
    hooked = hooked_of("n150", release=release)
    with hooked.opened(l1_small=L1_SMALL, trace=1 << 20) as device:
        requests = turns(5, grid=device.grid, dram_bank_count=device.views["DRAM"][BANKS], steps=400)
        for request in islice(requests, 2):
            said = hooked.ask(request)
            agree(hooked.look(), said, hooked.runtime.chips[0])

    assert {name for _, name, _ in said["buffers"]} == {"DRAM", "L1", "L1_SMALL"}


@on_every_release
def test_a_trace_without_a_region_is_a_trace_buffer_in_dram(release: str, hooked_of: StartedHooked) -> None:
    """An empty one: all that made-up chips can capture."""
    hooked = hooked_of("n150", release=release)
    begin, end, release_it = ({"op": op, "id": 1, "type": "DRAM"} for op in ("begin", "end", "release"))
    with hooked.opened():
        hooked.runtime.steps([a_tensor(1, "DRAM"), begin, end])
        said = hooked.ask({"do": "judge"})
        look = hooked.look()
        hooked.runtime.steps([release_it])
        released = hooked.look()

    agree(look, said, hooked.runtime.chips[0])
    [trace] = look.of(Kind.TRACE_BUFFER)
    [tensor] = look.buffers
    [listed] = [one for one in said["buffers"] if one[0] != tensor.address]
    assert (trace.address, trace.per_bank_bytes, trace.pool) == (listed[0], listed[2], Pool.DRAM)
    assert [one.address for one in released.buffers] == [tensor.address]
    assert released.of(Kind.TRACE_BUFFER) == []


@on_every_release
def test_what_a_mesh_and_its_parts_hold_is_told_of_their_own_chips(release: str, hooked_of: StartedHooked) -> None:
    hooked = hooked_of("n300", release=release)
    with hooked.opened((1, 2)):
        [whole] = hooked.runtime.steps([a_tensor(1, "DRAM")])
        parts = hooked.ask({"do": "submeshes", "shape": [1, 1]})["chips"]
        part = hooked.ask({"do": "alloc_on", "device": 101, "id": 2, "side": 64})
        look = hooked.look()
        hooked.ask({"do": "drop"})

    chips = hooked.runtime.chips
    told = sorted((one.address, one.chips, one.requested_bytes) for one in look.buffers)
    of_part = tuple(chips[number] for number in parts[1])
    assert told == sorted([(whole["address"], tuple(chips), 2048), (part["address"], of_part, 8192)])


@on_every_release
@pytest.mark.parametrize("memory", ["DRAM", "L1"])
def test_a_parent_and_its_submesh_are_used_by_the_union_of_their_addresses(
    release: str, memory: str, hooked_of: StartedHooked
) -> None:
    hooked = hooked_of("n300", release=release)
    with hooked.opened((1, 2)):
        hooked.ask({"do": "submeshes", "shape": [1, 1]})
        whole = hooked.ask({"do": "alloc_on", "device": "mesh", "id": 1, "side": 512, "memory": memory})
        apart = hooked.look()
        part = hooked.ask({"do": "alloc_on", "device": 100, "id": 2, "side": 1024, "memory": memory})
        look = hooked.look()
        hooked.ask({"do": "drop"})
        dropped = hooked.look()

    assert (apart.findings, dropped.buffers, dropped.findings) == ({}, [], {})
    agree_on_the_union(look, Pool[memory], whole, part, list(hooked.runtime.chips))
    assert look.findings == {"overlap": 1}


def agree_on_the_union(
    look: Look, pool: Pool, whole: dict[str, Any], part: dict[str, Any], chips: Sequence[int]
) -> None:
    """Each has an allocator of its own, which the runtime lists apart: what both hold is told with both owners."""
    first, second = chips
    [[address, name, whole_bytes]] = whole["buffers"]
    [[part_address, part_name, part_bytes]] = part["buffers"]
    assert (name, part_name) == (pool.name, pool.name)
    banks = look.device(first)["banks"][pool is Pool.L1]
    both = range(max(address, part_address), min(address + whole_bytes, part_address + part_bytes))
    assert len(both) == min(whole_bytes, part_bytes), "the smaller lies in the larger"
    assert look.used(first, pool) == max(whole_bytes, part_bytes) * banks
    assert look.used(second, pool) == whole_bytes * banks
    owners = (Owner(1, 2, (first, second)), Owner(1, 1, (first,)))
    assert look.overlaps == [(pool, both.start, len(both) * banks, (first,), *owners)]
