"""Plays a workload and prints what every face says of it, with caches or without:

    python tests/programs/caches/everything_shown.py with|without

`without` takes the memory out of `functools.cache`, `lru_cache` and `cached_property` before the product is loaded.
"""

import functools
import io
import os
import re
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import Any


def forgetful(function: Any = None, /, *_: Any, **__: Any) -> Any:
    """A decorator that remembers nothing, with or without arguments."""
    if not callable(function):
        return forgetful
    function.cache_clear = lambda: None
    return function


if sys.argv[1] == "without":
    functools.cache = forgetful
    functools.lru_cache = forgetful
    functools.cached_property = property  # type: ignore[assignment, misc]

from ttmem import GraphTracker  # noqa: E402
from ttmem.cli.demonstration.screenshots import Shot, Size, taken  # noqa: E402
from ttmem.cli.program import run_program  # noqa: E402
from ttmem.collector.rates import RatesRecorder  # noqa: E402
from ttmem.figures.source import FigureSource  # noqa: E402
from ttmem.metal.workloads import WORKLOADS, Player  # noqa: E402

STEPS = 400
RatesRecorder._look_at_host = lambda *_: None  # type: ignore[method-assign]  # it differs from run to run
FIGURE = re.compile(r"\d[\d.,]* ?(?:[KMGT]i)?B\b(?!/s)|\d+ ?%|\"\w+_bytes\":\d+|0x[0-9a-f]+")


def shown(act: Callable[[], object]) -> str:
    text = io.StringIO()
    with redirect_stdout(text):
        act()
    return text.getvalue()


def main() -> None:
    with GraphTracker() as tracker:
        workload = WORKLOADS["llama-8b"]
        mesh = workload.open(tracker=tracker)
        for number, _ in enumerate(Player(mesh).play(workload.steps(mesh.chips[0]))):
            if number == STEPS:
                break
        faces = [
            shown(lambda: run_program(["ps", "-1", "--no-daemon"])),
            shown(lambda: run_program(["dump", "--no-daemon", "--json"])),
            shown(lambda: run_program(["ps", "--no-daemon", "-q"])),
        ]
        with FigureSource(os.environ, uid=os.geteuid(), has_daemon=False) as figures:
            faces.append(taken(Shot("overview", Size(160, 50)), figures, os.environ, banner=""))
    for face in faces:
        print(*FIGURE.findall(face), sep="\n")


if __name__ == "__main__":
    main()
