"""`ttmem` in this process, for tests of what a verb says: starting an interpreter for each question takes longest.

Signals, terminals, start-up and what outlives a verb are asked of real processes (`running.py`).
"""

import os
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from subprocess import CompletedProcess

import pytest

from tests.support.processes.scripted import Paper
from ttmem.cli.program import run_program


def ttmem_inside(*arguments: str, environ: Mapping[str, str]) -> "CompletedProcess[str]":
    """What `ttmem ARGUMENTS...` says into two pipes, with that environment and no other."""
    out, err = Paper(), Paper()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        for name in os.environ.keys() - environ.keys():
            patch.delenv(name)
        for name, value in environ.items():
            patch.setenv(name, value)
        code = run_program([*arguments])
    return CompletedProcess(("ttmem", *arguments), code, out.getvalue(), err.getvalue())
