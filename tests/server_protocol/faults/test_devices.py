"""Devices: as many as anybody names, unknown ones apart, and what a device query says about them."""

import os
from pathlib import Path

import pytest

from tests.server_protocol.conftest import ClientMaker
from tests.support.processes.programs import a_program
from tests.support.server.server_bytes import (
    SIZES,
    Type,
    alloc,
    cb_alloc,
    device_info,
    free,
    kernel_load,
    packed,
    unpacked,
)
from tests.support.server.server_figures import of_document
from tests.support.server.server_serving import Daemon, Engine, an_engine
from tests.support.timing.waiting import wait_until
from ttmem._native import testing

US = os.getpid()
GIB = 1 << 30


@pytest.mark.parametrize("count", [9, 64, 10_000])
def test_any_number_of_devices_is_accepted_as_data(engine: Engine, count: int) -> None:
    with engine.line() as line:
        line.say(*(alloc(1, 1000 + device, device=device) for device in range(count)))
        for device in {0, 7, 8, count - 1}:
            assert line.counters(device)["dram"] == 1000 + device
    assert sum(engine.figures().used.values()) == sum(1000 + device for device in range(count))
    assert engine.findings(US) == {}


def test_a_circular_buffer_and_a_kernel_beyond_the_eighth_device_are_counted(engine: Engine) -> None:
    with engine.line() as line:
        line.say(cb_alloc(1, 10, device=8), kernel_load(1, 100, device=63))
        assert line.counters(8)["cb"] == 10
        assert line.counters(63)["kernel"] == 100


def test_the_highest_device_id_is_a_device(engine: Engine) -> None:
    with engine.line() as line:
        line.say(alloc(1, 5, device=2**31 - 1))
        assert line.counters(2**31 - 1)["dram"] == 5


@pytest.mark.parametrize("device", [-1, -2, -(2**31)])
def test_a_negative_device_is_an_unknown_one_and_its_bytes_are_not_lost(engine: Engine, device: int) -> None:
    with engine.line() as line:
        line.say(alloc(1, 5, device=device), alloc(1, 7, device=0))
        assert line.counters(0)["dram"] == 7
    assert engine.figures().used == {("unknown:0", "dram"): 5, ("server:0", "dram"): 7}


@pytest.mark.slow
def test_device_ids_beyond_65535_of_one_process_go_under_unknown(engine: Engine) -> None:
    count = 70_000
    with engine.line() as line:
        line.say(*(alloc(device, 10, device=device) for device in range(count)))
        assert line.counters(65_000)["dram"] == 10
    used = engine.figures().used
    lost = used["unknown:0", "dram"]
    assert sum(used.values()) == 10 * count
    assert 10 * (count - 65_536) <= lost <= 10 * (count - 65_535)
    assert engine.findings(US)["devices_lost"] >= count - 65_536


@pytest.mark.slow
def test_what_goes_under_unknown_is_given_back_like_everything_else(engine: Engine) -> None:
    devices = range(66_000)
    with engine.line() as line:
        line.say(*(alloc(device, 10, device=device) for device in devices))
        line.say(*(free(device, device=device) for device in devices))
        assert line.counters(0)["dram"] == 0
    assert engine.figures().used == {}


def test_equal_ids_on_two_unknown_devices_are_two_buffers(engine: Engine) -> None:
    with engine.line() as line:
        line.say(alloc(1, 5, device=-1), alloc(1, 7, device=-2))
        line.counters()
        assert engine.figures().used == {("unknown:0", "dram"): 12}
        line.say(free(1, device=-1))
        line.counters()

    assert engine.figures().used == {("unknown:0", "dram"): 7}


@pytest.mark.slow
def test_equal_ids_on_devices_beyond_65535_are_many_buffers(engine: Engine) -> None:
    """Addresses are alike on all chips, so this is the usual case."""
    count = 66_000
    with engine.line() as line:
        line.say(*(alloc(1, 10, device=device) for device in range(count)))
        line.counters()

    assert sum(engine.figures().used.values()) == 10 * count


@pytest.mark.parametrize("count", [64, pytest.param(10_000, marks=pytest.mark.slow)])
def test_any_number_of_devices_can_be_looked_at(daemon: Daemon, count: int) -> None:
    """One client with many ids must not hide the others from `ttmem ps`."""
    expected = {(f"server:{device}", "dram"): 1000 + device for device in range(count)}
    with daemon.line() as line:
        line.say(*(alloc(1, 1000 + device, device=device) for device in range(count)))
        line.counters()

        assert of_document(daemon.document()).used == expected
        assert of_document(daemon.ps()).used == expected


