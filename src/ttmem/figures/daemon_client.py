"""Asks a daemon: its snapshot, what is alive, and what a monitor looks at.

Who answers must be root or ourselves, and has a second for all of it; more only if it says meanwhile that it is well,
or is seen at work (thousands of devices take their time, and more of it on a busy machine). The few lines of HTTP that
takes are spoken here: the standard library's client costs more to load than the rest of `ttmem ps`, and its time limit
is for single reads, which a server that answers a byte at a time never exceeds.
"""

import os
import socket
import struct
import time
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, TypeVar

import msgspec

from ttmem.errors import DaemonBusy, DaemonGone, SelectionError
from ttmem.figures.http_answer import HttpAnswer, parsed, received
from ttmem.figures.last_overview import LastOverview
from ttmem.snapshot import Snapshot
from ttmem.snapshot.chip_map import ChipMap
from ttmem.snapshot.codec import decoded
from ttmem.snapshot.dump import By, Dump
from ttmem.snapshot.history import History
from ttmem.snapshot.incidents import IncidentCopy
from ttmem.snapshot.kernel_table import KernelTable
from ttmem.snapshot.process_detail import ProcessDetail
from ttmem.snapshot.selection import MOST
from ttmem.snapshot.telemetry import ChipTelemetry, Telemetry

__all__ = ["SOCKET_NAME", "TIME_HEADER", "DaemonClient"]

TIME_HEADER = "x-ttmem-time-ns"  # the moment of an overview, also where nothing else has changed
SOCKET_NAME = "daemon.sock"
_TIMEOUT_SECONDS = 1.0
_HEALTH = "/healthz"
_UNAVAILABLE = 503
_HEALTH_SECONDS = 0.6
_BUSY_SECONDS = 15.0  # for a healthy daemon that has much to report
_WORKING_SHARE = 0.05  # of a processor: a daemon that only waits uses far less
_CREDENTIALS = struct.Struct("3i")  # pid, uid, gid

Figures = TypeVar("Figures")


