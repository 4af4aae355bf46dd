"""What programs say on the seeds' socket, taken in by the native core in a thread of its own.

field       who touches it
_server     the thread runs it; anybody may ask for statistics, log lines and its end (it has its own lock)
_is_over    the owner sets it, the thread reads it
"""

import os
import threading
import time
from contextlib import suppress

from ttmem import _native
from ttmem.sources.seed_socket import ServedSocket

__all__ = ["SeedFeed", "device_node_count"]

_RUN_SECONDS = 0.2
_DEVICE_NODES = "/dev/tenstorrent"


class SeedFeed:
    """Serves one socket until `stop`; what it hears goes to a ledger."""

    def __init__(self, ledger: _native.Ledger, served: ServedSocket, *, logs_events: bool) -> None:
        self._server = _native.AllocationServer(ledger, served.listener.fileno(), logs_events, device_node_count())
        self._logs_events = logs_events
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="ttmem-seed-socket", daemon=True)

    @property
    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Takes what has already arrived, then hangs up on everybody."""
        self._is_over.set()
        while self._thread.is_alive():
            self._server.stop()
            self._thread.join(0.02)
        self._server.finish()

    def statistics(self) -> dict[str, int]:
        return self._server.statistics()

    def take_log(self, wait_seconds: float) -> tuple[bytes, int, int, int]:
        """Text of the log, lines dropped so far, then requests to dump what remains and to dump kernels."""
        if not self._logs_events:  # nothing to be quick for, and the core looks for lines 500 times a second
            time.sleep(wait_seconds)
            wait_seconds = 0.0
        return self._server.take_log(wait_seconds)

    def _run(self) -> None:
        while not self._is_over.is_set():
            self._server.run(_RUN_SECONDS)


def device_node_count(directory: str = _DEVICE_NODES) -> int:
    """How many device files the driver made."""
    with suppress(OSError):
        return sum(name.isdecimal() for name in os.listdir(directory))
    return 0
