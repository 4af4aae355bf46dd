"""Makes calls of a ledger and its server while another thread is in the middle of one, or garbage is collected.

Arguments: a directory, the situation (`held`, `collected_by_another`, `collected`), and the calls as Python text.
Prints each call that has returned. The interpreter does not switch threads by itself.
"""

import ctypes
import gc
import os
import socket
import sys
import threading
import time
from typing import Any

from ttmem import _native
from ttmem._native import testing

directory, situation, *calls = sys.argv[1:]
client = _native.client
client.enable(directory)
target = client.open_device(7, 0, "", "", (0, 0), (0, 0), (0,) * 10, 0)
for number in range(1, 101):
    client.report_buffer_alloc(target, number, 4096)
path = client.journal_path()
facts = os.stat(path)
ledger = testing.tapped_ledger()
key, _ = ledger.attach(path, facts.st_dev, facts.st_ino)
ledger.drain()
kept = _native.Ledger().checkpoint()
with socket.socket(socket.AF_UNIX) as listener:
    listener.bind(f"{directory}/s")
    listener.listen()
    server = _native.AllocationServer(ledger, listener.fileno())
sys.setswitchinterval(1000)


def make(call: str) -> None:
    eval(call)
    print(call, flush=True)


class Asking:
    """A thread that asks again and again: it has the ledger's lock and waits for the interpreter's."""

    def __init__(self) -> None:
        self.lap_count = self.thread_id = 0
        self.is_over = False
        self._libc = ctypes.PyDLL(None)  # its functions are called without giving the interpreter lock away
        self.thread = threading.Thread(target=self._ask)
        self.thread.start()

    def _ask(self) -> None:
        self.thread_id = threading.get_native_id()
        while not self.is_over:
            self.lap_count += 1
            ledger.look()

    def is_asleep(self) -> bool:
        text = ctypes.create_string_buffer(512)
        file = self._libc.open(f"/proc/self/task/{self.thread_id}/stat".encode(), os.O_RDONLY)
        self._libc.read(file, text, 511)
        self._libc.close(file)
        return text.value.rpartition(b") ")[2][:1] == b"S"


def while_another_has_the_lock() -> None:
    """The main thread holds the interpreter's lock while it calls."""
    asking = Asking()
    for call in calls:
        before = asking.lap_count
        while asking.lap_count < before + 2:
            time.sleep(0)  # gives the interpreter lock away: the other gives it back where it begins to look
        while not asking.is_asleep():
            pass
        make(call)
    asking.is_over = True
    asking.thread.join()


def ask_and_collect() -> None:
    """Garbage is collected in the middle of the look."""
    gc.enable()
    ledger.allocations(key)
    [[] for _ in range(10)]


class Collecting:
    """A thread that looks; while its garbage is collected it waits until the main thread has called."""

    def __init__(self) -> None:
        self.is_inside, self.may_go_on = threading.Event(), threading.Event()
        self.thread = threading.Thread(target=ask_and_collect)

    def __call__(self, phase: str, facts: dict[str, Any]) -> None:
        if threading.current_thread() is self.thread and not self.is_inside.is_set():
            self.is_inside.set()
            self.may_go_on.wait()


def while_another_collects() -> None:
    gc.disable()
    gc.set_threshold(1)
    for call in calls:
        collecting = Collecting()
        gc.callbacks[:] = [collecting]
        collecting.thread.start()
        collecting.is_inside.wait()
        gc.disable()
        collecting.may_go_on.set()
        make(call)
        collecting.thread.join()


class Knot:
    """Collected only as garbage; asks the very ledger that is being looked at, in the same thread."""

    def __init__(self, call: str) -> None:
        self.itself, self.call = self, call

    def __del__(self) -> None:
        make(self.call)


def while_it_collects() -> None:
    gc.set_threshold(1)
    for call in calls:
        gc.disable()
        Knot(call)
        ask_and_collect()


{
    "held": while_another_has_the_lock,
    "collected_by_another": while_another_collects,
    "collected": while_it_collects,
}[situation]()
