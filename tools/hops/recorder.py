"""Counts the product's files that a program enters while somebody watches it.

    python -m tools.hops.recorder FILE WHAT ARGUMENTS...

Runs `ttmem ARGUMENTS...` in this process and appends to FILE, at its end, one line for each Python file of the package
in which a function was called. What runs while a module is imported is not counted, and neither is the thread that
follows journals all the time. WHAT is one of

    whole             everything
    watched           what is called while FILE.watching exists: a frame of a monitor that is warm
    FILE.py:FUNCTION  of that, what is called by this function of the product: the answer to a scrape, without the
                      server that took the question
"""

import atexit
import os
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import ttmem

FOLLOWING = "ttmem-collector"
PACKAGE = os.path.dirname(ttmem.__file__) + os.sep


class Recorder:
    """Who was entered, as `sys.setprofile` tells it in every thread."""

    def __init__(self, only_while: str | None, within: str) -> None:
        self.files: set[str] = set()
        self.functions: set[Any] = set()
        self.calls = 0
        self._only_while = only_while
        self._within = within

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(PACKAGE):
            return
        if self._only_while is not None and not os.path.exists(self._only_while):
            return
        if threading.current_thread().name == FOLLOWING or _is_importing(frame):
            return
        if self._within and not _is_within(frame, self._within):
            return
        self.files.add(code.co_filename[len(PACKAGE) :])
        self.functions.add(code)
        self.calls += 1


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_code.co_filename != __file__:
            return frame.f_globals.get("__name__") != "__main__"
        frame = frame.f_back
    return False


def _is_within(frame: FrameType | None, function: str) -> bool:
    while frame is not None:
        if f"{frame.f_code.co_filename[len(PACKAGE) :]}:{frame.f_code.co_name}" == function:
            return True
        frame = frame.f_back
    return False


def _write(recorder: Recorder, path: str) -> None:
    sys.setprofile(None)
    lines = [f"{len(recorder.functions)} {recorder.calls}", *sorted(recorder.files)]
    Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> None:
    path, how, *arguments = sys.argv[1:]
    is_whole, within = how == "whole", how if ":" in how else ""
    recorder = Recorder(None if is_whole else f"{path}.watching", within)
    atexit.register(_write, recorder, path)
    at_once = os._exit

    def ending(status: int) -> NoReturn:  # a server ends without what is registered
        _write(recorder, path)
        at_once(status)

    os._exit = ending
    sys.argv = ["ttmem", *arguments]
    from ttmem.cli import main as program

    threading.setprofile(recorder)
    sys.setprofile(recorder)
    program()


if __name__ == "__main__":
    main()
