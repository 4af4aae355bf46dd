"""A stream of messages to the older design's server that never blocks its program, never raises and never tears.

Whatever is sent is first put on the backlog; then the caller writes as much as the socket takes. What it does not
take, and everything while no server is there, waits for a thread in the background, which also looks for the server
again each second.

A writer needs the interpreter again after each write. Threads that only append would keep it and fill the
backlog of a server that is quick enough; so in a crowd they offer it, as long as the socket takes more.

  field         changed by                                     holds
  backlog       any thread: appends; the holder of _lock: takes   messages not yet begun to send
  _flight       the holder of _lock, by one assignment            messages taken, and how much of them was written
  _connection   the holder of _lock                               the socket, None: there is no server
  _idle         any thread, atomically                            one token: no thread attends to this in the background

Signal handlers may come in between any two steps, report something themselves, or raise. So no thread waits for _lock
(its holder looks at the backlog again after letting it go), and a step that must not be lost (bytes were
written, messages taken, the lock held) is done and noted by one call: `list.extend(map(...))`.

While nothing waits, reports do not come here at all: armed, the native core sends them by itself. What waits is never
overtaken: a message is on the backlog before the core is disarmed, and the core looks at both lists when it is armed.
"""

import _thread
import atexit
import os
import select
import socket
import struct
import time
from collections import deque
from itertools import repeat

from ttmem import _native
from ttmem.client.notices import warn_once
from ttmem.client.own_socket import OwnSocket

__all__ = ["BACKLOG_MESSAGES", "Connection"]

BACKLOG_MESSAGES = 65_536
BATCH_MESSAGES = 1024
CROWD_MESSAGES = 4096
YIELD_MESSAGES = 16
RETRY_SECONDS = 1.0
EXIT_SECONDS = 0.2
SEND_BUFFER_BYTES = 1 << 20

_FLAGS = socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL
_AT_ONCE = (False,)
_CREDENTIALS = struct.Struct("iII")
_arm, _disarm = _native.allocation_client.arm, _native.allocation_client.disarm


# Messages taken from the backlog, and how many bytes of them each write took.
Flight = tuple[list[bytes], list[int]]


