"""Where programs are tried as scripts use them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.processes.programs import a_command, command_of
from tests.support.processes.scripted import FIRST_ID, Machine


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    directory = tmp_path_factory.mktemp("machine")
    (directory / "journals").mkdir(mode=0o700)
    with a_command(command_of("processes.two_reporters", str(FIRST_ID)), directory / "journals") as program:
        program.arrive()
        yield Machine(directory, program.pid)


@pytest.fixture
def silence(tmp_path: Path) -> Machine:
    """Where nobody reports, and the driver has no chips."""
    machine = Machine(tmp_path, 0)
    machine.settings = {"TTMEM_DIR": str(tmp_path / "nothing"), "TTMEM_SYSFS_ROOT": str(tmp_path / "nothing")}
    return machine
