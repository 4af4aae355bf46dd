"""What scenarios share: compiled programs, a private directory for journals, and a watcher over it."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.processes.native_programs import NativePrograms
from tests.support.watching import Watch


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> NativePrograms:
    """Compiled once, also for parallel workers, which share the parent of their base directories."""
    base = tmp_path_factory.getbasetemp()
    is_worker = base.name.startswith("popen-")
    directory = (base.parent if is_worker else base) / "native-programs"
    directory.mkdir(exist_ok=True)
    return NativePrograms(directory)


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
