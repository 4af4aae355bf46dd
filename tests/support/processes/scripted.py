"""`ttmem` as a script runs it, on a machine with two reporting processes and three chips of the driver."""

import io
import json
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.support.faces.json_documents import opened
from tests.support.machine.driver_tree import DriverTree
from ttmem.cli.program import run_program, run_tt_smi_umd

FIRST_ID = 0xA1B2_C3D4_0000_0000  # of the driver's chips


class Said(NamedTuple):
    """What a program left behind."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        found = json.loads(self.out)
        return opened(found) if "device_info" in found else found


class Paper(io.StringIO):
    """A pipe that takes any character."""

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return "utf-8"


class Machine:
    """Two processes on two of the driver's three chips, and `ttmem` there."""

    def __init__(self, directory: Path, pid: int) -> None:
        self.directory, self.pid = directory, pid
        tree = DriverTree(directory / "root")
        for node in range(3):
            tree.chip(node)
        self.settings = {"TTMEM_DIR": str(directory / "journals"), **tree.environ}

    def ttmem(self, *arguments: str, is_server_chip: bool = False) -> Said:
        """In this process: starting an interpreter for each would take most of the time."""
        out, err = Paper(), Paper()
        with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
            for name, value in self.settings.items():
                patch.setenv(name, value)
            code = (run_tt_smi_umd if is_server_chip else run_program)([*arguments])
        return Said(code, out.getvalue(), err.getvalue())
