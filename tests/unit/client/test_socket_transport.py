"""The older client's calls as messages on its socket: real programs send them, the test listens."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.processes.programs import PRELUDE, Program, command_of
from tests.support.server.message_server import MessageServer, a_server_process, a_socket_directory
from tests.support.timing.stopwatch import Stopwatch, least
from tests.support.timing.waiting import wait_until
from ttmem.client.socket_transport import socket_path
from ttmem.wire import Message, MessageType

CLIENT = "A = ttmem.AllocationClient"
NOBODY = 65_534


@pytest.fixture
def directory() -> Iterator[Path]:
    with a_socket_directory() as made:
        yield made


def environment(directory: Path, **settings: str) -> dict[str, str]:
    own = {
        "TT_ALLOC_TRACKING_ENABLED": "1",
        "TTMEM_TRANSPORT": "socket",
        "TTMEM_SEED_SOCKET": str(directory / "server.sock"),
        "TTMEM_DIR": str(directory / "journals"),
    }
    return {**os.environ, **own, **settings}


class Sender(Program):
    """A program whose words on stderr are kept."""

    def __init__(self, directory: Path, command: list[str], **settings: str) -> None:
        pipe = subprocess.PIPE
        super().__init__(
            subprocess.Popen(
                command, env=environment(directory, **settings), stdin=pipe, stdout=pipe, stderr=pipe, text=True
            )
        )

    def __enter__(self) -> "Sender":
        return self

    def __exit__(self, *failure: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()
        self.process.wait()

    def leave(self) -> None:
        """Nobody will tell it anything more."""
        assert self.process.stdin is not None
        self.process.stdin.close()

    def finish(self) -> tuple[int, str, str]:
        """Lets it run to its end: status, stdout, stderr."""
        assert self.process.stdin is not None
        if self.process.stdin.closed:
            self.process.stdin = None
        said, complaints = self.process.communicate()
        return self.process.returncode, said, complaints


def python(*lines: str) -> list[str]:
    """A few lines, after those that every program here begins with."""
    return [sys.executable, "-c", "\n".join([PRELUDE, CLIENT, *lines])]


def run(directory: Path, *lines: str, **settings: str) -> tuple[int, str, str]:
    with Sender(directory, python(*lines), **settings) as sender:
        return sender.finish()


@pytest.fixture
def server(directory: Path) -> Iterator[MessageServer]:
    with MessageServer(str(directory / "server.sock")) as listening:
        yield listening


def test_each_call_is_one_message_with_the_fields_the_older_client_filled(
    directory: Path, server: MessageServer
) -> None:
    began = time.time_ns()
    lines = [
        "A.report_allocation(3, 4096, 1, 0xABC)",
        "A.report_deallocation(3, 0xABC)",
        "A.report_cb_allocation(0, 2048, 7)",
        "A.report_cb_deallocation(0, 2048, 7)",
        "A.report_kernel_load(1, 917_504, 9, 1)",
        "A.report_kernel_load(device_id=1, size=500, kernel_id=10)",
        "A.report_kernel_unload(1, 917_504, 9)",
        "print(A.is_enabled(), A.lost_count())",
    ]
    with Sender(directory, python(*lines)) as sender:
        messages = server.accept().take_all()
        assert sender.finish() == (0, "True 0\n", "")
    stamps = [message.timestamp for message in messages]
    told = {"process_id": sender.pid}

    assert messages == [
        Message(MessageType.ALLOC, 3, 4096, 1, sender.pid, 0xABC, stamps[0]),
        Message(MessageType.FREE, 3, buffer_id=0xABC, **told),
        Message(MessageType.CB_ALLOC, 0, 2048, buffer_id=7, timestamp=stamps[2], **told),
        Message(MessageType.CB_FREE, 0, 2048, buffer_id=7, **told),
        Message(MessageType.KERNEL_LOAD, 1, 917_504, 1, sender.pid, 9, stamps[4]),
        Message(MessageType.KERNEL_LOAD, 1, 500, 0, sender.pid, 10, stamps[5]),
        Message(MessageType.KERNEL_UNLOAD, 1, 917_504, buffer_id=9, **told),
    ]
    assert began <= stamps[0] <= stamps[2] <= stamps[4] <= stamps[5] <= time.time_ns()
    assert not list(directory.glob("journals/*"))


def test_a_report_is_with_the_server_when_the_call_returns(directory: Path, server: MessageServer) -> None:
    lines = ("A.report_allocation(0, 4096, 0, 1)", "import os", "os.kill(os.getpid(), 9)")
    with Sender(directory, python(*lines)) as sender:
        messages = server.accept().take_all()
        assert sender.finish()[0] == -signal.SIGKILL

    assert [message.buffer_id for message in messages] == [1]


def test_numbers_that_no_field_can_hold_are_cut_and_what_is_no_number_is_counted(
    directory: Path, server: MessageServer
) -> None:
    lines = [
        "A.report_allocation(0, 1 << 80, 1 << 10, 1 << 64 | 5)",
        "A.report_allocation(-7, -1, -1, -1)",
        "A.report_allocation(0, 'much', 0, 1); A.report_allocation(0); A.report_deallocation(0, 1, 2)",
        "print(A.lost_count())",
    ]
    with Sender(directory, python(*lines)) as sender:
        cut, negative = server.accept().take_all()
        status, said, complaints = sender.finish()

    assert (cut.device_id, cut.size, cut.buffer_type, cut.buffer_id) == (0, (1 << 64) - 1, 255, 5)
    assert (negative.device_id, negative.size, negative.buffer_type, negative.buffer_id) == (-7, 0, 255, (1 << 64) - 1)
    assert (status, said, complaints.count("\n")) == (0, "3\n", 1)


def test_an_id_wider_than_32_bits_is_no_device_and_its_reports_are_lost(directory: Path, server: MessageServer) -> None:
    lines = [
        "for device in (-1, 1 << 40, (1 << 40) + 1, -(1 << 31) - 1, 1 << 31, (1 << 64) - 1, -2, -(1 << 31)):",
        "    A.report_allocation(device, 10, 0, 4096)",
        "print(A.lost_count())",
    ]
    with Sender(directory, python(*lines)) as sender:
        messages = server.accept().take_all()
        status, said, complaints = sender.finish()

    assert [message.device_id for message in messages] == [-1, -2, -(1 << 31)]
    assert (status, said, complaints.count("\n")) == (0, "5\n", 1)
    assert "wider than 32 bits" in complaints


def test_off_means_no_connection_and_no_word(directory: Path, server: MessageServer) -> None:
    lines = [
        "A.report_allocation(0, 1, 0, 1); A.report_allocation('nonsense')",
        "print(A.is_enabled(), A.lost_count())",
    ]

    assert run(directory, *lines, TT_ALLOC_TRACKING_ENABLED="yes") == (0, "False 0\n", "")
    assert not server.has_caller()


def test_without_a_server_one_warning_is_given_and_nothing_is_waited_for(directory: Path) -> None:
    with Sender(directory, command_of("client.busy_threads", "1", "70_000")) as sender:
        status, said, complaints = sender.finish()
    warnings = complaints.splitlines()

    assert (status, said) == (0, f"{70_000 - 65_536} True\n")
    assert len(warnings) == 2
    assert "no allocation server at" in warnings[0]
    assert "counted as lost" in warnings[1]


def test_a_server_that_comes_later_gets_everything_in_order(directory: Path) -> None:
    with Sender(directory, python("for id in range(1000): A.report_allocation(0, 1, 0, id)", "meet()")) as sender:
        sender.arrive()
        with MessageServer(str(directory / "server.sock")) as server:
            messages = server.accept().take(1000)

    assert [message.buffer_id for message in messages] == list(range(1000))


@pytest.mark.slow
def test_a_server_killed_in_mid_stream_harms_no_client_and_the_next_one_gets_whole_messages(directory: Path) -> None:
    path = directory / "server.sock"
    lines = ["for id in range(24_000): A.report_allocation(0, 1, 0, id)", "print(A.lost_count())", "meet()"]
    with a_server_process(str(path), read_bytes=100) as first, Sender(directory, python(*lines)) as sender:
        assert first.hear() == "accepted"
        wait_until(lambda: int(first.hear()) > 100_000)
        first.kill()  # with half a message read, and the buffer full of others
        path.unlink()
        with MessageServer(str(path)) as second:
            receiver = second.accept()
            messages = receiver.take(1)
            messages += receiver.take(23_999 - messages[0].buffer_id)
            sender.leave()
            assert receiver.take_all() == []
            status, said, complaints = sender.finish()
    ids = [message.buffer_id for message in messages]

    assert (status, said, complaints.count("\n")) == (0, "0\nhere\n", 1)
    assert "went away" in complaints
    assert ids == list(range(ids[0], 24_000))
    assert {(message.type, message.size, message.device_id) for message in messages} == {(MessageType.ALLOC, 1, 0)}


@pytest.mark.slow
def test_a_server_that_never_reads_blocks_no_client_and_losses_are_counted(
    directory: Path, server: MessageServer
) -> None:
    lines = [
        "import time; slowest = 0",
        "for id in range(90_000):",
        "    began = time.thread_time(); A.report_allocation(0, 1, 0, id)",
        "    slowest = max(slowest, time.thread_time() - began)",
        "print(A.lost_count(), slowest < 1, flush=True)",
        "meet()",
    ]
    with Sender(directory, python(*lines)) as sender:
        assert sender.process.stdout is not None
        lost, was_quick = sender.process.stdout.readline().split()
        sender.arrive()
        messages = server.accept().take(90_000 - int(lost))  # as soon as it reads, the backlog comes
        sender.go_on()
        status, _, complaints = sender.finish()

    assert was_quick == "True"
    assert 10_000 < int(lost) < 90_000 - 65_536
    assert [message.buffer_id for message in messages] == list(range(90_000 - int(lost)))
    assert (status, complaints.count("\n")) == (0, 1)


def missed_at_exit(directory: Path, server: MessageServer) -> int:
    """How many of its messages a program that ends could not give to a reader; what it gave was whole and in order."""
    lines = ["for id in range(30_000): A.report_allocation(0, 1, 0, id)", "print('done', flush=True)"]
    with Sender(directory, python(*lines)) as sender:
        receiver = server.accept()
        assert sender.process.stdout is not None
        assert sender.process.stdout.readline() == "done\n"  # far more than the socket holds is pending now
        watch = Stopwatch(sender.process.pid)
        messages = receiver.take_all()
        assert watch.end_of(sender.process) == 0
        assert watch.seconds < 5
    ids = [message.buffer_id for message in messages]
    assert ids == list(range(len(ids)))
    return 30_000 - len(ids)


def test_exiting_with_messages_pending_is_quick_and_gives_a_reader_its_due(
    directory: Path, server: MessageServer
) -> None:
    """If the reader is kept from reading while the program has to leave, that is nobody's fault."""
    assert least(lambda: missed_at_exit(directory, server), under=1) == 0


