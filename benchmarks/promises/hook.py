"""Promise: with the hook an `add` of the stock runtime takes at most 1.05 times as long, a buffer made and freed 400 ns
more, and a program that knows nothing of the runtime starts 0.3 ms later; what a killed one held is gone in 100 ms.

Made-up chips. Blocks of 5,000 calls with the hook and without take turns, and of each the fastest counts: medians
wander by a third. What Python does, an `add` or a `tensor` made and freed, is timed in one process, whose calls go to
the hook and past it by turns of 250, so that whoever disturbs the machine disturbs both; of 45,000 the fastest turns
count that make 5,000, and of several processes the median. An `add` is also timed in two, one of which has no hook;
there the layout of memory alone makes 3 %, so that this figure has no target. A `buffer` is timed in two: a loop in C
around the runtime's own call. Times are the caller's CPU time; of `bash -c true` those of the whole process, in the
quickest of blocks of alternated runs. Every call is made by the 20th Python frame, each of another function.
"""

import os
import select
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from benchmarks.figures.rows import Row, row
from benchmarks.stage.collecting import following
from benchmarks.stage.setting import Setting
from tests.support.hooked.process import Hooked, hook_path
from tests.support.ttnn.runtime import has_compiler
from tests.support.ttnn.stock import NotThere, Stock, installed
from ttmem._native import testing

COUPLES, BLOCKS, CALLS, TURN = 7, 9, 5_000, 250
START_BLOCKS, STARTS, DEATHS = 9, 50, 9
BASH = ("/bin/bash", "-c", "true")
TENSOR = {"op": "alloc", "id": 1, "type": "DRAM", "shape": [1, 1, 512, 512], "dtype": "bfloat16", "is_tiled": True}


def measure(setting: Setting) -> Iterator[Row]:
    plain_ms, idle_ms = _starts_ms(setting)
    yield row("bash -c true", idle_ms, "ms", baseline=plain_ms)
    yield row("bash -c true, longer by", idle_ms - plain_ms, "ms", target="<= 0.3")
    stock = runtime()
    if not has_compiler():
        raise RuntimeError("operations need riscv64-unknown-elf-gcc")
    switched = _switched_ns(setting, stock)
    plain, hooked = switched["add"]
    yield row("add", hooked / 1e3, "us", baseline=plain / 1e3)
    yield row("add, times as long", hooked / plain, "x", target="<= 1.05")
    fastest = _fastest_ns(setting, stock)
    plain, hooked = fastest["add"]
    yield row("add, times as long as in another process", hooked / plain, "x")
    for what, (plain, hooked) in (("buffer", fastest["buffer"]), ("tensor", switched["tensor"])):
        yield row(f"{what} made and freed", hooked, "ns", baseline=plain)
        yield row(f"{what} made and freed, longer by", hooked - plain, "ns", target="<= 400")
    yield row("killed, worst", max(_deaths_ms(setting, stock)), "ms", target="<= 100")


def runtime() -> Stock:
    try:
        return installed()
    except NotThere as missing:
        raise RuntimeError(str(missing)) from missing


