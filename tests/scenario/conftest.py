"""What scenarios share: compiled programs, a directory for journals, a watcher over it, a journal to damage."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.journals.bad_journals import READERS, AnyReader, Sample, a_healthy_process, a_sample
from tests.support.journals.reporters import Nursery, a_nursery
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


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    with a_nursery() as nursery:
        yield nursery


@pytest.fixture(scope="module")
def sample(nursery: Nursery, tmp_path_factory: pytest.TempPathFactory) -> Sample:
    """A journal of a process that has ended, to be copied and damaged."""
    return a_sample(nursery, tmp_path_factory.mktemp("sample"))


@pytest.fixture(params=READERS)
def read(request: pytest.FixtureRequest, nursery: Nursery, journals: Path) -> Iterator[Callable[[], AnyReader]]:
    """Makes readers of the directory `journals`, in which a healthy process reports."""
    healthy = a_healthy_process(nursery, journals)
    readers: list[AnyReader] = []

    def make() -> AnyReader:
        while readers:  # one at a time: each has every journal open
            readers.pop().close()
        readers.append(READERS[request.param](journals))
        return readers[-1]

    yield make
    for reader in readers:
        reader.close()
    healthy.kill()
