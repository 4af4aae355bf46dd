"""Threads that ask a ledger at once never wait for each other for good, whatever Python does in between.

A ledger has a lock of its own besides the interpreter's. Each story runs in a process of its own, which is ended if it
hangs. No thread of it gives the interpreter lock away but where it waits: that makes their order certain.
"""

import gc
import os
import subprocess
from pathlib import Path

import pytest

from tests.support.processes.programs import command_of
from tests.support.timing.waiting import PATIENCE_SECONDS
from ttmem import _native

CALLS = {
    "attach": "ledger.attach(path, facts.st_dev, facts.st_ino)",
    "drain": "ledger.drain()",
    "run": "ledger.run(0.001)",
    "stop": "ledger.stop()",
    "look": "ledger.look('all')",
    "is_settling": "ledger.is_settling()",
    "journal_count": "ledger.journal_count()",
    "set_bank_sizes": "ledger.set_bank_sizes('wormhole_b0', 1 << 30, 1 << 20)",
    "process": "ledger.process(os.getpid(), 0, 5)",
    "sample": "ledger.sample()",
    "lifetime": "ledger.lifetime()",
    "allocations": "ledger.allocations(key)",
    "chip": "ledger.chip(0, 5)",
    "kernels": "ledger.kernels(0, 5)",
    "incident": "ledger.incident(os.getpid(), 0, 1)",
    "log_events": "ledger.log_events()",
    "take_log": "ledger.take_log(0.001)",
    "reset_peaks": "ledger.reset_peaks()",
    "describe_by_driver": "ledger.describe_by_driver(1, 'wormhole_b0', 'n150', 0, 0)",
    "checkpoint": "ledger.checkpoint()",
    "restore": "ledger.restore(kept)",
}
TESTING_CALLS = {
    "flat_rows": "testing.flat_rows(ledger)",
    "alike": "testing.alike(ledger)",
    "tally": "testing.tally(ledger, key)",
    "alive_at_peak": "testing.alive_at_peak(ledger, key, 0, 0)",
    "tapped_ledger": "testing.tapped_ledger()",
    "taken": "testing.taken(ledger, key)",
    "feed": "testing.feed(ledger, b'', b'', (1, 0, 1, ''))",
    "end": "testing.end(ledger, key)",
    "forget_ended": "testing.forget_ended(ledger)",
}
SERVER_CALLS = {
    "run": "server.run(0.001)",
    "stop": "server.stop()",
    "statistics": "server.statistics()",
    "take_log": "server.take_log(0.001)",
    "finish": "server.finish()",
}
SITUATIONS = {
    "while another has the lock and waits for Python's": "held",
    "while another collects garbage in the middle of a look": "collected_by_another",
    "while its own garbage is collected": "collected",
}


@pytest.mark.parametrize("situation", SITUATIONS)
def test_every_call_returns(tmp_path: Path, situation: str) -> None:
    calls = [*CALLS.values(), *TESTING_CALLS.values(), *SERVER_CALLS.values()]
    command = command_of("ledger.locked_calls", str(tmp_path), SITUATIONS[situation], *calls)
    with subprocess.Popen(command, env=os.environ, stdout=subprocess.PIPE, text=True) as process:
        try:
            told, _ = process.communicate(timeout=PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            told, _ = process.communicate()

    assert told.splitlines() == calls


def test_these_are_all_calls() -> None:
    calls_of = ((_native.Ledger, CALLS), (_native.testing, TESTING_CALLS), (_native.AllocationServer, SERVER_CALLS))
    for owner, calls in calls_of:
        assert {name for name in dir(owner) if not name.startswith("_")} == set(calls)


@pytest.mark.parametrize("is_on", [True, False])
def test_garbage_is_collected_afterwards_as_before(is_on: bool) -> None:
    was_on = gc.isenabled()
    try:
        (gc.enable if is_on else gc.disable)()
        _native.Ledger().look()

        assert gc.isenabled() == is_on
    finally:
        (gc.enable if was_on else gc.disable)()
