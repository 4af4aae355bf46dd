"""Promise: the rows of a full snapshot, details of every process included, cost the native core at most a third of what
a snapshot may cost: 0.17 ms of CPU for 4 processes on 4 chips, 1 ms for 16 on 32, 7 ms for 100 on 32.

Every process frees one buffer and makes another between two looks, so every row is made anew. `overview` is the same
without details, `still` a look at which the caller has all rows by their versions. What is left of the snapshot's own
promise is for Python, which makes figures of the rows.
"""

import time
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.figures.rows import Row, row
from benchmarks.stage.actors import Actor, crowd
from benchmarks.stage.setting import Setting
from ttmem._native import Ledger

SIZES = ((4, 4, 0.17), (16, 32, 1.0), (100, 32, 7.0))  # processes, chips, most milliseconds
ALLOCATIONS = 20
PATIENCE_SECONDS = 120.0


def measure(setting: Setting) -> Iterator[Row]:
    looks = setting.repeats(40, 2)
    for processes, chips, most_ms in SIZES if not setting.is_quick else SIZES[:1]:
        with setting.fresh_directory() as own, crowd(own, processes, chips, ALLOCATIONS) as members:
            yield from _rows(f"{processes} x {chips}", most_ms, _settled(own, processes), members, looks)


def _rows(name: str, most_ms: float, ledger: Ledger, members: Actor, looks: int) -> Iterator[Row]:
    whole = _cost_ms(lambda: ledger.look("all"), ledger, members, looks)
    brief = _cost_ms(ledger.look, ledger, members, looks)
    found = ledger.look("all")
    known = [{one[0]: one[1] for one in rows} for rows in (found[1], found[2], found[2])]
    still = _cost_ms(lambda: ledger.look("all", *known), ledger, None, looks)
    yield row(f"{name}: full rows", whole, "ms CPU", target=f"<= {most_ms}")
    yield row(f"{name}: overview", brief, "ms CPU")
    yield row(f"{name}: still", still, "ms CPU")


def _settled(own: Setting, processes: int) -> Ledger:
    ledger = Ledger()
    for journal in own.directory.glob("*.journal"):
        facts = journal.stat()
        ledger.attach(str(journal), facts.st_dev, facts.st_ino)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while ledger.drain() or any(found[2][12] == "settling" for found in ledger.look()[2]):
        if time.monotonic() > deadline:
            raise RuntimeError("the ledger did not settle")
    shown = len(ledger.look()[2])
    if shown != processes:
        raise RuntimeError(f"expected {processes} processes, found {shown}")
    return ledger


def _cost_ms(look: Callable[[], Any], ledger: Ledger, members: Actor | None, looks: int) -> float:
    """The least of several looks; what it takes to read the journals is not in it."""
    costs = []
    for _ in range(looks):
        if members is not None:
            members.ask("move")
        ledger.drain()
        began = time.process_time()
        look()
        costs.append(1000 * (time.process_time() - began))
    return min(costs)
