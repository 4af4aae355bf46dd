"""Asking a daemon: what it says is read, and whatever else may sit behind the socket is one clear error in time."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.server.false_daemons import (
    Behaviour,
    a_false_daemon,
    a_lone_daemon,
    a_short_directory,
    a_strangers_daemon,
    a_trickle,
    an_answer,
    silence,
    some_answers,
    some_bytes,
)
from tests.support.simulated.figures import a_busy_snapshot, a_dump
from tests.support.simulated.overviews import a_detail, an_overview
from tests.support.timing.stopwatch import Stopwatch
from ttmem.errors import DaemonGone, SelectionError, TtmemError, VersionMismatch
from ttmem.figures.daemon_client import DaemonClient
from ttmem.snapshot import TimeNs, replace
from ttmem.snapshot.codec import encoded

NOBODY = 65_534


@pytest.fixture
def directory() -> Iterator[Path]:
    with a_short_directory() as made:
        yield made


def client_of(directory: Path, **settings: Any) -> DaemonClient:
    return DaemonClient(str(directory / "daemon.sock"), **settings)


def test_a_snapshot_is_what_the_daemon_says(directory: Path) -> None:
    with a_false_daemon(directory, some_answers({"/snapshot": a_busy_snapshot()})):
        assert client_of(directory).snapshot() == a_busy_snapshot()


def test_a_dump_is_what_the_daemon_says(directory: Path) -> None:
    with a_false_daemon(directory, some_answers({"/dump": a_dump()})):
        assert client_of(directory).dump() == a_dump()


def test_an_overview_is_what_the_daemon_says(directory: Path) -> None:
    with a_false_daemon(directory, some_answers({"/overview": an_overview()})):
        assert client_of(directory).overview() == an_overview()


@pytest.mark.parametrize("tag", ["7", "8"])
def test_an_overview_that_has_not_changed_is_the_last_one_at_another_moment(directory: Path, tag: str) -> None:
    requests = []

    def answer(line: socket.socket, request: bytes) -> None:
        requests.append(request)
        if b"If-None-Match: 7\r\n" in request:
            line.sendall(f"HTTP/1.1 304 -\r\netag: {tag}\r\nx-ttmem-time-ns: 1234\r\n\r\n".encode())
        else:
            body = encoded(an_overview())
            line.sendall(b"HTTP/1.1 200 -\r\nETag: 7\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body))

    with a_false_daemon(directory, answer):
        client = client_of(directory)
        first, second = client.overview(), client.patient(5).overview()

    if tag == "7":
        assert second == replace(first, time_ns=TimeNs(1234))
        assert len(requests) == 2
    else:  # it speaks of another one than ours
        assert second == first
        assert len(requests) == 3


def test_a_process_is_asked_for_by_pid_key_and_length(directory: Path) -> None:
    targets = []

    def answer(line: socket.socket, request: bytes) -> None:
        targets.append(request.split(b" ")[1].decode())
        an_answer(a_detail())(line, request)

    with a_false_daemon(directory, answer):
        detail = client_of(directory).process(7, key=3, most=9)

    assert targets == ["/process?pid=7&key=3&most=9"]
    assert detail == a_detail()


def test_a_process_the_daemon_does_not_know_is_a_wrong_choice(directory: Path) -> None:
    refusal = an_answer({"error": "no process 7 here"}, status=404)
    with a_false_daemon(directory, refusal), pytest.raises(SelectionError, match="no process 7 here"):
        client_of(directory).process(7)


def test_peaks_are_reset_by_a_post(directory: Path) -> None:
    requests = []

    def answer(line: socket.socket, request: bytes) -> None:
        requests.append(request.split(b"\r\n")[0])
        line.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")

    with a_false_daemon(directory, answer):
        client_of(directory).reset_peaks()

    assert requests == [b"POST /reset-peaks HTTP/1.0"]


def test_what_is_asked_for_reaches_the_daemon(directory: Path) -> None:
    def echo(line: socket.socket, request: bytes) -> None:
        target = request.split(b" ")[1].decode()
        an_answer(replace(a_dump(), source=target))(line, request)

    with a_false_daemon(directory, echo):
        asked = client_of(directory).dump(kernels=True, device="server:0", most=7).source

    assert asked == "/dump?kernels=1&most=7&device=%73%65%72%76%65%72%3A%30"


def test_a_device_the_daemon_does_not_know_is_a_wrong_choice(directory: Path) -> None:
    with a_false_daemon(directory, an_answer({"error": "no device 9 here; known are 0"}, status=404)):
        with pytest.raises(SelectionError, match="no device 9 here; known are 0"):
            client_of(directory).dump(device="9")
        with pytest.raises(DaemonGone, match="status 404"):
            client_of(directory).dump()


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (some_bytes(b""), "no HTTP"),
        (some_bytes(b"SSH-2.0-x\r\n"), "no HTTP"),
        (some_bytes(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{}"), "broke off"),
        (some_bytes(b"HTTP/1.1 200 OK\r\n\r\n\xff\xfe"), "no JSON"),
        (an_answer(b"[" * 100_000), "found others"),
        (an_answer({"status": "starting"}, status=503), "status 503"),
        (some_bytes(b"HTTP/1.1 200 OK\r\ncontent-length: 999999999999\r\n\r\n{"), "more than 256 MiB"),
    ],
)
def test_garbage_is_one_clear_error(directory: Path, answer: Behaviour, words: str) -> None:
    with a_false_daemon(directory, answer), pytest.raises(TtmemError, match=words) as refused:
        client_of(directory).snapshot()

    assert "\n" not in str(refused.value)


def test_another_schema_is_refused_with_what_to_do(directory: Path) -> None:
    with (
        a_false_daemon(directory, an_answer({"schema": 1})),
        pytest.raises(VersionMismatch, match=r"expected figures of schema 2, found schema 1; .*restart the older one"),
    ):
        client_of(directory).snapshot()


@pytest.mark.parametrize("answer", [silence, a_trickle])
def test_a_daemon_that_never_ends_its_answer_is_left_in_time(directory: Path, answer: Behaviour) -> None:
    with a_false_daemon(directory, answer):
        watch = Stopwatch()
        with pytest.raises(DaemonGone, match=r"no answer within 0\.2 s"):
            client_of(directory, timeout_seconds=0.2).snapshot()
        took = watch.seconds

    assert took < 1.0


def test_a_daemon_that_is_hard_at_work_is_waited_for_even_if_it_cannot_say_so(directory: Path) -> None:
    with a_lone_daemon(directory, a_busy_snapshot(), works=True):
        assert client_of(directory).snapshot() == a_busy_snapshot()


def test_a_daemon_that_sleeps_and_does_not_say_that_it_is_well_is_left(directory: Path) -> None:
    lone = a_lone_daemon(directory, a_busy_snapshot(), works=False)
    with lone, pytest.raises(DaemonGone, match="no answer within 1 s"):
        client_of(directory).snapshot()


def test_a_daemon_that_takes_no_connection_is_left_in_time(directory: Path) -> None:
    path = str(directory / "daemon.sock")
    with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as waiting:
        listener.bind(path)
        listener.listen(0)
        waiting.connect(path)  # fills the queue of those who wait
        with pytest.raises(DaemonGone, match=r"hangs|no answer"):
            client_of(directory, timeout_seconds=0.2).snapshot()


def test_the_socket_of_a_dead_daemon_is_no_daemon(directory: Path) -> None:
    with a_false_daemon(directory, silence) as daemon:
        daemon.kill()
        with pytest.raises(DaemonGone, match="the daemon that made it has ended"):
            client_of(directory).snapshot()
        assert DaemonClient.find([str(directory)]) is None


@pytest.mark.skipif(os.geteuid() != 0, reason="NOT TESTED: only root can be two users")
def test_a_daemon_of_another_user_is_not_believed(directory: Path) -> None:
    with a_strangers_daemon(directory, NOBODY):
        with pytest.raises(DaemonGone, match=f"belongs to uid {NOBODY}, neither root nor us"):
            client_of(directory).snapshot()
        assert DaemonClient.find([str(directory)]) is None


@pytest.mark.skipif(os.geteuid() != 0, reason="NOT TESTED: only root can be two users")
def test_a_daemon_that_is_not_shared_with_us_cannot_be_asked(directory: Path) -> None:
    directory.chmod(0o755)
    with a_false_daemon(directory, an_answer(a_busy_snapshot())) as daemon:
        daemon.path.chmod(0o600)
        os.seteuid(NOBODY)
        try:
            with pytest.raises(DaemonGone, match="cannot be asked: permission denied"):
                client_of(directory).snapshot()
        finally:
            os.seteuid(0)


def test_a_socket_that_is_not_there_cannot_be_asked(directory: Path) -> None:
    with pytest.raises(DaemonGone, match="cannot be asked: no such file"):
        client_of(directory).snapshot()


def test_the_first_daemon_that_answers_is_found(directory: Path) -> None:
    first, second = directory / "a", directory / "b"
    first.mkdir()
    second.mkdir()
    with a_false_daemon(second, an_answer({})):
        found = DaemonClient.find([str(first), str(second)])

    assert found is not None
    assert found.path == str(second / "daemon.sock")
