"""Buffers of the stock runtime as the hook tells them: from outside by the ledger, judged by what ttnn itself says."""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest

from tests.support.hooked.crowds import turns
from tests.support.hooked.looks import Look, places
from tests.support.hooked.process import StartedHooked
from ttmem.devices import Pool

L1_SMALL, TRACE = 32_768, 1 << 20
TURNS, STEPS = 8, 600
BANKS, BANK_BYTES, ALLOCATED = 0, 1, 2  # of a view
KIB, MIB = 1 << 10, 1 << 20
MUCH = {"DRAM": 131_072, "L1": 8192}  # rows and columns that do not fit
REFUSED = re.compile(
    r"allocate (\d+) B \w+ buffer across (\d+) banks, where each bank needs to store (\d+) B, "
    r".*free: (\d+) B, largest free block: (\d+) B"
)


def agree(look: Look, said: dict[str, Any], chips: list[int]) -> None:
    """Per bank, per buffer and per chip what the runtime says."""
    assert look.findings == {}
    assert places(look.buffers) == Counter((address, name) for address, name, _ in said["buffers"])
    for name, view in said["views"].items():
        pool = Pool[name]
        assert look.per_bank(pool) == view[ALLOCATED], name
        for chip in chips:
            assert look.used(chip, pool) == view[ALLOCATED] * view[BANKS], name


@pytest.mark.parametrize(
    ("board", "how", "seed"),
    [("n150", {}, 1), ("n150", {"is_slow": True}, 2), ("p150", {}, 3)],
    ids=["n150", "slow dispatch", "p150"],
)
def test_whatever_four_threads_allocate_and_free_is_told_as_the_runtime_has_it(
    board: str, how: dict[str, bool], seed: int, hooked_of: StartedHooked
) -> None:
    hooked = hooked_of(board, **how)
    done: Counter[str] = Counter()
    with hooked.opened(l1_small=L1_SMALL, trace=TRACE) as device:
        requests = turns(seed, grid=device.grid, dram_bank_count=device.views["DRAM"][BANKS], steps=STEPS)
        for request in islice(requests, TURNS):
            said = hooked.ask(request)
            agree(hooked.look(), said, list(hooked.runtime.chips))
            done.update(kinds_done(request, said))

    assert done.total() > 2_000
    for kind in ("DRAM free", "DRAM sharded", "DRAM interleaved", "L1 free", "L1 sharded", "L1 interleaved"):
        assert done[kind] > 20
    assert done["L1_SMALL sharded"] > 20


def kinds_done(request: dict[str, Any], said: dict[str, Any]) -> Iterator[str]:
    """What each step was that was not refused, and each free that freed something."""
    for steps, answers in zip(request["sequences"], said["answers"], strict=True):
        for step, answer in zip(steps, answers, strict=True):
            if answer.get("was_there"):
                yield f"{step['type']} free"
            elif "address" in answer:
                yield f"{step['type']} {step['layout'].rpartition('_')[2].lower()}"


def a_tensor(identity: int, memory: str, side: int) -> dict[str, Any]:
    shape = {"shape": [1, 1, side, side], "dtype": "bfloat16", "is_tiled": True, "layout": "INTERLEAVED"}
    return {"op": "alloc", "id": identity, "type": memory, **shape}


@pytest.mark.parametrize("how", [{}, {"is_slow": True}, {"has_counters": True}], ids=str)
def test_a_buffer_is_told_with_what_was_asked_for_and_what_banks_give_up(
    how: dict[str, bool], hooked_of: StartedHooked
) -> None:
    hooked = hooked_of("n150", **how)
    with hooked.opened(l1_small=L1_SMALL, trace=TRACE) as device:
        answers = hooked.runtime.steps([a_tensor(1, "DRAM", 1024), a_tensor(2, "L1", 256)])
        said = hooked.ask({"do": "judge"})
        look = hooked.look()

    [dram, l1] = look.buffers
    assert (dram.pool, dram.requested_bytes, dram.per_bank_bytes) == (Pool.DRAM, 2 * MIB, 176_128)
    assert dram.reserved_bytes == 176_128 * 12
    assert (l1.pool, l1.requested_bytes) == (Pool.L1, 128 * KIB)
    assert (
        l1.reserved_bytes
        == l1.per_bank_bytes * device.views["L1"][BANKS]
        == said["views"]["L1"][ALLOCATED] * (device.grid[0] * device.grid[1])
    )
    assert [dram.address, l1.address] == [answer["address"] for answer in answers]


