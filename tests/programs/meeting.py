"""Where a program and the test that started it meet: the program says "here" and waits for a line.

Imported by programs that are started with `python -m tests.programs.NAME`.

`Program.arrive` of `tests.support.processes.programs` waits for the word, `go_on` writes the line.
"""

import sys

__all__ = ["meet"]


def meet() -> None:
    """Waits until the test lets the program go on."""
    print("here", flush=True)
    sys.stdin.readline()
