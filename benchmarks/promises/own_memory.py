"""Promise: asking for one's own memory costs at most 3 us; a Python site at most 250 ns on top of a report, or 20 us if
its stack is new.

`memory_allocated(0)` is the question a training loop asks at every step. A report with sites on finds its stack of
some 20 frames among known ones; of a new one the names and lines of 16 frames are looked up and kept. Runs in a process
of its own (`python -m benchmarks.promises.own_memory BATCHES`); the baseline for sites is what the standard library
takes to walk the same stack.
"""

import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial

from benchmarks.figures.rows import Row, row
from benchmarks.stage.actors import ActorFailed
from benchmarks.stage.build import ROOT
from benchmarks.stage.setting import Setting

CALLS = 20_000
DEPTH = 20
NEW_STACKS, NEW_SET = 4_000, 200
_ROWS = {
    "memory_allocated": ("<= 3000", None),
    "max_memory_allocated": ("<= 3000", None),
    "a site, 20 frames deep": ("<= 250", "the stack by sys._getframe"),
    "a site of a new stack": ("<= 20000", None),
}


def measure(setting: Setting) -> Iterator[Row]:
    with setting.fresh_directory() as own:
        command = [sys.executable, "-m", __name__, str(setting.repeats(11))]
        done = subprocess.run(command, env=own.environment(), cwd=ROOT, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise ActorFailed(f"{__name__} ended with status {done.returncode}")
    figures = dict(line.split(": ") for line in done.stdout.splitlines())
    for name, (target, other) in _ROWS.items():
        baseline = None if other is None else float(figures[other])
        yield row(name, float(figures[name]), "ns", target=target, baseline=baseline)


def per_call_ns(call: Callable[[], object]) -> float:
    began = time.thread_time_ns()
    for _ in range(CALLS):
        call()
    return (time.thread_time_ns() - began) / CALLS


def net_ns(call: Callable[[], object], empty: Callable[[], object], batches: int) -> float:
    """Median of batch means of CPU time per call, each less an empty batch beside it."""
    call()
    return statistics.median(-per_call_ns(empty) + per_call_ns(call) for _ in range(batches))


def deep(depth: int, call: Callable[[], float]) -> float:
    return deep(depth - 1, call) if depth else call()


def by_hand() -> list[tuple[str, int, str]]:
    """The stack as a program would take it without a native core."""
    frames = []
    frame = sys._getframe(1)
    for _ in range(16):
        frames.append((frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name))
        if frame.f_back is None:
            break
        frame = frame.f_back
    return frames


def new_stack_ns(pair: Callable[[], object]) -> float:
    """Of stacks that differ in their innermost line, in the median of several sets: the first time less the second."""
    source = "\n".join(f"def line_{number}(): pair()" for number in range(NEW_STACKS))
    names: dict[str, Callable[[], object]] = {"pair": pair}
    exec(compile(source, "new_stacks.py", "exec"), names)
    lines = [names[f"line_{number}"] for number in range(NEW_STACKS)]

    def each(part: list[Callable[[], object]]) -> float:
        began = time.thread_time_ns()
        for line in part:
            line()
        return (time.thread_time_ns() - began) / len(part)

    def first_less_second(part: list[Callable[[], object]]) -> float:
        first, second = [each(part) for _ in range(2)]  # called on one line: elsewhere the stacks would be new again
        return first - second

    sets = [lines[at : at + NEW_SET] for at in range(0, NEW_STACKS, NEW_SET)]
    return statistics.median(deep(DEPTH, partial(first_less_second, part)) for part in sets)


def main() -> None:
    import ttmem

    batches = int(sys.argv[1])
    if not ttmem.enable():
        raise SystemExit("tracking could not be switched on")
    chips = [ttmem.open_device(0xBE7C + chip, index=chip) for chip in range(2)]
    mesh = ttmem.open_mesh(chips, 1, 2)
    ttmem.report_buffer_alloc(mesh, 1, 4096)

    def pair() -> None:
        ttmem.report_free(ttmem.report_buffer_alloc(mesh, 2, 4096))

    def nothing() -> None: ...

    print("memory_allocated:", net_ns(lambda: ttmem.memory_allocated(0), nothing, batches))
    print("max_memory_allocated:", net_ns(lambda: ttmem.max_memory_allocated(0), nothing, batches))
    ttmem.record_sites()
    with_sites = [deep(DEPTH, lambda: per_call_ns(pair))]
    without: list[float] = []
    for _ in range(batches):
        ttmem.forget_sites()
        without.append(deep(DEPTH, lambda: per_call_ns(pair)))
        ttmem.record_sites()
        with_sites.append(deep(DEPTH, lambda: per_call_ns(pair)))
    costs = [dear - cheap for dear, cheap in zip(with_sites[1:], without, strict=True)]
    print("a site, 20 frames deep:", statistics.median(costs))
    print("a site of a new stack:", new_stack_ns(pair))
    print("the stack by sys._getframe:", deep(DEPTH, lambda: net_ns(by_hand, nothing, batches)))


if __name__ == "__main__":
    main()
