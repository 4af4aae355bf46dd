"""What the daemon prints: one line when it is ready, and if asked for events, statistics and dumps in
the forms of the allocation server's log.

One thread writes, and no other waits for it. A log that is not read fast enough loses lines, which are counted and
reported in one line later; a log without a reader is given up, and the daemon serves on.

   field                       who touches it
   _waiting                    any thread, under _lock
   lost_count                  written by any thread under _lock, read by any thread
   _reported, _is_given_up, _due   the thread alone; so are _has_warned and _dropped
"""

import errno
import os
import select
import threading
import time
from collections import deque
from collections.abc import Callable

__all__ = ["KERNELS", "PAGE", "REMAINING", "Log", "LogSource"]

LogSource = Callable[[float], tuple[bytes, int, int, int]]
Dumps = Callable[[str], str]  # one of the words below -> its text
PAGE, REMAINING, KERNELS = "page", "remaining", "kernels"  # asked for by a signal, and by two messages of the protocol

_WAIT_SECONDS = 0.1
_DUMP_EVERY_SECONDS = 1.0  # however often it is asked for
_MOST_WAITING = 1 << 20  # characters of our own lines that may wait for a blocked reader
_READER_GONE = (errno.EPIPE, errno.EBADF, errno.EIO, errno.ECONNRESET)


class Log:
    """A stream of lines on a descriptor, usually stdout."""

    def __init__(self, descriptor: int, *, source: LogSource | None, dump: Dumps, warn: Callable[[str], None]) -> None:
        self._descriptor = descriptor
        self._source = source or self._nothing
        self._dump = dump
        self._warn = warn
        self._lock = threading.Lock()
        self._waiting: deque[str] = deque()
        self._waiting_characters = 0
        self.lost_count = 0  # lines that will never be read
        self._dropped = 0  # by the source, as it last said
        self._reported = 0
        self._is_given_up = False
        self._has_warned = False  # of a disk that may be emptied
        self._is_dump_asked_for = threading.Event()
        self._due = dict.fromkeys((PAGE, REMAINING, KERNELS), False)
        self._dump_from = float("-inf")
        self._is_over = threading.Event()
        self._regular: list[Callable[[], str]] = []
        self._thread = threading.Thread(target=self._run, name="ttmem-log", daemon=True)

    def start(self, first: str) -> None:
        """Prints a line before everything that was said until now, then whatever comes."""
        with self._lock:
            self._waiting.appendleft(first + "\n")
        self._thread.start()

    def regularly(self, text: Callable[[], str]) -> None:
        """Asks for text several times a second; mostly it will be empty."""
        self._regular.append(text)

    def say(self, text: str) -> None:
        """Prints a line or several, soon; never waits."""
        with self._lock:
            if self._waiting_characters + len(text) > _MOST_WAITING:
                self.lost_count += text.count("\n") + 1
                return
            self._waiting.append(text + "\n")
            self._waiting_characters += len(text)

    def ask_for_dump(self) -> None:
        """Prints a dump, soon."""
        self._is_dump_asked_for.set()

    def close(self, wait_seconds: float) -> bool:
        """Prints what is there and ends; False if that takes longer: the reader may never read again."""
        self._is_over.set()
        self._thread.join(wait_seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while True:
            is_last = self._is_over.is_set()
            self._write(self._own_lines())
            text, dropped, remaining, kernels = self._source(0.0 if is_last else _WAIT_SECONDS)
            self._write(text)
            self._due[REMAINING] |= bool(remaining)
            self._due[KERNELS] |= bool(kernels)
            self._write_dumps()
            for regular in self._regular:
                self._write(regular().encode())
            self._tell_losses(dropped)
            if is_last and not text:
                return

    def _own_lines(self) -> bytes:
        with self._lock:
            lines = "".join(self._waiting)
            self._waiting.clear()
            self._waiting_characters = 0
        return lines.encode(errors="replace")

    def _write_dumps(self) -> None:
        if self._is_dump_asked_for.is_set():
            self._is_dump_asked_for.clear()
            self._due[PAGE] = True
        now = time.monotonic()
        if now < self._dump_from or not any(self._due.values()):
            return
        self._dump_from = now + _DUMP_EVERY_SECONDS
        for what, is_due in self._due.items():
            if is_due:
                self._write(self._dump(what).encode(errors="replace"))
                self._due[what] = False

    def _tell_losses(self, dropped: int) -> None:
        with self._lock:
            self.lost_count += dropped - self._dropped
        self._dropped = dropped
        lost = self.lost_count
        line = b"ttmem: %d log lines dropped: they were not read in time\n" % (lost - self._reported)
        if lost > self._reported and self._write(line, is_counted=False):
            self._reported = lost

    def _write(self, text: bytes, *, is_counted: bool = True) -> bool:
        """Writes all of it, however long the reader takes; False if it cannot be written at all."""
        while text:
            if self._is_given_up:
                return False
            try:
                text = text[os.write(self._descriptor, text) :]
            except BlockingIOError:  # another program made it non-blocking; wait all the same
                select.select([], [self._descriptor], [], 1.0)
            except OSError as error:
                self._fail(error, text if is_counted else b"")
                return False
        return True

    def _fail(self, error: OSError, text: bytes) -> None:
        """A full disk may be emptied; a reader that left will not come back."""
        with self._lock:
            self.lost_count += text.count(b"\n")
        if error.errno in _READER_GONE:
            self._is_given_up = True
            self._warn(f"the log has no reader any more ({error.strerror}); serving on without it")
        elif not self._has_warned:
            self._has_warned = True
            self._warn(f"the log cannot be written ({error.strerror}); serving on, and trying again")

    def _nothing(self, wait_seconds: float) -> tuple[bytes, int, int, int]:
        self._is_over.wait(wait_seconds)
        return b"", 0, 0, 0
