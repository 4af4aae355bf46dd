"""The routes over a real socket: what is asked, what comes back, and to whom."""

import contextlib
import http.client
import json
import os
import select
import socket
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, cast

import pytest

from tests.support.timing.stopwatch import Stopwatch
from tests.support.timing.waiting import PATIENCE_SECONDS, wait_until
from ttmem.collector import Collector
from ttmem.daemon.queries import app, connections
from ttmem.daemon.queries.answers import Answers
from ttmem.daemon.queries.app import Queries
from ttmem.daemon.queries.frames import Encoded, encoded_for
from ttmem.daemon.queries.server import QueryServer, loopback_listener
from ttmem.errors import CannotServe, SelectionError
from ttmem.snapshot.dump import By
from ttmem.snapshot.values import Answer
from ttmem.sources.driver import Driver

BODY = b'{"schema":2,"filler":"' + b"x" * 50_000 + b'"}'
OVERVIEW = b'{"overview":1}'
FOUND = b'{"schema":2,"asked":{}}'


class Found(Answer, frozen=True, kw_only=True):
    """Some figures, and what was asked for."""

    asked: dict[str, str]


class Holding:
    """Encodes no figures before it is let go; notes who encodes them."""

    def __init__(self) -> None:
        self.is_begun, self.is_let_go = threading.Event(), threading.Event()
        self.encoded_by = ""

    def encoded_for(self, figures: object, *, is_public: bool) -> bytes:
        self.encoded_by = threading.current_thread().name
        self.is_begun.set()
        self.is_let_go.wait(3 * PATIENCE_SECONDS)  # longer than anybody waits for an answer
        return encoded_for(figures, is_public=is_public)


class Desk:
    """Stands for what the daemon knows."""

    def __init__(self) -> None:
        self.makers: list[str] = []
        self.is_well = True
        self.snapshot_count = 0
        self.reset_count = 0
        self.questions: list[tuple[bool, str | None, int, By]] = []

    def snapshot(self) -> Encoded:
        self.snapshot_count += 1
        self.makers.append(threading.current_thread().name)
        return Encoded(BODY)

    def overview(self) -> Encoded:
        self.makers.append(threading.current_thread().name)
        return Encoded(OVERVIEW, '"7"', 1234)

    def tick(self) -> None:
        """As a collector does."""

    def dump(self, *, kernels: bool, device: str | None, most: int, by: By) -> Found:
        """As a collector does."""
        if device == "9":
            raise SelectionError("no device 9 here")
        self.questions.append((kernels, device, most, by))
        return Found(asked={})

    def process(self, parameters: Mapping[str, str]) -> Found:
        if parameters.get("pid") == "9":
            raise SelectionError("no process 9 here")
        return Found(asked=dict(parameters))

    def health(self) -> tuple[bool, dict[str, Any]]:
        return self.is_well, {"status": "ok" if self.is_well else "ailing"}

    def reset_peaks(self) -> None:
        self.reset_count += 1

    @property
    def answers(self) -> Queries:
        real = Answers(cast(Collector, self), cast(Driver, None))
        return Queries(
            snapshot=self.snapshot,
            health=self.health,
            reset_peaks=self.reset_peaks,
            overview=self.overview,
            figures={"process": self.process, "dump": real.dump},
        )


class Serving:
    def __init__(self, path: str, desk: Desk) -> None:
        self.path = path
        self.desk = desk
        self.warnings: list[str] = []
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen(128)
        self.port = loopback_listener("127.0.0.1:0")
        self.server = QueryServer(desk.answers, [self.listener, self.port], warn=self.warnings.append)
        self.server.start()

    def connect(self) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(PATIENCE_SECONDS)
        connection.connect(self.path)
        return connection

    def ask(self, path: str, method: str = "GET", *, by_port: bool = False, **headers: str) -> tuple[int, bytes]:
        host, number = self.port.getsockname()
        connection = http.client.HTTPConnection(host, number, timeout=PATIENCE_SECONDS)
        if not by_port:
            connection.sock = self.connect()
        with contextlib.closing(connection):
            connection.request(method, path, headers=headers)
            answer = connection.getresponse()
            return answer.status, answer.read()

    def stream(self, interval: float, *, receive_bytes: int = 0) -> socket.socket:
        connection = self.connect()
        if receive_bytes:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        connection.sendall(b"GET /events?interval=%g HTTP/1.1\r\nHost: x\r\n\r\n" % interval)
        return connection

    def close(self) -> None:
        self.server.stop()
        self.listener.close()
        self.port.close()


