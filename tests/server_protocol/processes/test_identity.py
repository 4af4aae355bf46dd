"""Whose a message is: the kernel says so for every read; the pid inside of it is only a label."""

import os
import subprocess

import pytest

from tests.server_protocol.conftest import ClientMaker
from tests.support.processes.programs import command_of
from tests.support.server.server_bytes import SIZES, Message, Type, alloc, free
from tests.support.server.server_clients import order
from tests.support.server.server_serving import Engine
from tests.support.timing.waiting import wait_until

US = os.getpid()
every_size = pytest.mark.parametrize("message_bytes", SIZES)


@every_size
def test_equal_addresses_of_two_processes_are_two_buffers(
    engine: Engine, client_of: ClientMaker, message_bytes: int
) -> None:
    """The proof of concept did not count the second one's bytes."""
    one, other = client_of(engine, message_bytes=message_bytes), client_of(engine)
    for client, size in ((one, 1000), (other, 5000)):
        client.report(Type.ALLOC, size=size, id=7)
        client.report(Type.CB_ALLOC, size=size, id=7)
        client.report(Type.KERNEL_LOAD, size=size, id=7)
        client.settle()
    assert other.counters() == {"dram": 6000, "l1": 0, "l1_small": 0, "trace": 0, "cb": 6000, "kernel": 6000}

    one.report(Type.FREE, id=7)
    one.report(Type.CB_FREE, id=7, size=1000)
    one.report(Type.KERNEL_UNLOAD, id=7)
    one.settle()

    assert other.counters() == {"dram": 5000, "l1": 0, "l1_small": 0, "trace": 0, "cb": 5000, "kernel": 5000}
    assert engine.findings(one.pid) == engine.findings(other.pid) == {}


def test_a_process_cannot_free_what_another_one_holds(engine: Engine, client_of: ClientMaker) -> None:
    one, other = client_of(engine), client_of(engine)
    one.report(Type.ALLOC, size=1000, id=7)
    one.settle()
    other.tell(f"claim {one.pid}")
    other.report(Type.FREE, id=7)
    other.settle()

    assert engine.figures().used == {("server:0", "dram"): 1000}
    assert engine.findings(one.pid) == {}
    assert engine.findings(other.pid)["unknown_free"] == 1


def test_a_claimed_pid_of_another_process_is_shown_and_not_believed(engine: Engine, client_of: ClientMaker) -> None:
    honest, liar = client_of(engine), client_of(engine)
    honest.report(Type.ALLOC, size=1000, id=7)
    honest.settle()
    liar.tell(f"claim {honest.pid}")
    liar.report(Type.ALLOC, size=5000, id=8)
    liar.settle()

    assert engine.figures_of(honest.pid).used == {("server:0", "dram"): 1000}
    assert engine.figures_of(liar.pid).used == {("server:0", "dram"): 5000}
    assert engine.process(liar.pid)["claimed_pid"] == honest.pid
    assert engine.process(honest.pid)["claimed_pid"] == 0
    liar.kill()
    wait_until(lambda: engine.figures().used == {("server:0", "dram"): 1000})


@pytest.mark.parametrize("claimed", [1, -1, 2**31 - 1])
def test_a_pid_that_makes_no_sense_changes_nothing(engine: Engine, claimed: int) -> None:
    with engine.line() as line:
        line.say(Message(Type.ALLOC, size=9, id=1, pid=claimed), Message(Type.ALLOC, size=1, id=2, pid=claimed))
        assert line.counters()["dram"] == 10
    assert engine.figures_of(US).used == {("server:0", "dram"): 10}


def test_no_claim_at_all_is_no_difference(engine: Engine) -> None:
    with engine.line() as line:
        line.say(Message(Type.ALLOC, size=9, id=1, pid=0), alloc(2, 1))
        line.counters()
    assert engine.process(US)["claimed_pid"] == 0


@every_size
def test_a_child_that_writes_on_its_parents_connection_is_itself(
    engine: Engine, client_of: ClientMaker, message_bytes: int
) -> None:
    parent = client_of(engine, message_bytes=message_bytes)
    parent.report(Type.ALLOC, size=1000, id=7)
    parent.settle()
    child = parent.child(order(Type.ALLOC, size=5000, id=7))
    wait_until(lambda: sum(engine.figures().used.values()) == 6000)

    assert engine.figures_of(parent.pid).used == {("server:0", "dram"): 1000}
    assert engine.figures_of(child).used == {("server:0", "dram"): 5000}


