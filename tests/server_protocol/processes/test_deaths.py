"""Who is dead and who is not: the kernel says, at once, and nobody is asked with kill(pid, 0)."""

import os
import signal
import time

import pytest

from tests.server_protocol.conftest import ClientMaker
from tests.support.processes.children import state_of
from tests.support.server.server_bytes import SIZES, Type, alloc
from tests.support.server.server_clients import order
from tests.support.server.server_serving import Engine
from tests.support.timing.stopwatch import Stopwatch
from tests.support.timing.waiting import wait_until

PROMISED_SECONDS = 0.1
AN_ORDER = order(Type.ALLOC, size=4096, id=7)
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="NOT TESTED: only root can become somebody else")


def gone_after(engine: Engine) -> float:
    """How many seconds from now nobody holds anything any more."""
    watch = Stopwatch()
    wait_until(lambda: not engine.figures().used)
    return watch.seconds


@pytest.mark.parametrize("message_bytes", SIZES)
def test_a_killed_process_gives_everything_back_within_100_ms(
    engine: Engine, client_of: ClientMaker, message_bytes: int
) -> None:
    client = client_of(engine, message_bytes=message_bytes)
    client.report(Type.ALLOC, size=4096, id=7)
    client.report(Type.CB_ALLOC, size=100, id=7)
    client.report(Type.KERNEL_LOAD, size=917_504, kind=1, id=7)
    client.settle()
    assert sum(engine.figures().used.values()) == 4096 + 100 + 917_504

    client.kill()  # and not waited for: it is a zombie until the end of the test

    assert gone_after(engine) <= PROMISED_SECONDS
    assert state_of(client.pid) == "Z"
    assert engine.figures().kernels == {}


def test_the_death_of_a_process_with_a_hundred_thousand_allocations_is_as_quick(
    engine: Engine, client_of: ClientMaker
) -> None:
    client = client_of(engine)
    client.tell("pairs 100000 0 10 0 100000 64")
    client.settle()

    client.kill()

    assert gone_after(engine) <= 2 * PROMISED_SECONDS


def test_a_process_that_ends_by_itself_gives_everything_back(engine: Engine, client_of: ClientMaker) -> None:
    client = client_of(engine)
    client.report(Type.ALLOC, size=4096, id=7)
    client.settle()

    client.process.communicate()  # its orders end, and so does it

    assert gone_after(engine) <= PROMISED_SECONDS


def test_a_zombie_child_on_its_own_connection_is_dead(engine: Engine, client_of: ClientMaker) -> None:
    """The proof of concept never cleaned up after one."""
    parent = client_of(engine)
    child = parent.child(AN_ORDER, stays=False, is_fresh=True)

    assert state_of(child) == "Z"
    wait_until(lambda: child not in [row["pid"] for row in engine.live()])
    assert engine.figures().used == {}


def test_closing_the_socket_frees_nothing_while_the_process_lives(engine: Engine, client_of: ClientMaker) -> None:
    client = client_of(engine)
    client.report(Type.ALLOC, size=4096, id=7)
    client.settle()
    client.tell("close")
    wait_until(lambda: engine.statistics()["connections"] == 0)

    assert engine.figures().used == {("server:0", "dram"): 4096}
    client.kill()
    assert gone_after(engine) <= PROMISED_SECONDS


def test_a_process_that_comes_back_on_a_new_connection_can_free_what_it_had(
    engine: Engine, client_of: ClientMaker
) -> None:
    client = client_of(engine)
    client.report(Type.ALLOC, size=4096, id=7)
    client.settle()
    client.tell("reconnect")
    client.report(Type.FREE, id=7)
    client.settle()

    assert engine.figures().used == {}
    assert engine.findings(client.pid) == {}


def test_a_message_that_arrives_with_the_death_is_not_left_behind(engine: Engine, client_of: ClientMaker) -> None:
    for id in range(20):
        client = client_of(engine)
        client.tell(f"pairs 500 0 10 {id * 1000} 500 500")
        client.kill()
    with engine.line() as line:  # messages of the last one may still be unread when it is gone
        wait_until(lambda: not engine.figures().used and not engine.live() and line.counters()["dram"] == 0)


@as_root
def test_a_living_process_of_another_user_is_never_reaped(engine: Engine, client_of: ClientMaker) -> None:
    os.chmod(engine.path, 0o666)
    os.chmod(engine.path.parent, 0o755)
    client = client_of(engine)
    client.tell("become 65534")
    client.tell("reconnect")
    client.report(Type.ALLOC, size=4096, id=7)
    client.settle()

    time.sleep(0.3)  # the server looks far more often than that

    row = engine.process(client.pid)
    assert (row["uid"], row["state"]) == (65534, "live")
    assert engine.figures().used == {("server:0", "dram"): 4096}
    client.kill()
    assert gone_after(engine) <= PROMISED_SECONDS


def test_a_stopped_process_is_not_dead(engine: Engine, client_of: ClientMaker) -> None:
    client = client_of(engine)
    client.report(Type.ALLOC, size=4096, id=7)
    client.settle()
    os.kill(client.pid, signal.SIGSTOP)

    time.sleep(0.3)

    assert engine.figures().used == {("server:0", "dram"): 4096}


def test_a_process_with_many_connections_needs_one_pidfd(engine: Engine) -> None:
    lines = [engine.line() for _ in range(50)]
    try:
        for number, line in enumerate(lines):
            line.say(alloc(number, 1), alloc(number + 1000, 1))
            line.counters()
        assert engine.statistics()["pidfds"] == 1
        assert len(engine.live()) == 1
    finally:
        for line in lines:
            line.close()
