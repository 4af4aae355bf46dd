"""A collector in a process of its own: `python -m benchmarks.collecting DIRECTORY`.

Attaches to every journal of the directory, says "attached N", drains until its input ends; every line of input
is answered with how many events were applied, how many ring records were lost to laps, and how many allocations
are alive.
"""

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ttmem._native import Ledger


def attach_all(ledger: Ledger, directory: Path) -> dict[Path, int]:
    """Process keys by journal."""
    return {path: attach(ledger, path) for path in sorted(directory.glob("*.journal"))}


def attach(ledger: Ledger, path: Path) -> int:
    state = os.stat(path)
    key, problem = ledger.attach(str(path), state.st_dev, state.st_ino)
    if not key:
        raise RuntimeError(f"{path}: {problem}")
    return key


@contextmanager
def draining(ledger: Ledger) -> Iterator[None]:
    """Drains in a thread of its own, as the product's collector does."""
    ending = threading.Event()

    def drain() -> None:
        while not ending.is_set():
            ledger.run(1.0)

    thread = threading.Thread(target=drain, name="drain")
    thread.start()
    try:
        yield
    finally:
        ending.set()
        ledger.stop()
        thread.join()


def main() -> None:
    ledger = Ledger()
    print("attached", len(attach_all(ledger, Path(sys.argv[1]))), flush=True)
    with draining(ledger):
        for _ in sys.stdin:
            processes = ledger.snapshot()["processes"]
            applied = sum(process["events"] for process in processes)
            lost = sum(process["lost_records"] for process in processes)
            print(applied, lost, sum(process["live_count"] for process in processes), flush=True)


if __name__ == "__main__":
    main()