class Connection:
    """The one connection of this process; a forked child begins again, with a connection and a backlog of its own."""

    def __init__(self, path: str) -> None:
        self._path = path
        self.backlog: deque[bytes] = deque()  # the sender's to look at: it should not grow beyond BACKLOG_MESSAGES
        self._connection: OwnSocket | None = None
        self._begin()
        os.register_at_fork(after_in_child=self._begin_in_child)
        atexit.register(self._finish)

    def send(self, message: bytes) -> None:
        """Sends now if the server takes it, else as soon as it does."""
        try:
            self.backlog.append(message)
        finally:  # a signal handler may raise in between
            _disarm()
        if self._idle:
            self._drain()
        crowd = len(self.backlog)
        if crowd > CROWD_MESSAGES and crowd % YIELD_MESSAGES == 0 and self._poll(0):
            time.sleep(0)  # the server takes more: the writer only lacks the interpreter

    def _begin(self) -> None:
        _disarm()
        self.backlog.clear()
        self._flight: Flight = ([], [])
        self._lock = _thread.allocate_lock()
        self._idle = deque([True], maxlen=1)

    def _begin_in_child(self) -> None:
        parents, self._connection = self._connection, None
        self._begin()
        if parents is not None:
            parents.let_go()  # the descriptor alone: the parent goes on writing

    def _has_more(self) -> bool:
        return bool(self.backlog or self._flight[0])

    def _drain(self) -> None:
        while self.backlog or self._flight[0]:
            is_held, is_stuck = self._try_to_write()
            if is_stuck:
                self._attend_later()
            if is_stuck or not is_held:
                return

    def _try_to_write(self) -> tuple[bool, bool]:
        """Whether this thread could write at all, and whether the server then took less than there is."""
        lock = self._lock
        held: list[bool] = []
        try:
            held.extend(map(lock.acquire, _AT_ONCE))
            return held[0], held[0] and not self._write()
        finally:
            if held and held[0]:
                lock.release()

    def _write(self) -> bool:
        """Writes until nothing is left; False if the server is not there, or takes no more for now."""
        backlog = self.backlog
        while backlog or self._flight[0]:
            connection = self._connected()
            if connection is None:
                return False
            messages, written = self._flight
            if not messages:
                messages.extend(map(deque.popleft, repeat(backlog, min(len(backlog), BATCH_MESSAGES))))
            data = b"".join(messages)[sum(written) :]
            try:
                written.extend(map(connection.send, (data,), (_FLAGS,)))
            except BlockingIOError:
                return False
            except OSError as error:
                self._disconnect()
                self._warn(f"the allocation server at {self._path} went away ({error.strerror or error})")
                return False
            if written[-1] == len(data):
                self._flight = ([], [])
        if self._connection is not None:
            _arm(self._connection.fileno(), backlog, self._flight[0])
        return True

    def _connected(self) -> OwnSocket | None:
        """A socket to write to; a new one if the program has closed the one there was."""
        if self._connection is not None and not self._connection.is_ours():
            self._disconnect()
        if self._connection is None:
            self._connection = self._connect()
        return self._connection

    def _connect(self) -> OwnSocket | None:
        connection = None
        try:
            connection = OwnSocket()
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)
            connection.connect(self._path)
            if self._is_trusted(connection):
                return connection
        except BlockingIOError:
            pass  # it is there, and has more to accept than it can
        except OSError as error:
            self._warn(f"there is no allocation server at {self._path} ({error.strerror or error})")
        if connection is not None:
            connection.let_go()
        return None

    def _is_trusted(self, connection: socket.socket) -> bool:
        """The listener there learns what this process does: it must be root or ourselves."""
        uid = server_uid(connection)
        if uid in (0, os.geteuid()):
            return True
        expected = f"0 (root) or {os.geteuid()}" if os.geteuid() else "0 (root)"
        warn_once(
            "server_uid",
            f"the allocation server at {self._path} runs as uid {uid}, expected {expected}: nothing is sent "
            "to it; set TTMEM_SERVER_SOCKET to a socket of your own",
        )
        return False

    def _disconnect(self) -> None:
        """Of what the lost connection took only in part, the message is sent again, whole."""
        _disarm()
        connection, self._connection = self._connection, None
        messages, written = self._flight
        whole, left = 0, sum(written)
        while whole < len(messages) and left >= len(messages[whole]):
            left -= len(messages[whole])
            whole += 1
        self._flight = (messages[whole:], [])
        if connection is not None:
            connection.let_go()

    def _warn(self, what: str) -> None:
        warn_once(
            "server_absent",
            f"{what}; up to {BACKLOG_MESSAGES:,} reports are stored until there is one, more are counted as lost. "
            "`ttmem serve` starts one",
        )

    def _attend_later(self) -> None:
        """Leaves the rest to a thread in the background, unless there is one."""
        try:
            self._idle.pop()
            _thread.start_new_thread(self._attend, ())
        except IndexError:
            return
        except RuntimeError:  # no more threads: the next report tries again
            self._idle.append(True)
        except BaseException:  # a signal handler's; a second thread does no harm
            self._idle.append(True)
            raise

    def _attend(self) -> None:
        while True:
            self._wait(RETRY_SECONDS)
            is_held, is_stuck = self._try_to_write()
            if is_stuck or not is_held:
                continue
            self._idle.append(True)
            if not self._has_more():
                return
            try:  # something came before the token was there, and relied on this thread
                self._idle.pop()
            except IndexError:
                return

    def _wait(self, seconds: float) -> None:
        """Until the server takes more, or it is time to look for one again."""
        if self._poll(seconds) is None:
            time.sleep(seconds)

    def _poll(self, seconds: float) -> bool | None:
        """Whether the server takes more, within so long; None without one."""
        connection = self._connection
        descriptor = connection.fileno() if connection is not None else -1
        if descriptor < 0:
            return None
        poll = select.poll()
        poll.register(descriptor, select.POLLOUT)  # if it is the program's by now, the next write finds out
        return bool(poll.poll(seconds * 1000))

    def _finish(self) -> None:
        """At the program's end: what is left goes to a server that is there and takes it in time."""
        deadline = time.monotonic() + EXIT_SECONDS
        while self._has_more() and (left := deadline - time.monotonic()) > 0:
            is_held, is_stuck = self._try_to_write()
            if is_held and self._connection is None:
                return
            if is_stuck or not is_held:
                self._wait(min(left, 0.01 if not is_held else left))


def server_uid(connection: socket.socket) -> int:
    """The user who listens at the other end, as the kernel knows it."""
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return int(_CREDENTIALS.unpack(credentials)[1])
