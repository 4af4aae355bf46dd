"""What scenarios share: compiled programs, a private directory for journals, and a watcher over it."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.journals.watching import Watch
from tests.support.processes.native_programs import NativePrograms

PROGRAMS = pytest.StashKey[NativePrograms]()


def pytest_collection_finish(session: pytest.Session) -> None:
    """Compiles before the first test, whose time limit is not meant for a compiler."""
    run = getattr(session.config, "workerinput", {}).get("testrunuid", str(os.getpid()))
    if any("programs" in getattr(item, "fixturenames", ()) for item in session.items):
        directory = Path(tempfile.gettempdir(), f"ttmem-programs-{run}")
        session.config.stash[PROGRAMS] = NativePrograms.compiled(directory)


def pytest_sessionfinish(session: pytest.Session) -> None:
    programs = session.config.stash.get(PROGRAMS, None)
    if programs:
        programs.remove()


@pytest.fixture(scope="session")
def programs(pytestconfig: pytest.Config) -> NativePrograms:
    return pytestconfig.stash[PROGRAMS]


@pytest.fixture
def journals() -> Iterator[Path]:
    """A directory of shared memory, for the journals of one test."""
    with_memory = Path("/dev/shm")
    directory = Path(tempfile.mkdtemp(prefix="ttmem-test-", dir=with_memory if with_memory.is_dir() else None))
    yield directory
    shutil.rmtree(directory)


@pytest.fixture
def watch(journals: Path) -> Iterator[Watch]:
    with Watch(journals) as one:
        yield one