class DaemonClient:
    """A daemon behind a Unix socket. Every question is a connection of its own: there is nothing to keep alive."""

    def __init__(
        self, path: str, *, timeout_seconds: float = _TIMEOUT_SECONDS, last: LastOverview | None = None
    ) -> None:
        self.path = path
        self._timeout_seconds = timeout_seconds
        self._last = last or LastOverview()

    @classmethod
    def find(cls, directories: Iterable[str]) -> "DaemonClient | None":
        """The first daemon that takes a connection and may be believed, in these directories."""
        for directory in directories:
            client = cls(os.path.join(directory, SOCKET_NAME))
            try:
                client._connected(time.monotonic() + client._timeout_seconds).close()
            except DaemonGone:
                continue
            return client
        return None

    def patient(self, timeout_seconds: float) -> "DaemonClient":
        """The same daemon, for questions whose answer may take longer."""
        return DaemonClient(self.path, timeout_seconds=timeout_seconds, last=self._last)

    def snapshot(self) -> Snapshot:
        """What the daemon knows now. DaemonGone or VersionMismatch if it cannot be had."""
        return self.asked("/snapshot", Snapshot)

    def overview(self) -> Snapshot:
        """What the daemon knows now, without the details of processes."""
        answer = self._answer("/overview", headers=self._last.headers)
        if answer.status == 304:
            again = self._last.again(answer.header("etag"), answer.header(TIME_HEADER))
            if again is not None:
                return again
            answer = self._answer("/overview")
        return self._last.decoded(_body("/overview", answer), answer.header("etag"))

    def dump(self, *, kernels: bool = False, device: str | None = None, most: int = MOST, by: By = "") -> Dump:
        """What is alive, allocation by allocation. A device that is not there is a SelectionError."""
        chosen = "" if device is None else f"&device={_quoted(device)}"
        summed = f"&by={by}" if by else ""
        return self.asked(f"/dump?kernels={int(kernels)}&most={most}{chosen}{summed}", Dump)

    def process(self, pid: int, *, key: int | None = None, most: int = MOST) -> ProcessDetail:
        """One process close up. One that is not there is a SelectionError."""
        return self.asked(f"/process?pid={pid}&key={key or 0}&most={most}", ProcessDetail)

    def chip(self, word: str) -> ChipMap:
        """One chip by address; `word` as `ps -i` names it. One that is not there is a SelectionError."""
        return self.asked(f"/chip?device={_quoted(word)}", ChipMap)

    def kernels(self, word: str, most: int) -> KernelTable:
        """The kernels of one chip, the `most` largest of them."""
        return self.asked(f"/kernels?device={_quoted(word)}&most={most}", KernelTable)

    def incident_copy(self, pid: int, number: int, *, key: int | None = None) -> IncidentCopy | None:
        """What was alive at an incident of a process; None if there is no copy."""
        answer = self._answer(f"/incident?pid={pid}&key={key or 0}&number={number}")
        if answer.status == 404 and _error_text(answer.body):
            return None
        return decoded(_body("/incident", answer), IncidentCopy)

    def history(self, seconds: int) -> History:
        """What was used when, up to now."""
        return self.asked(f"/history?seconds={seconds}", History)

    def telemetry(self) -> tuple[ChipTelemetry, ...]:
        """What the driver of the daemon's machine says of its chips."""
        return self.asked("/telemetry", Telemetry).chips

    def asked(self, target: str, kind: type[Figures]) -> Figures:
        """The figures behind a route. A device or process that the daemon does not know is a SelectionError."""
        answer = self._answer(target)
        is_choice = "device=" in target or "pid=" in target
        if is_choice and answer.status in (400, 404) and (text := _error_text(answer.body)):
            raise SelectionError(text)
        return decoded(_body(target, answer), kind)

    def reset_peaks(self) -> None:
        """From now on peaks start at what is used."""
        status = self._answer("/reset-peaks", method="POST").status
        if status != 204:
            raise DaemonGone(f"answers /reset-peaks with status {status}")

    def health(self) -> dict[str, Any]:
        """What the daemon says of itself, also when something has failed there."""
        answer = self._answer(_HEALTH)
        body = _body(_HEALTH, answer._replace(status=200) if answer.status == _UNAVAILABLE else answer)
        try:
            return msgspec.json.decode(body, type=dict[str, Any])
        except (msgspec.DecodeError, RecursionError):
            raise DaemonGone(f"answers {_HEALTH} with something that is no object") from None

    def _answer(
        self, target: str, method: str = "GET", *, headers: Mapping[str, str] = MappingProxyType({})
    ) -> HttpAnswer:
        deadline = time.monotonic() + self._timeout_seconds
        with self._connected(deadline) as line:
            answer = bytearray()
            effort = _Effort(line)
            try:
                more = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
                request = f"{method} {target} HTTP/1.0\r\nHost: localhost\r\nConnection: close\r\n{more}\r\n"
                line.sendall(request.encode())
                try:
                    return parsed(received(line, answer, deadline))
                except TimeoutError:
                    if target == _HEALTH or not self._is_worth_waiting_for(effort):
                        raise
                    return parsed(received(line, answer, deadline + _BUSY_SECONDS))
            except TimeoutError:
                raise DaemonBusy(f"gave no answer within {self._timeout_seconds:.2g} s") from None
            except OSError as error:
                raise DaemonGone(f"went away while it was asked ({error.strerror or error})") from None

    def _is_worth_waiting_for(self, effort: "_Effort") -> bool:
        """Whether the daemon still answers the shortest of questions, or has its hands full; not asked in a hurry."""
        if self._timeout_seconds < _HEALTH_SECONDS:
            return False
        try:
            return self.patient(_HEALTH_SECONDS)._answer(_HEALTH).status in (200, _UNAVAILABLE)  # it lives, at least
        except DaemonGone:
            return effort.is_going_on()

    def _connected(self, deadline: float) -> socket.socket:
        line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
        try:
            line.settimeout(max(0.01, deadline - time.monotonic()))
            line.connect(self.path)
            _, uid = _peer_of(line)
            if uid not in (0, os.geteuid()):
                raise DaemonGone(f"belongs to uid {uid}, neither root nor us: not believed")
        except DaemonGone:
            line.close()
            raise
        except ConnectionRefusedError:
            line.close()
            raise DaemonGone("no answer there: the daemon that made it has ended") from None
        except (TimeoutError, BlockingIOError):
            line.close()
            raise DaemonBusy("takes no connection: the daemon hangs") from None
        except OSError as error:
            line.close()
            raise DaemonGone(f"cannot be asked: {(error.strerror or str(error)).lower()}") from None
        return line


class _Effort:
    """What the process behind a connection has worked since: one that hangs, or is stopped, does not."""

    def __init__(self, line: socket.socket) -> None:
        self._pid, _ = _peer_of(line)
        self._began = time.monotonic()
        self._before = self._worked_seconds()

    def is_going_on(self) -> bool:
        """False also if it cannot be seen from here."""
        passed = time.monotonic() - self._began
        return self._worked_seconds() - self._before > _WORKING_SHARE * passed

    def _worked_seconds(self) -> float:
        if self._pid in (0, os.getpid()):  # of another pid namespace; or our own work, which says nothing
            return 0.0
        try:
            return time.clock_gettime(~self._pid << 3 | 2)  # clock_getcpuclockid(3)
        except OSError:  # it has ended
            return 0.0


def _peer_of(line: socket.socket) -> tuple[int, int]:
    """The pid and the user of the listener there."""
    pid, uid, _ = _CREDENTIALS.unpack(line.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))
    return pid, uid


def _quoted(word: str) -> str:
    """Every byte as %XX: DESIGN 12, one-shot table <= 150 ms, of which loading `urllib.parse` would take 5."""
    return "".join(f"%{byte:02X}" for byte in word.encode(errors="replace"))


def _body(target: str, answer: HttpAnswer) -> bytes:
    if answer.status != 200:
        raise (DaemonBusy if answer.status == _UNAVAILABLE else DaemonGone)(
            f"answers {target} with status {answer.status}"
        )
    return answer.body


def _error_text(body: bytes) -> str:
    """What a daemon says is wrong with a question; empty if it does not."""
    try:
        return msgspec.json.decode(body, type=_ErrorAnswer).error
    except (msgspec.DecodeError, RecursionError):
        return ""


class _ErrorAnswer(msgspec.Struct):
    error: str
