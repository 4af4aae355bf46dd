"""How things come and go: devices opened and closed, threads, forks, exits and deaths of a hooked process."""

import os
import signal
from typing import Any

import pytest

from tests.support.hooked.process import Hooked, StartedHooked
from tests.support.timing.waiting import wait_until
from tests.support.ttnn.runtime import counters_of
from ttmem._native import testing
from ttmem.devices import Pool

TILE_BYTES = 2048
DRAM_BANKS = 12


def a_tensor(identity: int, memory: str = "DRAM", side: int = 512) -> dict[str, Any]:
    shape = {"shape": [1, 1, side, side], "dtype": "bfloat16", "is_tiled": True, "layout": "INTERLEAVED"}
    return {"op": "alloc", "id": identity, "type": memory, **shape}


def test_nothing_is_told_before_a_device_is_opened(hooked_of: StartedHooked) -> None:
    hooked = hooked_of("n150")
    with hooked.opened():
        opened = hooked.look()
        assert opened.alive == []
        assert opened.open_chips == list(hooked.runtime.chips)
        assert opened.device(hooked.runtime.chips[0])["arch"] == "wormhole_b0"
        assert opened.device(hooked.runtime.chips[0])["board"] == "n150"
    assert hooked.look().open_chips == []


def test_closing_a_device_ends_all_that_was_on_it_and_nothing_is_found_wrong(hooked_of: StartedHooked) -> None:
    hooked = hooked_of("n150")
    with hooked.opened(l1_small=32_768):
        hooked.runtime.steps([a_tensor(1), a_tensor(2, "L1")])
        assert len(hooked.look().buffers) == 2
    closed = hooked.look()

    assert closed.alive == []
    assert closed.findings == {}
    assert all(closed.used(hooked.runtime.chips[0], pool) == 0 for pool in Pool)


def test_devices_opened_one_after_the_other_are_the_same_chip_each_time(hooked_of: StartedHooked) -> None:
    hooked = hooked_of("n150")
    ids = []
    for round_number in range(3):
        ids.append(hooked.ask({"do": "open_device", "device": 0, "l1_small": 0})["id"])
        said = hooked.ask({"do": "alloc_on", "device": 0, "id": round_number, "side": 32})
        look = hooked.look()
        assert look.open_chips == list(hooked.runtime.chips)
        assert [(told.address, told.chips) for told in look.buffers] == [(said["address"], tuple(hooked.runtime.chips))]
        hooked.ask({"do": "close_device", "device": 0})
        assert hooked.look().alive == []

    assert len(set(ids)) == 3
    hooked.ask({"do": "drop"})  # long after their devices were closed
    assert hooked.look().alive == []
    assert hooked.look().findings == {}


def test_two_devices_at_once_are_two_chips_and_closing_one_leaves_the_other(hooked_of: StartedHooked) -> None:
    hooked = hooked_of("n300")
    said = {}
    for device in (0, 1):
        hooked.ask({"do": "open_device", "device": device, "l1_small": 0})
        said[device] = hooked.ask({"do": "alloc_on", "device": device, "id": device, "side": 32 * (device + 1)})
    both = hooked.look()
    hooked.ask({"do": "close_device", "device": 0})
    one = hooked.look()
    hooked.ask({"do": "close_device", "device": 1})
    none = hooked.look()

    first, second = hooked.runtime.chips
    assert sorted((told.chips, told.requested_bytes) for told in both.buffers) == [
        ((first,), TILE_BYTES),
        ((second,), 4 * TILE_BYTES),
    ]
    assert [told.chips for told in one.buffers] == [(second,)]
    assert one.open_chips == [second]
    assert (none.alive, none.open_chips, none.findings) == ([], [], {})


def test_a_device_that_is_opened_on_another_thread_is_seen_all_the_same(hooked_of: StartedHooked) -> None:
    hooked = hooked_of("n150", has_counters=True)
    for request in (
        {"do": "open_device", "device": 0, "l1_small": 0},
        {"do": "alloc_on", "device": 0, "id": 1, "side": 64},
    ):
        hooked.ask({"do": "elsewhere", "request": request})
    said = hooked.ask({"do": "alloc_on", "device": 0, "id": 2, "side": 32})
    look = hooked.look()
    hooked.ask({"do": "close_device", "device": 0})

    assert sorted((told.address, told.pool.name) for told in look.buffers) == [
        (address, name) for address, name, _ in said["buffers"]
    ]
    assert sorted(told.requested_bytes for told in look.buffers) == [TILE_BYTES, 4 * TILE_BYTES]
    assert look.process["threads"] >= 2


def test_a_child_of_fork_leaves_its_parents_figures_alone(hooked_of: StartedHooked) -> None:
    hooked = hooked_of("n150")
    with hooked.opened():
        hooked.runtime.steps([a_tensor(1), a_tensor(2, "L1")])
        before = hooked.look()
        said = hooked.ask({"do": "fork"})
        hooked.runtime.steps([a_tensor(3)])
        after = hooked.look()

    assert said["status"] == 0
    assert [told for told in after.alive if told in before.alive] == before.alive
    assert len(after.alive) == len(before.alive) + 1
    assert after.findings == {}
    assert after.process["pid"] == hooked.pid


@pytest.fixture
def mortal(hooked_of: StartedHooked) -> Hooked:
    """A process that nobody else needs, with two tensors on its device."""
    hooked = hooked_of("n150", has_counters=True)
    hooked.ask({"do": "open", "mesh": [1, 1], "l1_small": 0, "trace": 0, "dispatch": None, "worker_l1": 0})
    hooked.runtime.steps([a_tensor(1), a_tensor(2, "L1")])
    assert len(hooked.look().buffers) == 2
    return hooked


def is_forgotten(hooked: Hooked) -> bool:
    """Whether nothing is charged any more for what the process held."""
    hooked.watch.collector.tick()
    rows = testing.flat_rows(hooked.watch.collector.ledger)
    states = [row["state"] for row in rows["processes"] if row["pid"] == hooked.pid]
    return states in ([], ["ended"]) and not any(row[2] for row in rows["device_pools"])


def test_what_a_killed_process_held_is_gone_though_the_runtimes_own_counters_keep_it(mortal: Hooked) -> None:
    counters = counters_of(mortal.runtime.chips[0])
    os.kill(mortal.pid, signal.SIGKILL)

    assert wait_until(lambda: is_forgotten(mortal))
    assert counters.exists()
    mortal.runtime.stop()
    assert not counters.exists()


def test_a_program_that_ends_with_its_device_open_leaves_nothing_behind(mortal: Hooked) -> None:
    with pytest.raises(AssertionError, match="ended with status 0"):
        mortal.ask({"do": "quit"})

    assert wait_until(lambda: is_forgotten(mortal))
    [row] = mortal.watch.processes("ended")
    assert {name: count for name, count in row["findings"].items() if count} == {}
