"""Buffers of the stock runtime as the hook tells them: from outside by the ledger, judged by what ttnn itself says."""

from collections import Counter
from itertools import islice
from typing import Any

import pytest

from tests.support.hooked.crowds import turns
from tests.support.hooked.looks import Look, places
from tests.support.hooked.process import Hooked, StartedHooked
from ttmem.devices import Pool

L1_SMALL, TRACE = 32_768, 1 << 20
TURNS, STEPS = 6, 400
BANKS, BANK_BYTES, ALLOCATED = 0, 1, 2  # of a view
MIB = 1 << 20


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
    [("n150", {}, 1), ("n150", {"is_slow": True}, 2), ("p150", {}, 3), ("n150", {"has_counters": True}, 4)],
    ids=["n150", "slow dispatch", "p150", "with the runtime's own counters"],
)
def test_whatever_four_threads_allocate_and_free_is_told_as_the_runtime_has_it(
    board: str, how: dict[str, bool], seed: int, hooked_of: StartedHooked
) -> None:
    hooked = hooked_of(board, **how)
    kinds: Counter[str] = Counter()
    with hooked.opened(l1_small=L1_SMALL, trace=TRACE) as device:
        requests = turns(seed, grid=device.grid, dram_bank_count=device.views["DRAM"][BANKS], steps=STEPS)
        for request in islice(requests, TURNS):
            said = hooked.ask(request)
            agree(hooked.look(), said, list(hooked.runtime.chips))
            kinds.update(kind for kind, _ in done(request, said))
    assert sum(kinds.values()) > 2_000
    for memory in ("DRAM", "L1", "L1_SMALL"):
        assert kinds[f"{memory} free"] > 20
        assert kinds[f"{memory} sharded"] > 20
        assert kinds[f"{memory} interleaved"] > (5 if memory == "L1_SMALL" else 20)


def done(request: dict[str, Any], said: dict[str, Any]) -> list[tuple[str, Any]]:
    """What each step came to."""
    found = []
    for steps, answers in zip(request["sequences"], said["answers"], strict=True):
        for step, answer in zip(steps, answers, strict=True):
            layout = "free" if step["op"] == "free" else step["layout"].rpartition("_")[2].lower()
            if not answer.get("refused"):
                found.append((f"{step['type']} {layout}", answer))
            else:
                found.append(("refused", answer))
    return found


def a_tensor(identity: int, memory: str, side: int) -> dict[str, Any]:
    shape = {"shape": [1, 1, side, side], "dtype": "bfloat16", "is_tiled": True, "layout": "INTERLEAVED"}
    return {"op": "alloc", "id": identity, "type": memory, **shape}


def refused(hooked: Hooked, memory: str, side: int) -> str:
    [answer] = hooked.runtime.steps([a_tensor(99, memory, side)])
    return str(answer["refused"])