@pytest.fixture
def serving() -> Iterator[Serving]:
    with tempfile.TemporaryDirectory(prefix="tt-") as directory:
        one = Serving(os.path.join(directory, "q"), Desk())
        yield one
        one.close()


def received(connection: socket.socket, words: bytes) -> bytes:
    text = b""
    while text.count(b"event: snapshot") < 1 or words not in text:
        more = connection.recv(65536)
        assert more, "the stream ended"
        text += more
    return text


def test_a_snapshot_is_what_was_made_for_all(serving: Serving) -> None:
    assert serving.ask("/snapshot") == (200, BODY)


def test_an_overview_is_asked_for_like_a_snapshot(serving: Serving) -> None:
    assert serving.ask("/overview") == (200, OVERVIEW)


def test_a_client_that_has_the_overview_already_gets_only_that_and_when(serving: Serving) -> None:
    found = []
    for tag in ('"7"', '"6"'):
        with contextlib.closing(http.client.HTTPConnection("ttmem", timeout=PATIENCE_SECONDS)) as connection:
            connection.sock = serving.connect()
            connection.request("GET", "/overview", headers={"If-None-Match": tag})
            answer = connection.getresponse()
            found.append((answer.status, answer.read(), answer.headers["etag"], answer.headers["x-ttmem-time-ns"]))

    assert found == [(304, b"", '"7"', "1234"), (200, OVERVIEW, '"7"', "1234")]


def test_a_close_up_gets_the_parameters_and_a_process_that_is_not_there_is_404(serving: Serving) -> None:
    assert json.loads(serving.ask("/process?pid=7&most=3")[1])["asked"] == {"pid": "7", "most": "3"}
    status, body = serving.ask("/process?pid=9")

    assert (status, json.loads(body)) == (404, {"error": "no process 9 here"})


def test_overviews_can_be_streamed_by_name(serving: Serving) -> None:
    with serving.connect() as connection:
        connection.sendall(b"GET /events?interval=0.1&what=overview HTTP/1.1\r\nHost: x\r\n\r\n")
        text = b""
        while text.count(b"event: overview") < 2:
            text += connection.recv(65536)

    assert b"id: 1\ndata: " + OVERVIEW in text
    assert serving.desk.snapshot_count == 0
    status, body = serving.ask("/events?what=weather")
    assert (status, json.loads(body)["error"]) == (400, "what: expected snapshot or overview, found 'weather'")


def test_health_is_a_status_of_its_own(serving: Serving) -> None:
    assert serving.ask("/healthz") == (200, b'{"status":"ok"}')
    serving.desk.is_well = False
    assert serving.ask("/healthz") == (503, b'{"status":"ailing"}')


def test_a_dump_passes_on_what_was_asked_for(serving: Serving) -> None:
    for question in ("/dump", "/dump?kernels=1&device=3&most=7&by=site", "/dump?kernels=0"):
        assert serving.ask(question) == (200, FOUND)

    assert serving.desk.questions == [(False, None, 50, ""), (True, "3", 7, "site"), (False, None, 50, "")]
    status, body = serving.ask("/dump?by=colour")
    assert (status, json.loads(body)["error"]) == (400, "by: expected site or phase or operation, found 'colour'")


@pytest.mark.parametrize("question", ["/dump?most=x", "/dump?most=-1", "/events?interval=0.01", "/events?interval=nan"])
def test_a_question_that_makes_no_sense_is_refused(serving: Serving, question: str) -> None:
    status, body = serving.ask(question)

    assert status == 400
    assert "expected a number from" in json.loads(body)["error"]


def test_a_device_that_is_not_there_is_not_found(serving: Serving) -> None:
    assert serving.ask("/dump?device=9") == (404, b'{"error":"no device 9 here"}')


