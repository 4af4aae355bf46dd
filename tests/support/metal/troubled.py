"""A program on the runtime model that gets into every trouble an alert is about, one step whenever it is told to.

with a_troubled_program(directory) as program:
    truth = program.step()            # a program ran and left a tensor behind; what the model says is held
    truth = program.step("trouble")   # DRAM in pieces and refused, L1 full, circular buffers that clash
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.processes.programs import Program, a_command, command_of


class Troubled:
    """The program; it waits at the end of every step."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self.truth = self._heard()

    def step(self, word: str = "") -> dict[str, int]:
        """One more; what is held afterwards, by pool."""
        assert self._program.process.stdin is not None
        self._program.process.stdin.write(f"{word}\n")
        self._program.process.stdin.flush()
        self.truth = self._heard()
        return self.truth

    def _heard(self) -> dict[str, int]:
        assert self._program.process.stdout is not None
        line = self._program.process.stdout.readline()
        assert line, f"the program ended with {self._program.process.wait()}"
        return dict(json.loads(line))


@contextmanager
def a_troubled_program(directory: Path, label: str) -> Iterator[Troubled]:
    with a_command(command_of("models.troubled"), directory, TTMEM_LABEL=label) as program:
        yield Troubled(program)