def test_the_death_of_such_a_child_frees_only_its_own(engine: Engine, client_of: ClientMaker) -> None:
    parent = client_of(engine)
    parent.report(Type.ALLOC, size=1000, id=7)
    parent.settle()
    child = parent.child(order(Type.ALLOC, size=5000, id=7))
    wait_until(lambda: sum(engine.figures().used.values()) == 6000)

    os.kill(child, 9)

    wait_until(lambda: engine.figures().used == {("server:0", "dram"): 1000})


def test_the_death_of_the_parent_leaves_such_a_child_its_own(engine: Engine, client_of: ClientMaker) -> None:
    grandparent = client_of(engine)
    grandparent.report(Type.ALLOC, size=1000, id=7)
    grandparent.settle()
    child = grandparent.child(order(Type.ALLOC, size=5000, id=7), stays=False)
    grandparent.settle()  # on the connection that the child used: it was heard before
    wait_until(lambda: engine.figures().used == {("server:0", "dram"): 1000})

    assert child not in [row["pid"] for row in engine.live()]
    grandparent.report(Type.FREE, id=7)
    grandparent.settle()
    assert engine.figures().used == {}


def test_a_child_frees_its_own_copy_not_its_parents(engine: Engine, client_of: ClientMaker) -> None:
    parent = client_of(engine)
    parent.report(Type.ALLOC, size=1000, id=7)
    parent.settle()
    child = parent.child(order(Type.FREE, id=7))
    wait_until(lambda: child in [row["pid"] for row in engine.live()])

    wait_until(lambda: engine.findings(child).get("unknown_free") == 1)
    assert engine.figures().used == {("server:0", "dram"): 1000}


def test_messages_of_parent_and_child_in_one_read_are_distinguished(engine: Engine, client_of: ClientMaker) -> None:
    parent = client_of(engine)
    parent.report(Type.ALLOC, size=1, id=1)
    parent.settle()
    children = [parent.child(f"many 1 200 0 10 0 {number * 1000}") for number in range(4)]
    parent.tell("many 1 200 0 10 0 100000")
    parent.settle()
    wait_until(lambda: sum(engine.figures().used.values()) == 5 * 2000 + 1)

    for child in children:
        assert engine.figures_of(child).used == {("server:0", "dram"): 2000}
    assert engine.figures_of(parent.pid).used == {("server:0", "dram"): 2001}


def test_a_process_is_shown_with_its_uid_and_command(engine: Engine, client_of: ClientMaker) -> None:
    client = client_of(engine)
    client.report(Type.ALLOC, size=1, id=1)
    client.settle()
    row = engine.process(client.pid)

    assert (row["uid"], row["source"], row["path"]) == (os.geteuid(), "socket", "")
    assert "server_client" in row["command"]
    assert row["complete"] is True


def test_a_monitor_that_only_asks_is_no_process_that_holds_anything(engine: Engine, client_of: ClientMaker) -> None:
    monitor = client_of(engine)
    for _ in range(3):
        monitor.counters()
    with engine.line() as line:
        line.say(alloc(1, 1), free(1))
        line.counters()

    assert [row for row in engine.live() if row["pid"] == monitor.pid and row["live_count"]] == []


@pytest.mark.parametrize(("then", "left"), [("silent", 0), ("again", 70)])
def test_a_process_that_becomes_another_program_gives_back_what_it_held(engine: Engine, then: str, left: int) -> None:
    process = subprocess.Popen(
        command_of("processes.after_exec", str(engine.path), then),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        with engine.line() as monitor:
            assert process.stdout.readline() == "here\n"
            assert monitor.counters()["dram"] == 500
            process.stdin.write("\n")
            process.stdin.flush()
            assert process.stdout.readline() == "here\n"
            wait_until(lambda: monitor.counters()["dram"] == left)
            assert len([row for row in engine.live() if row["pid"] == process.pid]) == (1 if left else 0)
    finally:
        process.communicate()