def test_peaks_are_reset_by_a_post_alone(serving: Serving) -> None:
    assert serving.ask("/reset-peaks") == (405, b'{"error":"GET /reset-peaks: Method Not Allowed"}')
    assert serving.desk.reset_count == 0
    assert serving.ask("/reset-peaks", "POST") == (204, b"")
    assert serving.desk.reset_count == 1


def test_what_is_not_there_is_not_found(serving: Serving) -> None:
    assert serving.ask("/") == (404, b'{"error":"GET /: Not Found"}')


def test_a_port_answers_too(serving: Serving) -> None:
    assert serving.ask("/healthz", by_port=True)[0] == 200


@pytest.mark.parametrize(
    "headers", [{"Host": "evil.example:80"}, {"Origin": "http://evil.example"}, {"Origin": "null"}]
)
def test_a_page_of_another_site_is_not_let_in(serving: Serving, headers: dict[str, str]) -> None:
    assert serving.ask("/reset-peaks", "POST", by_port=True, **headers)[0] == 403
    assert serving.desk.reset_count == 0


@pytest.mark.parametrize("name", ["Host", "Origin"])
def test_a_request_with_two_origins_or_hosts_is_not_let_in(serving: Serving, name: str) -> None:
    host, number = serving.port.getsockname()
    own = {"Host": f"{host}:{number}", "Origin": f"http://{host}:{number}"}[name]
    with socket.create_connection((host, number), timeout=PATIENCE_SECONDS) as line:
        hosts = "" if name == "Host" else f"Host: {host}:{number}\r\n"
        line.sendall(f"GET /healthz HTTP/1.0\r\n{hosts}{name}: http://evil.example\r\n{name}: {own}\r\n\r\n".encode())
        answer = line.makefile("rb").read()

    assert answer.startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_nothing_is_changed_over_a_port(serving: Serving, method: str) -> None:
    status, body = serving.ask("/reset-peaks", method, by_port=True)

    text = f"{method} /reset-peaks: a port is for reading only (GET); send this to the daemon's Unix socket instead"
    assert (status, json.loads(body)) == (403, {"error": text})
    assert serving.desk.reset_count == 0


