"""One program, reported by journal and by socket: both must come to the same figures and the same findings."""

import os
import random
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tests.support.journals.watching import Watch
from tests.support.processes.programs import PRELUDE
from tests.support.server.message_server import a_socket_directory
from tests.support.simulated.whole_rows import CONTEXT
from tests.support.timing.waiting import wait_until
from ttmem._native import AllocationServer, Ledger, testing
from ttmem.collector.rows import Snapshots
from ttmem.devices import Pool

Answer = TypeVar("Answer")
Call = tuple[str, tuple[int, ...]]
Figures = tuple[dict[tuple[int, int], int], dict[tuple[int, int], tuple[int, int]], dict[str, int]]

PROGRAM = PRELUDE + "\nA = ttmem.AllocationClient\nfor name, values in {calls!r}: getattr(A, name)(*values)\nmeet()\n"


def a_history(seed: int) -> list[Call]:
    """Calls in a random order: shared buffers, ids used again, changed sizes and types, frees of nothing."""
    draw = random.Random(seed).randrange
    calls: list[Call] = []
    loaded: dict[tuple[int, int], int] = {}
    cbs: dict[tuple[int, int], int] = {}
    for _ in range(1500):
        device, id = draw(3), draw(12)
        what = draw(6)
        if what == 0:
            calls.append(("report_allocation", (device, 1000 * (1 + draw(2)), draw(2) * draw(8), id)))
        elif what == 1:
            calls.append(("report_deallocation", (device, id)))
        elif what == 2:
            cbs[device, id] = size = 64 * (1 + draw(2))
            calls.append(("report_cb_allocation", (device, size, id)))
        elif what == 3:
            calls.append(("report_cb_deallocation", (device, cbs.get((device, id), 64), id)))
        elif what == 4:
            loaded[device, id] = size = 500 * (1 + draw(3))
            calls.append(("report_kernel_load", (device, size, id, draw(2) * draw(6))))
        else:
            calls.append(("report_kernel_unload", (device, loaded.get((device, id), 500), id)))
    return calls


@contextmanager
def a_run(calls: list[Call], **settings: str) -> Iterator[int]:
    """The calls made by a process that lives as long as the block; its pid."""
    environment = {**os.environ, "TT_ALLOC_TRACKING_ENABLED": "1", **settings}
    command = [sys.executable, "-c", PROGRAM.format(calls=calls)]
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "here\n"
            yield process.pid
        finally:
            process.kill()


def figures(rows: dict[str, Any], pid: int) -> Figures:
    """Bytes by device and pool, bytes and count by device and kind, and findings."""
    [process] = [row for row in rows["processes"] if row["pid"] == pid]
    index = {row["number"]: row["index"] for row in rows["devices"]}
    pools = {(index[row[1]], row[2]): row[3] for row in rows["process_pools"] if row[0] == process["key"] and row[3]}
    kinds = {(index[row[1]], row[2]): row[3:5] for row in rows["process_kinds"] if row[0] == process["key"] and row[4]}
    findings = {name: count for name, count in process["findings"].items() if count}
    for name in ("free_size", "unknown_type"):  # a journal has no such counters
        findings.pop(name, None)
    # A free of nothing is explained by what is remembered, which is not the same in both.
    bad_frees = sum(findings.pop(name, 0) for name in ("double_free", "unknown_free", "wrong_target_free"))
    return pools, kinds, {**findings, "bad frees": bad_frees}


def figures_of(ledger: Ledger, pid: int) -> Figures:
    return figures(testing.flat_rows(ledger), pid)


def circular_buffers_of(ledger: Ledger, pid: int) -> list[tuple[int | None, int, bool]]:
    """What cores give up for those of a process, of how many; then for each chip, and whether it is estimated."""
    [process] = [one for one in Snapshots(ledger).snapshot(CONTEXT).processes if one.pid == pid]
    prints = [held.activity.footprint for held in process.devices]
    assert all(prints)
    shown = [(pool.used_bytes, pool.count or 0, False) for pool in process.shown_pools if pool.pool is Pool.CB]
    return [*shown, *((one.planned_bytes, 0, one.is_estimated) for one in prints if one)]


def by_journal(directory: Path, calls: list[Call], asked: Callable[[Ledger, int], Answer]) -> Answer:
    with a_run(calls, TTMEM_DIR=str(directory)) as pid, Watch(directory) as watch:
        watch.process(pid)
        watch.come_to_rest()
        return asked(watch.collector.ledger, pid)


def by_socket(directory: Path, calls: list[Call], asked: Callable[[Ledger, int], Answer]) -> Answer:
    path = str(directory / "server.sock")
    ledger = Ledger()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        server = AllocationServer(ledger, listener.fileno())
        settings = {"TTMEM_TRANSPORT": "socket", "TTMEM_SEED_SOCKET": path, "TTMEM_DIR": str(directory)}
        with a_run(calls, **settings) as pid:
            taken = 0

            def is_all_taken() -> bool:
                nonlocal taken
                taken += server.run(0.01)
                return taken >= len(calls)

            wait_until(is_all_taken)
            return asked(ledger, pid)


@pytest.mark.parametrize("seed", range(6))
def test_both_transports_come_to_the_same_figures(tmp_path: Path, seed: int) -> None:
    calls = a_history(seed)
    with a_socket_directory() as directory:
        expected = by_socket(directory, calls, figures_of)

    assert expected[0]
    assert expected[1]
    assert by_journal(tmp_path, calls, figures_of) == expected


def test_circular_buffers_are_their_union_by_both_transports(tmp_path: Path) -> None:
    """Three on one chip, two of which share bytes, and one on another chip."""
    calls: list[Call] = [
        ("report_cb_allocation", (device, size, address))
        for device, size, address in [(0, 4096, 0x1000), (0, 4096, 0x1800), (0, 64, 0x8000), (1, 512, 0x1000)]
    ]
    with a_socket_directory() as directory:
        found = by_socket(directory, calls, circular_buffers_of)

    assert found == [(0x1800 + 64 + 512, 4, False), (0x1800 + 64, 0, True), (512, 0, True)]
    assert by_journal(tmp_path, calls, circular_buffers_of) == found


def test_both_transports_keep_unknown_devices_apart(tmp_path: Path) -> None:
    calls: list[Call] = [("report_allocation", (device, 10, 0, 4096)) for device in (-1, -2, -1, 1 << 20)]
    calls += [("report_deallocation", (-2, 4096)), ("report_deallocation", (-1, 4096))]
    with a_socket_directory() as directory:
        _, kinds, findings = by_socket(directory, calls, figures_of)
    _, kinds_by_journal, findings_by_journal = by_journal(tmp_path, calls, figures_of)

    assert sum(bytes for bytes, _ in kinds.values()) == 20
    assert sum(bytes for bytes, _ in kinds_by_journal.values()) == 20
    assert findings["bad frees"] == findings_by_journal["bad frees"] == 0