def _fastest_ns(setting: Setting, stock: Stock) -> dict[str, tuple[float, float]]:
    """Of each kind of call, without the hook and with it: nanoseconds of one, in the fastest block."""
    blocks: dict[str, list[tuple[float, float]]] = {"add": [], "buffer": []}
    count = setting.repeats(CALLS, 50)
    for _ in range(setting.repeats(COUPLES)):
        with _couple(setting, stock) as couple:
            for what, found in blocks.items():
                request = {"do": "time", "what": what, "count": count, "library": str(buffers_library(setting))}
                for process in couple:
                    process.ask(request | {"count": max(1, count // 10)})
                found += [
                    (couple[0].ask(request)["ns"] / count, couple[1].ask(request)["ns"] / count)
                    for _ in range(setting.repeats(BLOCKS))
                ]
    return {what: (min(one for one, _ in found), min(other for _, other in found)) for what, found in blocks.items()}


def _switched_ns(setting: Setting, stock: Stock) -> dict[str, tuple[float, float]]:
    """The same in the fastest turns of one process; of several, that in the middle."""
    turn, counted = setting.repeats(TURN, 5), setting.repeats(CALLS // TURN, 2)
    found: dict[str, list[tuple[float, float]]] = {"add": [], "tensor": []}
    for _ in range(setting.repeats(COUPLES)):
        with opened(setting, stock, is_hooked=True) as process:
            for what, pairs in found.items():
                plain, hooked = turns_ns(setting, process, what, turns=BLOCKS * counted, turn=turn)
                pairs.append((_fastest_turns(plain, counted) / turn, _fastest_turns(hooked, counted) / turn))
    return {what: sorted(pairs, key=lambda one: one[1] / one[0])[len(pairs) // 2] for what, pairs in found.items()}


def turns_ns(setting: Setting, process: Hooked, what: str, *, turns: int, turn: int) -> tuple[list[int], list[int]]:
    """What each turn of so many calls took, without the hook and with it."""
    library = setting.programs / "libswitched_hooks.so"
    request = {"do": "time", "what": "switched", "of": what, "count": turns * turn, "turn": turn}
    plain, hooked = process.ask(request | {"library": str(library)})["ns"]
    return plain, hooked


def _fastest_turns(turns: list[int], count: int) -> float:
    return sum(sorted(turns)[:count]) / count


def buffers_library(setting: Setting) -> Path:
    return setting.programs / "libmesh_buffers.so"


@contextmanager
def _couple(setting: Setting, stock: Stock) -> Iterator[tuple[Hooked, Hooked]]:
    """Without the hook, and with it."""
    with ExitStack() as stack:
        plain, hooked = (stack.enter_context(opened(setting, stock, is_hooked=is_it)) for is_it in (False, True))
        yield plain, hooked


@contextmanager
def opened(setting: Setting, stock: Stock, *, is_hooked: bool) -> Iterator[Hooked]:
    with setting.fresh_directory() as own:
        process = Hooked.started(stock, own.directory, "n150", is_hooked=is_hooked)
        try:
            with process.opened():
                yield process
        finally:
            process.stop()


def _deaths_ms(setting: Setting, stock: Stock) -> Iterator[float]:
    """From the moment the kernel says that it ended to the first snapshot in which it holds nothing."""
    for _ in range(setting.repeats(DEATHS)):
        with setting.fresh_directory() as own:
            process = Hooked.started(stock, own.directory, "n150")
            try:
                yield _death_ms(process)
            finally:
                process.stop()


def _death_ms(process: Hooked) -> float:
    process.ask({"do": "open", "mesh": [1, 1], "l1_small": 0, "trace": 0, "dispatch": None, "worker_l1": 0})
    process.runtime.steps([TENSOR | {"layout": "INTERLEAVED"}])
    with following(process.journals) as ledger:
        while not _holds_something(testing.flat_rows(ledger)):
            time.sleep(0.001)
        descriptor = os.pidfd_open(process.pid)
        try:
            os.kill(process.pid, signal.SIGKILL)
            select.select([descriptor], [], [])
            began = time.monotonic_ns()
            while _holds_something(testing.flat_rows(ledger)):
                time.sleep(0.0002)
            return (time.monotonic_ns() - began) / 1e6
        finally:
            os.close(descriptor)


def _holds_something(rows: dict[str, Any]) -> bool:
    return any(used for _, _, used, *_ in rows["device_pools"])


def _starts_ms(setting: Setting) -> tuple[float, float]:
    """Without and with the hook, in the quickest block of each; one start follows on the other."""
    plain = {name: value for name, value in setting.environment().items() if name != "LD_PRELOAD"}
    idle = plain | {"LD_PRELOAD": str(hook_path())}
    count = setting.repeats(STARTS, 5)
    blocks = [
        [sum(times) / count for times in zip(*((_start_ms(plain), _start_ms(idle)) for _ in range(count)), strict=True)]
        for _ in range(setting.repeats(START_BLOCKS))
    ]
    return min(one for one, _ in blocks), min(other for _, other in blocks)


def _start_ms(environment: dict[str, str]) -> float:
    _, status, usage = os.wait4(os.posix_spawn(BASH[0], BASH, environment), 0)
    if status != 0:
        raise RuntimeError(f"{' '.join(BASH)} ended with status {os.waitstatus_to_exitcode(status)}")
    return 1e3 * (usage.ru_utime + usage.ru_stime)