@pytest.mark.parametrize("question", ["/dump", "/process"])
@pytest.mark.parametrize("by_port", [True, False])
def test_others_are_answered_while_a_large_answer_is_encoded(
    serving: Serving, question: str, by_port: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Holding()
    monkeypatch.setattr(app, "encoded_for", held.encoded_for)
    answers: list[tuple[int, bytes]] = []
    asking = threading.Thread(target=lambda: answers.append(serving.ask(question, by_port=by_port)))
    asking.start()
    try:
        assert held.is_begun.wait(PATIENCE_SECONDS)
        assert [serving.ask("/healthz", by_port=one)[0] for one in (False, True)] == [200, 200]
    finally:
        held.is_let_go.set()
        asking.join()

    assert answers == [(200, FOUND)]
    assert held.encoded_by.startswith("ttmem-port" if by_port else "asyncio_")


def test_what_is_made_for_all_is_made_beside_the_event_loop(serving: Serving) -> None:
    for question in ("/snapshot", "/overview"):
        assert serving.ask(question, by_port=True)[0] == 200

    assert [maker.partition("_")[0] for maker in serving.desk.makers] == ["asyncio", "asyncio"]


def half_sent(serving: Serving) -> socket.socket:
    line = socket.create_connection(serving.port.getsockname(), timeout=PATIENCE_SECONDS)
    line.sendall(b"GET /healthz HTTP/1.1\r\nHost: ")
    return line


def test_a_request_that_trickles_in_is_given_up(serving: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "REQUEST_SECONDS", 0.1)
    with half_sent(serving) as line:
        with contextlib.suppress(OSError):  # it hangs up on us in the middle of a byte
            while not select.select([line], [], [], 0.01)[0]:
                line.sendall(b"x")

        assert line.recv(1000).startswith(b"HTTP/1.1 408 ")


def test_half_sent_requests_on_a_port_shut_neither_it_nor_the_socket(serving: Serving) -> None:
    with contextlib.ExitStack() as lines:
        for _ in range(600):
            lines.enter_context(half_sent(serving))

        assert [serving.ask("/healthz", by_port=by_port)[0] for by_port in (False, True)] == [200, 200]


def test_a_port_with_too_many_streams_refuses_more_and_the_socket_does_not(serving: Serving) -> None:
    host, number = serving.port.getsockname()
    with contextlib.ExitStack() as streams:
        for _ in range(256):
            line = streams.enter_context(socket.create_connection((host, number), timeout=PATIENCE_SECONDS))
            line.sendall(b"GET /events?interval=3600 HTTP/1.1\r\nHost: %s\r\n\r\n" % host.encode())
            assert line.recv(12) == b"HTTP/1.1 200"

        assert serving.ask("/healthz", by_port=True)[0] == 503
        assert serving.ask("/healthz")[0] == 200
    wait_until(lambda: serving.ask("/healthz", by_port=True)[0] == 200)


def test_garbage_harms_no_process(serving: Serving) -> None:
    with serving.connect() as connection:
        connection.sendall(b"\x01\x00\x00\x00" * 36)
        connection.recv(1000)

    assert serving.ask("/healthz")[0] == 200


def test_the_head_of_a_stream_ends(serving: Serving) -> None:
    assert serving.ask("/events", "HEAD") == (200, b"")


def test_streams_share_what_a_tick_costs(serving: Serving) -> None:
    with contextlib.ExitStack() as streams:
        clients = [streams.enter_context(serving.stream(0.2)) for _ in range(10)]
        for client in clients:
            received(client, b"event: snapshot")
        before = serving.desk.snapshot_count
        began = time.monotonic()
        for client in clients:
            for _ in range(3):
                received(client, b"event: snapshot")
        ticks = (time.monotonic() - began) / 0.2

    assert serving.desk.snapshot_count - before <= ticks + 2


@pytest.mark.slow
def test_a_slow_reader_gets_the_newest_and_costs_no_memory(serving: Serving) -> None:
    with serving.stream(0.1, receive_bytes=4096) as slow, serving.stream(0.1) as quick:
        for _ in range(15):
            received(quick, b"event: snapshot")
        numbers = [int(line[4:]) for line in _lines(slow, 12) if line.startswith(b"id: ")]

    assert numbers == sorted(set(numbers))
    assert max(later - earlier for earlier, later in pairwise(numbers)) > 2  # it missed some


def _lines(connection: socket.socket, event_count: int) -> list[bytes]:
    text = b""
    while text.count(b"event: snapshot") < event_count:
        text += connection.recv(65536)
    return text.split(b"\n")


def test_stopping_ends_streams_in_time_also_those_that_are_not_read(serving: Serving) -> None:
    with serving.stream(0.1) as read, serving.stream(0.1, receive_bytes=4096):
        received(read, b"event: snapshot")
        wait_until(lambda: serving.desk.snapshot_count > 8)
        ended = threading.Event()

        def drain() -> None:
            with contextlib.suppress(OSError):
                while read.recv(65536):
                    pass
            ended.set()

        threading.Thread(target=drain, daemon=True).start()
        watch = Stopwatch()
        serving.server.stop()

        assert watch.seconds < 0.8
        assert ended.wait(PATIENCE_SECONDS)


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("0.0.0.0:80", "can be reached from other machines"),
        ("192.0.2.1:80", "can be reached from other machines"),
        ("[::]:80", "can be reached from other machines"),
        ("example.com:80", "expected a loopback address"),
        ("8080", "expected ADDRESS:PORT"),
        ("127.0.0.1:99999", "expected ADDRESS:PORT"),
        ("127.0.0.1:", "expected ADDRESS:PORT"),
    ],
)
def test_only_a_loopback_port_is_listened_on(address: str, why: str) -> None:
    with pytest.raises(CannotServe, match=why):
        loopback_listener(address)


def test_a_port_that_is_taken_is_said_so() -> None:
    with loopback_listener("localhost:0") as first, pytest.raises(CannotServe, match="choose another port"):
        loopback_listener(f"127.0.0.1:{first.getsockname()[1]}")