def test_exiting_with_messages_pending_and_no_reader_takes_a_moment_at_most(
    directory: Path, server: MessageServer
) -> None:
    lines = ["for id in range(30_000): A.report_allocation(0, 1, 0, id)", "print('done', flush=True)"]
    with Sender(directory, python(*lines)) as sender:
        assert sender.process.stdout is not None
        assert sender.process.stdout.readline() == "done\n"
        watch = Stopwatch(sender.process.pid)
        assert watch.end_of(sender.process) == 0
        took = watch.seconds

    assert took < 2
    assert server.has_caller()


def test_a_server_of_another_user_is_sent_nothing(directory: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can start a server as somebody else")
    directory.chmod(0o777)
    with a_server_process(str(directory / "server.sock"), uid=NOBODY) as server:
        status, said, complaints = run(
            directory, "A.report_allocation(0, 1, 0, 1); A.report_allocation(0, 1, 0, 2)", "print(A.lost_count())"
        )
        server.kill()
        heard = list(iter(server.hear, ""))

    assert (status, said, complaints.count("\n")) == (0, "0\n", 1)
    assert f"runs as uid {NOBODY}, expected 0 (root): nothing is sent to it" in complaints
    assert set(heard) == {"accepted"}  # it would have said how many bytes there were


def test_a_user_trusts_root_and_itself(directory: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can become somebody else")
    directory.chmod(0o777)
    lines = ["import os; os.setuid(65_534)", "A.report_allocation(0, 1, 0, 1)"]
    for uid in (0, NOBODY):
        path = directory / "server.sock"
        with a_server_process(str(path), uid=uid) as server:
            assert run(directory, *lines) == (0, "", "")
            assert (server.hear(), server.hear()) == ("accepted", "144")
        path.unlink()


@pytest.mark.parametrize("way", ["os.fork", "multiprocessing"])
def test_a_forked_child_has_a_connection_of_its_own(directory: Path, server: MessageServer, way: str) -> None:
    fork = {
        "os.fork": ["pid = os.fork()", "if pid == 0: child(); os._exit(0)", "os.waitpid(pid, 0)"],
        "multiprocessing": [
            "import multiprocessing",
            "process = multiprocessing.get_context('fork').Process(target=child)",
            "process.start(); process.join()",
        ],
    }
    lines = [
        "import os",
        "def child():",
        "    for id in range(100, 200): A.report_allocation(1, 1, 0, id)",
        "A.report_allocation(0, 1, 0, 1)",
        *fork[way],
        "A.report_allocation(0, 1, 0, 2)",
    ]
    with Sender(directory, python(*lines)) as sender:
        first, second = server.accept(), server.accept()
        by_parent, by_child = first.take_all(), second.take_all()
        assert sender.finish() == (0, "", "")

    assert first.peer_pid() == sender.pid != second.peer_pid()
    assert [(message.buffer_id, message.process_id) for message in by_parent] == [(1, sender.pid), (2, sender.pid)]
    assert [message.buffer_id for message in by_child] == list(range(100, 200))
    assert {message.process_id for message in by_child} == {second.peer_pid()}


def test_a_child_does_not_send_what_its_parent_has_pending(directory: Path) -> None:
    lines = [
        "import os",
        "for id in range(1000): A.report_allocation(0, 1, 0, id)",  # no server yet: all of it waits
        "pid = os.fork()",
        "if pid == 0: A.report_allocation(1, 1, 0, 5000)",
        "meet() if pid else sys.stdin.read()",
    ]
    with Sender(directory, python(*lines)) as sender:
        sender.arrive()
        with MessageServer(str(directory / "server.sock")) as server:
            both = [server.accept(), server.accept()]
            both.sort(key=lambda receiver: receiver.peer_pid() != sender.pid)
            by_parent, by_child = both[0].take(1000), both[1].take(1)
            sender.leave()
            assert (both[0].take_all(), both[1].take_all()) == ([], [])

    assert [message.buffer_id for message in by_parent] == list(range(1000))
    assert [message.buffer_id for message in by_child] == [5000]


def test_threads_send_whole_messages_each_in_its_order(directory: Path, server: MessageServer) -> None:
    lines = [
        "import threading",
        "def work(device):",
        "    for id in range(3000): A.report_allocation(device, 1, 0, id)",
        "threads = [threading.Thread(target=work, args=(device,)) for device in range(4)]",
        "[thread.start() for thread in threads]; [thread.join() for thread in threads]",
        "print(A.lost_count())",
    ]
    with Sender(directory, python(*lines)) as sender:
        messages = server.accept().take_all()
        assert sender.finish() == (0, "0\n", "")

    for device in range(4):
        assert [message.buffer_id for message in messages if message.device_id == device] == list(range(3000))


@pytest.mark.slow
def test_four_busy_threads_lose_nothing_to_a_server_that_reads(directory: Path, server: MessageServer) -> None:
    with Sender(directory, command_of("client.busy_threads", "4", "50_000")) as sender:
        messages = server.accept().take_all()
        status, said, complaints = sender.finish()

    assert (status, said.split()[0], complaints) == (0, "0", "")
    assert len(messages) == 4 * 50_000


def test_four_busy_threads_are_not_slowed_by_a_server_that_never_reads(directory: Path, server: MessageServer) -> None:
    with Sender(directory, command_of("client.busy_threads", "4", "50_000")) as sender:
        status, said, complaints = sender.finish()
    lost, was_quick = said.split()

    assert (status, was_quick, complaints.count("\n")) == (0, "True", 1)
    assert int(lost) > 100_000
    assert server.has_caller()


def test_signal_handlers_may_report_and_raise_in_the_middle_of_a_report(directory: Path, server: MessageServer) -> None:
    with Sender(directory, command_of("client.interrupted_reports")) as sender:
        messages = server.accept().take_all()
        status, said, complaints = sender.finish()
    extra = int(said.split()[0])
    own = [message.buffer_id for message in messages if message.device_id == 0]

    assert (status, said, complaints) == (0, f"{extra} True 0\n", "")
    assert [message.buffer_id for message in messages if message.device_id == 1] == list(range(1, extra + 1))
    # A call that was broken off may have sent its message: it was then made again, as this program does.
    assert sorted(set(own)) == list(range(20_000))
    assert own == sorted(own)


def test_reports_at_the_very_end_of_the_program_are_harmless(directory: Path, server: MessageServer) -> None:
    lines = [
        "import atexit",
        "class Last:",
        "    def __del__(self): A.report_deallocation(0, 2)",
        "last = Last(); A.keeper = None",
        "atexit.register(A.report_deallocation, 0, 1)",
        "A.report_allocation(0, 1, 0, 1)",
    ]
    with Sender(directory, python(*lines)) as sender:
        messages = server.accept().take_all()
        status, _, complaints = sender.finish()

    assert (status, complaints) == (0, "")
    assert [message.buffer_id for message in messages][:2] == [1, 1]


def test_the_socket_is_where_the_environment_says_else_where_it_always_was() -> None:
    assert socket_path({}) == socket_path({"TTMEM_SEED_SOCKET": ""}) == "/tmp/tt_allocation_server.sock"
    assert socket_path({"TTMEM_SEED_SOCKET": "/run/x.sock"}) == "/run/x.sock"


def test_a_path_that_no_socket_can_have_is_a_warning(directory: Path) -> None:
    status, said, complaints = run(
        directory, "A.report_allocation(0, 1, 0, 1)", "print(A.lost_count())", TTMEM_SEED_SOCKET="/tmp/" + "x" * 200
    )

    assert (status, said, complaints.count("\n")) == (0, "0\n", 1)


def test_a_closed_stderr_is_no_reason_to_fail(directory: Path) -> None:
    assert run(directory, "import os; os.close(2)", "A.report_allocation(0, 1, 0, 1)", "print('well')")[:2] == (
        0,
        "well\n",
    )