@pytest.mark.parametrize("memory", ["DRAM", "L1"])
def test_a_refusal_passes_unharmed_and_is_told_with_its_figures(memory: str, hooked_of: StartedHooked) -> None:
    hooked = hooked_of("n150")
    with hooked.opened():
        chip = hooked.runtime.chips[0]
        before = hooked.look()
        hooked.runtime.steps([a_tensor(1, memory, 1024)])
        [answer] = hooked.runtime.steps([a_tensor(2, memory, MUCH[memory])])
        [again] = hooked.runtime.steps([a_tensor(3, memory, 32)])
        view = hooked.ask({"do": "judge"})["views"][memory]
        look = hooked.look()

    words = REFUSED.search(answer["refused"])
    assert words
    requested, banks, per_bank, free, largest = (int(number) for number in words.groups())
    assert requested == 2 * MUCH[memory] ** 2
    assert per_bank * banks >= requested
    assert look.refusals_since(before) == [(chip, Pool[memory], requested, free * banks, largest * banks)]
    assert "address" in again
    assert look.per_bank(Pool[memory]) == view[ALLOCATED]


def test_a_memory_that_the_device_was_opened_without_is_refused_as_ever(hooked_of: StartedHooked) -> None:
    hooked = hooked_of("n150")
    with hooked.opened(l1_small=0):
        before = hooked.look()
        shards = {"layout": "HEIGHT_SHARDED", "shard": [32, 32], "grid": [1, 1]}
        [answer] = hooked.runtime.steps([a_tensor(1, "L1_SMALL", 32) | shards])
        [again] = hooked.runtime.steps([a_tensor(2, "L1", 32)])
        look = hooked.look()

    assert "Out of Memory" in answer["refused"]
    assert "address" in again
    assert look.refusals_since(before) == [(hooked.runtime.chips[0], Pool.L1_SMALL, 2 * 32 * 32, 0, 0)]


def test_a_request_that_the_runtime_refuses_with_room_enough_is_told_too(
    hooked_of: StartedHooked,
) -> None:
    hooked = hooked_of("n150")
    with hooked.opened(l1_small=L1_SMALL):
        before = hooked.look()
        [answer] = hooked.runtime.steps([a_tensor(1, "L1_SMALL", 256)])
        look = hooked.look()

    assert "L1_SMALL only supports sharded allocations" in answer["refused"]
    [(chip, pool, requested_bytes, free, largest)] = look.refusals_since(before)
    assert (chip, pool, requested_bytes) == (hooked.runtime.chips[0], Pool.L1_SMALL, 2 * 256 * 256)
    assert free == largest > requested_bytes


def test_a_buffer_that_is_only_imagined_is_not_charged(hooked_of: StartedHooked) -> None:
    hooked = hooked_of("n150")
    with hooked.opened():
        hooked.runtime.steps([a_tensor(1, "DRAM", 512), a_tensor(2, "L1", 512)])
        before = hooked.look()
        add = {"do": "imagine", "name": "add", "inputs": [1, 2], "id": 3, "memory": "L1", "times": 1}
        imagined = hooked.ask(add)["buffers"]
        after = hooked.look()
        said = hooked.ask({"do": "judge"})

    assert imagined
    assert after.alive == before.alive
    assert places(after.buffers) == Counter((address, name) for address, name, _ in said["buffers"])
    assert after.findings == {}


def test_an_empty_trace_takes_room_until_it_is_released(hooked_of: StartedHooked) -> None:
    hooked = hooked_of("n150")
    begin, end, release = ({"op": op, "id": 1, "type": "TRACE"} for op in ("begin", "end", "release"))
    with hooked.opened(trace=TRACE):
        [_, ended] = hooked.runtime.steps([begin, end])
        held = hooked.look()
        hooked.runtime.steps([release])
        released = hooked.look()

    [trace] = held.buffers
    assert trace.pool is Pool.TRACE
    assert held.per_bank(Pool.TRACE) == ended["view"][ALLOCATED] > 0
    assert released.buffers == []
