"""Real programs that report, for tests: a piece of Python in a process of its own, met at pipes.

with a_program(directory, "chip = ttmem.open_device(5)", "meet()") as program:
    program.arrive()     # it has come to meet()
    program.go_on()
"""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

PRELUDE = """\
import sys
import ttmem

def meet():
    print("here", flush=True)
    sys.stdin.readline()
"""


class Program:
    """One running piece of Python."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process
        self.pid = process.pid

    def arrive(self) -> None:
        """Waits until the program has come to `meet()`."""
        assert self.process.stdout is not None
        said = self.process.stdout.readline()
        assert said == "here\n", f"the program said {said!r}, exit code {self.process.poll()}"

    def go_on(self) -> None:
        """Lets the program leave `meet()`."""
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def end(self) -> int:
        """Lets the program run to its end; its exit code."""
        self.process.communicate()
        return self.process.returncode


def tracked(directory: Path, **settings: str) -> dict[str, str]:
    """An environment in which programs report into a directory."""
    return {**os.environ, "TTMEM": "1", "TTMEM_DIR": str(directory), **settings}


def command_of(name: str, *arguments: str) -> list[str]:
    """The command of a program in tests/programs: "client.busy_threads". It may import from `tests`."""
    return [sys.executable, "-m", f"tests.programs.{name}", *arguments]


@contextmanager
def a_program(directory: Path, *lines: str, **settings: str) -> Iterator[Program]:
    """A program that reports into a directory; killed at the end if it still runs."""
    with a_command([sys.executable, "-c", PRELUDE + "\n".join(lines)], directory, **settings) as program:
        yield program


@contextmanager
def a_command(command: Sequence[str], directory: Path, **settings: str) -> Iterator[Program]:
    """The same of any language: it says "here", and waits for a line."""
    process = subprocess.Popen(
        command, env=tracked(directory, **settings), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        yield Program(process)
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()
