"""Connections that cannot be understood: closed with one clear line, and nobody else notices."""

import os

import pytest

from tests.server_protocol.conftest import ClientMaker
from tests.support.server.server_bytes import SIZES, Type, alloc
from tests.support.server.server_serving import Daemon, Engine
from tests.support.timing.waiting import wait_until

NOISE = {
    "a request for a web page": b"GET /snapshot HTTP/1.1\r\nHost: ttmem\r\n\r\n" * 8,
    "text": b"QUERY_ALL\n" * 40,
    "zeros": bytes(1000),
    "full bytes": b"\xff" * 1000,
    "types beyond twelve": b"".join(bytes([13 + n % 200]) + bytes(143) for n in range(10)),
}


@pytest.mark.parametrize("noise", NOISE.values(), ids=NOISE)
def test_noise_is_hung_up_on_and_harms_no_client(engine: Engine, noise: bytes) -> None:
    with engine.line() as honest, engine.line() as noisy:
        honest.say(alloc(1, 4096))
        noisy.say_bytes(noise)

        assert noisy.is_hung_up()
        assert honest.counters()["dram"] == 4096
    assert engine.statistics()["closed_unreadable"] == 1
    assert engine.figures().used == {("server:0", "dram"): 4096}


def test_noise_costs_one_line_in_the_servers_log(daemon: Daemon) -> None:
    with daemon.line() as noisy:
        noisy.say_bytes(NOISE["text"])
        assert noisy.is_hung_up()

    text = daemon.text_with(str(os.getpid()))
    assert len([line for line in text.splitlines() if str(os.getpid()) in line]) == 1


def test_a_request_of_24_bytes_never_becomes_a_free(engine: Engine) -> None:
    """The allocation server's realtime monitor sends such a thing; the old server took it as a free of buffer 0."""
    with engine.line() as honest, engine.line() as monitor:
        honest.say(alloc(0, 4096))
        assert honest.counters()["dram"] == 4096
        monitor.say_bytes(b"\x02" + bytes(23))
        wait_until(lambda: engine.statistics()["bytes"] >= 2 * 144 + 24)

        assert honest.counters()["dram"] == 4096
    assert engine.findings(os.getpid()) == {}


def test_an_empty_line_as_nc_sends_it_changes_nothing(engine: Engine) -> None:
    with engine.line() as honest:
        with engine.line() as nc:
            nc.say_bytes(b"\n")
            nc.socket.shutdown(1)
            assert nc.is_hung_up()
        honest.say(alloc(1, 4096))

        assert honest.counters()["dram"] == 4096
    assert engine.figures().kernels == {}


def test_a_connection_that_says_nothing_is_no_trouble(engine: Engine) -> None:
    with engine.line(), engine.line() as honest:
        assert honest.counters()["dram"] == 0
    wait_until(lambda: engine.statistics()["connections"] == 0)


@pytest.mark.parametrize("message_bytes", SIZES)
def test_half_a_message_and_silence_delays_no_client(
    engine: Engine, message_bytes: int, client_of: ClientMaker
) -> None:
    hanging = client_of(engine, message_bytes=message_bytes)
    hanging.tell(f"raw {alloc(1, 999).to_bytes(message_bytes)[:36].hex()}")
    with engine.line() as honest:
        honest.say(alloc(1, 4096))

        assert honest.counters()["dram"] == 4096
    hanging.tell(f"raw {alloc(1, 999).to_bytes(message_bytes)[36:].hex()}")
    hanging.settle()
    assert engine.figures().used == {("server:0", "dram"): 4096 + 999}


def test_half_a_message_at_the_end_is_dropped_not_guessed(engine: Engine) -> None:
    with engine.line() as line:
        line.say(alloc(1, 1), alloc(2, 2))
        line.say_bytes(alloc(3, 4).to_bytes()[:39])
        line.socket.shutdown(1)
        assert line.is_hung_up()

    assert engine.figures().used == {("server:0", "dram"): 3}


def test_an_unknown_type_on_a_known_stride_harms_only_its_sender(engine: Engine, client_of: ClientMaker) -> None:
    odd = client_of(engine)
    odd.tell("endure")
    odd.report(Type.ALLOC, size=1, id=1)
    odd.settle()
    odd.tell(f"raw {bytes([77]).hex()}{bytes(143).hex()}")
    with engine.line() as honest:
        honest.say(alloc(9, 8))
        assert honest.counters()["dram"] == 1 + 8
    assert engine.figures_of(os.getpid()).used == {("server:0", "dram"): 8}
