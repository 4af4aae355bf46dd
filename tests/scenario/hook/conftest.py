"""The stand-in of the runtime, built before the first test whose time it would take."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.stand_in.build import CURRENT, StandIn
from tests.support.stand_in.host import Host

STAND_IN = pytest.StashKey[StandIn]()


def pytest_collection_finish(session: pytest.Session) -> None:
    if any("stand_in" in getattr(item, "fixturenames", ()) for item in session.items):
        session.config.stash[STAND_IN] = StandIn.built()


@pytest.fixture(scope="session")
def stand_in(pytestconfig: pytest.Config) -> StandIn:
    return pytestconfig.stash[STAND_IN]


@pytest.fixture
def release() -> str:
    """What the host runs; a file whose tests hold for others, too, has its own."""
    return CURRENT


@pytest.fixture
def host(stand_in: StandIn, journals: Path, release: str) -> Iterator[Host]:
    """A hooked process with the runtime."""
    with Host(stand_in, journals, release=release) as one:
        yield one
