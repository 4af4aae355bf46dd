"""What the tests of the allocation server share: the compiled C++ client, a core in a thread, a real daemon."""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

import pytest

from tests.support.server.server_clients import ServerClient, a_client, compiled, remove
from tests.support.server.server_serving import Daemon, Engine, a_daemon, an_engine

CLIENT = pytest.StashKey[Path | None]()
DIRECTORY = pytest.StashKey[Path]()


def pytest_collection_finish(session: pytest.Session) -> None:
    """Compiles before the first test, whose time limit is not meant for a compiler."""
    if any("program" in getattr(item, "fixturenames", ()) for item in session.items):
        run = getattr(session.config, "workerinput", {}).get("testrunuid", str(os.getpid()))
        directory = Path(tempfile.gettempdir(), f"tt-server-client-{run}")
        session.config.stash[DIRECTORY] = directory
        session.config.stash[CLIENT] = compiled(directory)


def pytest_sessionfinish(session: pytest.Session) -> None:
    if session.config.stash.get(CLIENT, None):
        remove(session.config.stash[DIRECTORY])


@pytest.fixture(scope="session")
def program(pytestconfig: pytest.Config) -> Path:
    """The C++ client."""
    made = pytestconfig.stash[CLIENT]
    if made is None:
        pytest.skip("NOT TESTED: there is no C++ compiler here (set CXX)")
    return made


@pytest.fixture
def engine() -> Iterator[Engine]:
    with an_engine() as one:
        yield one


@pytest.fixture
def daemon() -> Iterator[Daemon]:
    with a_daemon() as one:
        yield one


ClientMaker = Callable[..., ServerClient]


@pytest.fixture
def client_of(program: Path) -> Iterator[ClientMaker]:
    """Starts C++ clients of a server; all are gone at the end."""
    with ExitStack() as clients:

        def start(server: Engine | Daemon, *, message_bytes: int = 144) -> ServerClient:
            one: AbstractContextManager[ServerClient] = a_client(program, server.path, message_bytes=message_bytes)
            return clients.enter_context(one)

        yield start
