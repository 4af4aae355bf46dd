"""What strangers may do to a server without harming the others: crowds, deaf askers, no descriptors left."""

import os
import resource
import signal
import socket
from pathlib import Path

import pytest

from tests.support.server.server_bytes import (
    alloc,
    cb_alloc,
    cb_free,
    device_info,
    free,
    kernel_load,
    kernel_unload,
    query,
)
from tests.support.server.server_serving import Daemon, Engine, an_engine
from tests.support.timing.stopwatch import least
from tests.support.timing.waiting import wait_until

US = os.getpid()


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def cpu_seconds_of_lone_questions(daemon: Daemon) -> float:
    before = cpu_seconds(daemon.pid)
    for _ in range(20):  # that takes 100 ms of waiting at least
        with daemon.line(72) as other:
            other.ask(query(0))
    return cpu_seconds(daemon.pid) - before


def test_a_client_that_does_not_read_its_answers_and_hangs_up_does_not_keep_the_server_turning(daemon: Daemon) -> None:
    deaf = daemon.line()
    deaf.say(*(query(0) for _ in range(2000)))
    deaf.socket.shutdown(socket.SHUT_RDWR)

    with daemon.line() as line:
        line.counters()
        assert least(lambda: cpu_seconds_of_lone_questions(daemon), under=0.1) < 0.1
    deaf.close()


def test_without_a_descriptor_left_the_living_stay_alive(daemon: Daemon) -> None:
    resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE, (64, 64))
    with daemon.line() as line:
        line.counters()
        crowd = [daemon.line() for _ in range(80)]
        wait_until(lambda: len(os.listdir(f"/proc/{daemon.pid}/fd")) >= 64)
        for id in range(5):
            line.say(alloc(id, 1000))
            assert line.counters()["dram"] == 1000 * (id + 1)
        for one in crowd:
            one.close()
        assert line.counters()["dram"] == 5000


@pytest.mark.slow
def test_a_crowd_of_children_on_one_connection_is_counted_and_gone(engine: Engine) -> None:
    with engine.line() as shared:
        for id in range(300):
            child = os.fork()
            if child == 0:
                shared.say(alloc(id, 10))
                os.kill(os.getpid(), signal.SIGKILL)
            os.waitpid(child, 0)
        shared.say(alloc(1, 7))
        wait_until(lambda: sum(engine.figures().used.values()) == 7)
        wait_until(lambda: [row["pid"] for row in engine.live()] == [US])


def test_a_free_names_no_device_that_was_not_there(engine: Engine) -> None:
    with engine.line() as line:
        line.say(alloc(1, 10), free(1, device=55), kernel_unload(1, 0, device=56), cb_free(1, 0, device=57))
        assert line.ask(device_info(-1))["num_devices"] == 1
    assert engine.figures().used == {("server:0", "dram"): 10}


def test_what_the_log_says_adds_up_to_its_totals() -> None:
    with an_engine(log_events=True) as engine, engine.line() as line:
        line.say(cb_alloc(1, 917_504), cb_alloc(1, 917_504), cb_free(1, 917_504), cb_free(1, 917_504))
        line.say(kernel_load(1, 917_504), kernel_load(1, 94_208))
        log = engine.log("-0.785156 MB")

    moves = [float(text.partition(" MB")[0].rpartition(" ")[2]) for text in log.splitlines() if " MB (Total: " in text]
    totals = [float(text.rpartition("Total: ")[2].partition(" ")[0]) for text in log.splitlines() if "Total: " in text]
    assert moves == [0.875, 0, 0, -0.875, 0.875, -0.785156]
    assert totals == [0.875, 0.875, 0.875, 0, 0.875, 0.0898438]
