"""A program that closes every descriptor, as daemons do: what it opens in their place is never written to or closed."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.processes.programs import command_of
from tests.support.server.message_server import MessageServer, a_socket_directory
from tests.unit.client.test_socket_transport import Sender, python


@pytest.fixture
def directory() -> Iterator[Path]:
    with a_socket_directory() as made:
        yield made


@pytest.fixture
def server(directory: Path) -> Iterator[MessageServer]:
    with MessageServer(str(directory / "server.sock")) as listening:
        yield listening


def test_reports_after_all_descriptors_were_closed_go_to_the_server_alone(
    directory: Path, server: MessageServer
) -> None:
    with Sender(directory, command_of("client.closed_descriptors", "report")) as sender:
        first, second = server.accept().take_all(), server.accept().take_all()
        assert sender.finish() == (0, "[None, None] True 0\n", "")

    assert [[message.buffer_id for message in messages] for messages in (first, second)] == [[1], [2, 3]]


def test_a_closed_descriptor_that_was_not_taken_is_replaced(directory: Path, server: MessageServer) -> None:
    lines = ["import os", "A.report_allocation(0, 1, 0, 1)", "os.closerange(3, 256)", "A.report_allocation(0, 1, 0, 2)"]
    with Sender(directory, python(*lines)) as sender:
        first, second = server.accept().take_all(), server.accept().take_all()
        assert sender.finish() == (0, "", "")

    assert [[message.buffer_id for message in messages] for messages in (first, second)] == [[1], [2]]


def test_neither_a_fork_nor_a_lost_server_closes_what_the_program_has_there(
    directory: Path, server: MessageServer
) -> None:
    with Sender(directory, command_of("client.closed_descriptors", "fork")) as sender:
        server.accept()
        sender.arrive()
        server.close()
        sender.go_on()
        status, said, complaints = sender.finish()

    assert (status, said) == (0, "0 [None, None] True\n")
    assert complaints.count("\n") == 1


def test_the_end_of_the_program_sends_what_is_pending_to_the_server_alone(
    directory: Path, server: MessageServer
) -> None:
    with Sender(directory, command_of("client.closed_descriptors", "end")) as sender:
        _, said, complaints = sender.finish()

    assert (said, complaints) == ("heard b''\n", "")
    assert server.has_caller()
    assert server.has_caller()


def test_with_stderr_closed_the_programs_words_do_not_go_to_the_server(directory: Path, server: MessageServer) -> None:
    lines = ["import os", "os.close(2)", "A.report_allocation(0, 1, 0, 1)", "print(os.path.exists('/proc/self/fd/2'))"]
    with Sender(directory, python(*lines)) as sender:
        messages = server.accept().take_all()
        assert sender.finish()[:2] == (0, "False\n")

    assert [message.buffer_id for message in messages] == [1]
