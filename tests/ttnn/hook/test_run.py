"""`ttmem run` with the stock runtime: what a user does, from the command line to the summary."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.hooked.process import DRIVER
from tests.support.ttnn.runtime import Runtime
from tests.support.ttnn.stock import Stock
from tests.support.watching import Watch
from ttmem.devices import Pool

RUN = (sys.executable, "-m", "ttmem", "run", "--summary", "--label", "a model", "--")
KIB = 1 << 10


def a_tensor(identity: int, memory: str, side: int) -> dict[str, Any]:
    shape = {"shape": [1, 1, side, side], "dtype": "bfloat16", "is_tiled": True, "layout": "INTERLEAVED"}
    return {"op": "alloc", "id": identity, "type": memory, **shape}


@pytest.fixture
def run(stock: Stock, tmp_path: Path) -> Iterator[Runtime]:
    """A program under `ttmem run`, with a device open and two tensors on it, the larger of them freed again."""
    settings = {"TTMEM_DIR": str(tmp_path / "journals")}
    runtime = Runtime.started(stock, tmp_path, "n150", driver=DRIVER, settings=settings, launcher=RUN)
    try:
        runtime.ask({"do": "open", "mesh": [1, 1], "l1_small": 0, "trace": 0, "dispatch": None, "worker_l1": 0})
        runtime.steps([a_tensor(1, "DRAM", 1024), a_tensor(2, "L1", 256), {"op": "free", "id": 1, "type": "DRAM"}])
        yield runtime
    finally:
        runtime.stop()


def test_a_plain_program_is_seen_from_another_terminal_while_it_runs(run: Runtime, tmp_path: Path) -> None:
    with Watch(tmp_path / "journals") as watch:
        [process] = watch.come_to_rest()["processes"]
        chip = run.chips[0]

        assert (process["label"], process["state"]) == ("a model", "live")
        assert watch.process_used(process["key"], chip, Pool.L1) == 128 * KIB
        assert watch.process_used(process["key"], chip, Pool.DRAM) == 0


def test_its_peaks_are_told_at_its_end_and_its_exit_code_is_passed_on(run: Runtime) -> None:
    with pytest.raises(AssertionError, match="ended with status 7"):
        run.ask({"do": "quit", "status": 7})
    _, words = run.ended()

    table = words[words.index("ttmem: peaks of") :]
    peaks = [line.partition("a model")[2].split()[1:4] for line in table.splitlines() if "a model" in line]
    assert peaks == [["dram", "2.02", "MiB"], ["l1", "128", "KiB"]]  # 12 banks of 172 KiB, 64 of 2 KiB
