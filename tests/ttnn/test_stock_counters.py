"""The real runtime's counters: a plainly started program is shown as read, and what they miss of a hooked one is said.

The figures are those of the runtime's own files in shared memory, under chip ids that are nobody else's.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.faces.json_documents import opened
from tests.support.hooked.process import Hooked, hook_path
from tests.support.timing.waiting import wait_until
from tests.support.ttnn.runtime import counters_of
from tests.support.ttnn.stock import Stock
from ttmem.sources.stock_shm.region import decode_region

MIB = 1 << 20
SIDE = 1024  # of a matrix of bfloat16: 2 MiB
pytestmark = pytest.mark.xdist_group("stock_counters")


@pytest.fixture(scope="module")
def plain(stock: Stock, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hooked]:
    """A program without the hook, whose runtime counts for itself."""
    directory = tmp_path_factory.mktemp("plain")
    started = Hooked.started(stock, directory, "n300", is_hooked=False, has_counters=True)
    yield started
    started.stop()


@pytest.fixture
def a_chip_alone(plain: Hooked) -> Iterator[Hooked]:
    plain.ask({"do": "open_device", "device": 0, "l1_small": 0})
    yield plain
    plain.ask({"do": "close_device", "device": 0})


def ps(hooked: Hooked, *arguments: str) -> str:
    environ = {name: value for name, value in os.environ.items() if name != "TTMEM_STOCK_SHM_DIR"}
    command = [sys.executable, "-m", "ttmem", "ps", "--pid", str(hooked.pid), *arguments]
    environ["TTMEM_DIR"] = str(hooked.journals)
    return subprocess.run(command, env=environ, capture_output=True, text=True, check=False).stdout


def told(hooked: Hooked) -> Any:
    """The process, and its devices by unique id."""
    document = opened(json.loads(ps(hooked, "--json")))
    [process] = document["processes"]
    return process, {int(device["uuid"], 16): device["memory"] for device in process["devices"]}


def allocate(hooked: Hooked, identity: int, *, elsewhere: bool = False) -> None:
    request = {"do": "alloc_on", "device": 0, "id": identity, "side": SIDE}
    hooked.ask({"do": "elsewhere", "request": request} if elsewhere else request)


def test_a_plainly_started_program_is_shown_as_read(a_chip_alone: Hooked) -> None:
    allocate(a_chip_alone, 1)
    process, devices = told(a_chip_alone)
    table = ps(a_chip_alone)

    assert (process["pid"], process["source"], process["origin"]) == (a_chip_alone.pid, "runtime", "read")
    assert list(devices) == list(a_chip_alone.runtime.chips)[:1]
    assert [(pools["dram"]["used_bytes"], pools["dram"]["origin"]) for pools in devices.values()] == [(2 * MIB, "read")]
    assert f" {a_chip_alone.pid} " in table
    assert " read " in table


def test_a_program_that_has_opened_a_device_and_counted_nothing_is_unknown(a_chip_alone: Hooked) -> None:
    process, devices = told(a_chip_alone)

    assert (process["origin"], process["reason"], list(devices.values())) == ("unknown", "uncounted", [{}])


def test_every_chip_of_a_mesh_has_counters_of_its_own(plain: Hooked) -> None:
    with plain.opened((1, 2)):
        step = {"op": "alloc", "id": 1, "shape": [1, 1, SIDE, SIDE], "dtype": "bfloat16", "is_tiled": True}
        plain.runtime.steps([{**step, "type": "DRAM", "layout": "INTERLEAVED"}])
        _, devices = told(plain)

    assert {chip: pools["dram"]["used_bytes"] for chip, pools in devices.items()} == dict.fromkeys(
        plain.runtime.chips, 2 * MIB
    )


def test_looking_leaves_the_runtimes_file_as_it_is(a_chip_alone: Hooked) -> None:
    allocate(a_chip_alone, 1)
    file = counters_of(a_chip_alone.runtime.chips[0])
    before, data = file.stat(), file.read_bytes()
    told(a_chip_alone)
    after = file.stat()

    assert (after.st_mtime_ns, after.st_ctime_ns, after.st_size) == (before.st_mtime_ns, before.st_ctime_ns, 8576)
    assert file.read_bytes() == data


def test_a_killed_program_is_gone_though_its_file_still_counts_it(stock: Stock, tmp_path: Path) -> None:
    killed = Hooked.started(stock, tmp_path, "n150", is_hooked=False, has_counters=True)
    try:
        killed.ask({"do": "open_device", "device": 0, "l1_small": 0})
        allocate(killed, 1)
        assert told(killed)[1]
        os.kill(killed.pid, signal.SIGKILL)
        wait_until(lambda: ps(killed) == "")
        region = decode_region(counters_of(killed.runtime.chips[0]).read_bytes())

        assert (region.totals.dram, [slot.pid for slot in region.processes]) == (2 * MIB, [killed.pid])
    finally:
        killed.stop()


@pytest.fixture
def hooked(stock: Stock, tmp_path: Path) -> Iterator[Hooked]:
    if not hook_path().exists():
        pytest.skip("NOT TESTED: the hook is not built")
    started = Hooked.started(stock, tmp_path, "n150", has_counters=True)
    yield started
    started.stop()


def test_of_one_thread_the_runtimes_own_counters_say_what_was_counted(hooked: Hooked) -> None:
    step = {"op": "alloc", "dtype": "bfloat16", "is_tiled": True, "layout": "INTERLEAVED"}
    sides = {"DRAM": (32, 512, 1024), "L1": (64, 256)}
    steps = [(memory, side) for memory, all_sides in sides.items() for side in all_sides]
    with hooked.opened():
        for number, (memory, side) in enumerate(steps):
            hooked.runtime.steps([{**step, "id": number, "type": memory, "shape": [1, 1, side, side]}])
        hooked.runtime.steps([{"op": "free", "id": 1, "type": "DRAM"}])
        region = decode_region(counters_of(hooked.runtime.chips[0]).read_bytes())
        process, devices = told(hooked)

    [memory] = devices.values()
    assert (memory["dram"]["requested_bytes"], memory["l1"]["requested_bytes"]) == (
        region.totals.dram,
        region.totals.l1,
    )
    assert (region.totals.dram, region.totals.l1) == (2 * (32 * 32 + 1024 * 1024), 2 * (64 * 64 + 256 * 256))
    assert (process["source"], process["findings"], process["other_devices"]) == ("journal", {}, [])


def test_what_another_thread_allocates_is_counted_and_its_lack_in_the_runtimes_counter_a_finding(
    hooked: Hooked,
) -> None:
    hooked.ask({"do": "open_device", "device": 0, "l1_small": 0})
    allocate(hooked, 1)
    same, _ = wait_until(lambda: told(hooked))
    allocate(hooked, 2, elsewhere=True)
    process, devices = wait_until(lambda: told(hooked))
    [dram] = [pools["dram"] for pools in devices.values()]
    [other] = process["other_devices"]

    assert (same["source"], same["findings"], same["other_devices"]) == ("journal", {}, [])
    assert (process["source"], process["findings"]) == ("journal", {"runtime_misses": 1})
    assert (dram["requested_bytes"], dram["origin"]) == (4 * MIB, "counted")
    assert (other["memory"]["dram"]["used_bytes"], other["memory"]["dram"]["origin"]) == (2 * MIB, "read")
    assert "the runtime's counter misses allocations of other threads" in ps(hooked)
