"""Threads that ask a ledger at once never wait for each other for good, whatever Python does in between.

A ledger has a lock of its own besides the interpreter's. Each story runs in a process of its own, which is ended if it
hangs. No thread of it gives the interpreter lock away but where it waits: that makes their order certain.
"""

import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.waiting import PATIENCE_SECONDS
from ttmem import _native

CALLS = {
    "attach": "ledger.attach(path, facts.st_dev, facts.st_ino)",
    "drain": "ledger.drain()",
    "run": "ledger.run(0.001)",
    "stop": "ledger.stop()",
    "look": "ledger.look('all')",
    "set_bank_sizes": "ledger.set_bank_sizes('wormhole_b0', 1 << 30, 1 << 20)",
    "snapshot": "ledger.snapshot()",
    "overview": "ledger.overview()",
    "process": "ledger.process(os.getpid(), 0, 5)",
    "alike": "ledger.alike()",
    "sample": "ledger.sample()",
    "lifetime": "ledger.lifetime()",
    "allocations": "ledger.allocations(key)",
    "chip": "ledger.chip(0, 5)",
    "kernels": "ledger.kernels(0, 5)",
    "tally": "ledger.tally(key)",
    "alive_at_peak": "ledger.alive_at_peak(key, 0, 0)",
    "incident": "ledger.incident(os.getpid(), 0, 1)",
    "taken": "ledger.taken(key)",
    "feed": "ledger.feed(b'', b'', (1, 0, 1, ''))",
    "end": "ledger.end(key)",
    "forget_ended": "ledger.forget_ended()",
    "log_events": "ledger.log_events()",
    "take_log": "ledger.take_log(0.001)",
    "reset_peaks": "ledger.reset_peaks()",
    "describe_by_driver": "ledger.describe_by_driver(1, 'wormhole_b0', 'n150', 0, 0)",
    "checkpoint": "ledger.checkpoint()",
    "restore": "ledger.restore(kept)",
}
SERVER_CALLS = {
    "run": "server.run(0.001)",
    "stop": "server.stop()",
    "statistics": "server.statistics()",
    "take_log": "server.take_log(0.001)",
    "finish": "server.finish()",
}
PROGRAM = """
import ctypes, gc, os, socket, sys, threading, time
from ttmem import _native

client = _native.client
client.enable(sys.argv[1])
target = client.open_device(7, 0, "", "", (0, 0), (0, 0), (0,) * 10, 0)
for number in range(1, 101):
    client.report_buffer_alloc(target, number, 4096)
path = client.journal_path()
facts = os.stat(path)
ledger = _native.Ledger(True)
key, _ = ledger.attach(path, facts.st_dev, facts.st_ino)
ledger.drain()
kept = _native.Ledger().checkpoint()
with socket.socket(socket.AF_UNIX) as listener:
    listener.bind(sys.argv[1] + "/s")
    listener.listen()
    server = _native.SeedServer(ledger, listener.fileno())
sys.setswitchinterval(1000)
CALLS = sys.argv[2:]
"""
# Another thread has the ledger's lock and waits for the interpreter's, which the main thread holds while it calls.
HELD_BY_ANOTHER = """
def ask():
    global laps, worker
    worker = threading.get_native_id()
    while not is_over:
        laps += 1
        ledger.overview()

libc = ctypes.PyDLL(None)  # its functions are called without giving the interpreter lock away

def is_asleep():
    text = ctypes.create_string_buffer(512)
    file = libc.open(f"/proc/self/task/{worker}/stat".encode(), os.O_RDONLY)
    libc.read(file, text, 511)
    libc.close(file)
    return text.value.rpartition(b") ")[2][:1] == b"S"

laps, worker, is_over = 0, 0, False
asking = threading.Thread(target=ask)
asking.start()
for call in CALLS:
    before = laps
    while laps < before + 2:
        time.sleep(0)  # gives the interpreter lock away: the other gives it back where it begins to look
    while not is_asleep():
        pass
    eval(call)
    print(call, flush=True)
is_over = True
asking.join()
"""
# Python runs in the middle of a look, because garbage is collected then; meanwhile the main thread calls.
COLLECTED_MEANWHILE = """
def ask():
    gc.enable()
    ledger.allocations(key)
    [[] for _ in range(10)]

def collect(phase, facts):
    if threading.current_thread() is asking and not is_inside.is_set():
        is_inside.set()
        is_called.wait()

gc.disable()
gc.set_threshold(1)
gc.callbacks.append(collect)
for call in CALLS:
    is_inside, is_called = threading.Event(), threading.Event()
    asking = threading.Thread(target=ask)
    asking.start()
    is_inside.wait()
    gc.disable()
    is_called.set()
    eval(call)
    print(call, flush=True)
    asking.join()
"""
# What is collected asks the very ledger that is being looked at, in the same thread.
COLLECTED_BY_ITSELF = """
class Knot:
    def __init__(self):
        self.itself = self

    def __del__(self):
        eval(call)
        print(call, flush=True)

gc.set_threshold(1)
for call in CALLS:
    gc.disable()
    Knot()
    gc.enable()
    ledger.allocations(key)
    [[] for _ in range(10)]
"""
STORIES = {
    "while another has the lock and waits for Python's": HELD_BY_ANOTHER,
    "while another collects garbage in the middle of a look": COLLECTED_MEANWHILE,
    "while its own garbage is collected": COLLECTED_BY_ITSELF,
}


@pytest.mark.parametrize("story", STORIES)
def test_every_call_returns(tmp_path: Path, story: str) -> None:
    calls = [*CALLS.values(), *SERVER_CALLS.values()]
    command = [sys.executable, "-c", PROGRAM + STORIES[story], str(tmp_path), *calls]
    with subprocess.Popen(command, env=os.environ, stdout=subprocess.PIPE, text=True) as process:
        try:
            told, _ = process.communicate(timeout=PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            told, _ = process.communicate()

    assert told.splitlines() == calls


def test_these_are_all_calls() -> None:
    for owner, calls in ((_native.Ledger, CALLS), (_native.SeedServer, SERVER_CALLS)):
        assert {name for name in dir(owner) if not name.startswith("_")} == set(calls)


@pytest.mark.parametrize("is_on", [True, False])
def test_garbage_is_collected_afterwards_as_before(is_on: bool) -> None:
    was_on = gc.isenabled()
    try:
        (gc.enable if is_on else gc.disable)()
        _native.Ledger().overview()

        assert gc.isenabled() == is_on
    finally:
        (gc.enable if was_on else gc.disable)()