@pytest.mark.parametrize("message_bytes", SIZES)
def test_the_device_count_is_the_number_of_device_nodes(message_bytes: int) -> None:
    with an_engine(device_nodes=32) as engine, engine.line(message_bytes) as line:
        line.say(device_info(-1))
        heard = line.hear()

    count = {"num_devices": 32, "is_available": 1}
    assert heard == packed(message_bytes, type=Type.DEVICE_INFO_RESPONSE, device_id=-1, **count)


@pytest.mark.parametrize(("named", "count"), [((2, 3), 4), ((7,), 8), ((0, 299), 300)])
def test_the_device_count_reaches_the_highest_device_that_was_named(
    engine: Engine, named: tuple[int, ...], count: int
) -> None:
    """A monitor shows devices 0 to count - 1: with fewer, it would never show the highest."""
    with engine.line() as line:
        line.say(*(alloc(1, 1000, device=device) for device in named))
        answer = line.ask(device_info(-1))
    assert (answer["num_devices"], answer["is_available"]) == (count, 1)


def test_a_client_that_has_ended_no_longer_raises_the_device_count(engine: Engine, client_of: ClientMaker) -> None:
    client = client_of(engine)
    client.report(Type.ALLOC, device=6, size=10, id=1)
    client.settle()
    with engine.line() as line:
        assert line.ask(device_info(-1))["num_devices"] == 7
        client.kill()
        wait_until(lambda: line.counters(6)["dram"] == 0)
        line.say(alloc(1, 10, device=1))
        testing.forget_ended(engine.ledger)
        assert line.ask(device_info(-1))["num_devices"] == 2


def test_without_devices_none_is_available(engine: Engine) -> None:
    with engine.line() as line:
        answer = line.ask(device_info(-1))
    assert (answer["num_devices"], answer["is_available"]) == (0, 0)


def _with_a_chip(daemon: Daemon, capacity: tuple[int, int], banks: tuple[int, int], arch: str) -> str:
    dram, l1 = capacity
    return (
        "from ttmem import _native\n"
        f"chip = _native.client.open_device(0x1234, 3, {arch!r}, 'board', (8, 8), {banks}, "
        f"({dram}, 0, {l1}, 0, 0, 0, 0, 0, 0, 0), 70656)\n"
        "_native.client.report_buffer_alloc(chip, 1, 4096)\n"
    )


def _info(daemon: Daemon, message_bytes: int, arch: str, dram: int, banks: tuple[int, int]) -> dict[str, int]:
    lines = _with_a_chip(daemon, (dram, 64 * 1_499_136), banks, arch)
    with a_program(Path(daemon.environment["TTMEM_DIR"]), lines, "meet()") as reporter:
        reporter.arrive()
        with daemon.line(message_bytes) as line:
            wait_until(lambda: line.ask(device_info(3)).get("is_available", 1))
            answer = line.ask(device_info(3))
        reporter.end()
    return answer


@pytest.mark.parametrize("message_bytes", SIZES[1:])
def test_a_device_that_a_journal_describes_is_shown_with_its_facts(daemon: Daemon, message_bytes: int) -> None:
    answer = _info(daemon, message_bytes, "wormhole_b0", 12 * GIB, (12, 64))

    told = {name: answer[name] for name in answer if name.startswith(("total", "arch", "num", "dram_size", "l1_size"))}
    assert told == {
        "total_dram_size": 12 * GIB,
        "total_l1_size": 64 * 1_499_136,
        "arch_type": 2,
        "num_dram_channels": 12,
        "dram_size_per_channel": GIB,
        "l1_size_per_core": 1_499_136,
        "num_devices": 0,
    }


def test_a_channel_of_4_gib_saturates_instead_of_wrapping_and_that_is_said(daemon: Daemon) -> None:
    answer = _info(daemon, 144, "blackhole", 32 * GIB, (8, 64))

    assert answer["dram_size_per_channel"] == 2**32 - 1
    assert answer["total_dram_size"] == 32 * GIB
    assert answer["arch_type"] == 3
    assert daemon.document("/healthz")["socket"]["saturated"] >= 1


def test_the_ring_fields_are_zero_as_they_always_were(engine: Engine) -> None:
    with engine.line() as line:
        line.say(kernel_load(1, 100))
        line.say(device_info(0))
        answer = unpacked(line.hear())
    assert {value for name, value in answer.items() if name.startswith("ring")} == {0}
