"""A collector in a process of its own: `python -m benchmarks.stage.collecting DIRECTORY`.

Follows every journal of the directory as the product does; says "following" once it has read them, and answers
every line of input with how many events were applied, how many ring records were lost to laps, and how many
allocations are alive. Ends with its input.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ttmem._native import Ledger, testing
from ttmem.collector import Collector
from ttmem.sources.directories import Places


def attach(ledger: Ledger, path: Path) -> int:
    """Starts reading a journal, with nothing around the ledger; returns the process's key."""
    state = os.stat(path)
    key, problem = ledger.attach(str(path), state.st_dev, state.st_ino)
    if not key:
        raise RuntimeError(f"{path}: {problem}")
    return key


@contextmanager
def following(directory: Path) -> Iterator[Ledger]:
    """The ledger of a running collector that has read every journal of the directory."""
    with Collector(Places(uid=os.getuid(), directory=str(directory))) as collector:
        collector.wait_settled()
        collector.start()
        yield collector.ledger


def main() -> None:
    with following(Path(sys.argv[1])) as ledger:
        print("following", flush=True)
        for _ in sys.stdin:
            processes = testing.flat_rows(ledger)["processes"]
            print(
                *(sum(one[name] for one in processes) for name in ("events", "lost_records", "live_count")), flush=True
            )


if __name__ == "__main__":
    main()
