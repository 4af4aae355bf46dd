"""A recorder in a child process: it writes what this process reports, and answers orders.

`ttmem record --pid` is started at a socket. It takes a line of JSON for each order and answers with one. It ends with
the process it was started for, whatever becomes of the socket. A forked child of ours has nothing to do with it.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

__all__ = ["RecorderChild", "RecorderGone"]

_PATIENCE_SECONDS = 15.0
_SEAL_SECONDS = 120.0


class RecorderGone(Exception):
    """There is no recorder (any more); the message says why, in half a sentence."""


class RecorderChild:
    """One recorder. Whatever goes wrong is a RecorderGone, never anything else."""

    def __init__(self, path: str, options: Sequence[str] = ()) -> None:
        command = [sys.executable, "-m", "ttmem", "record", "--pid", str(os.getpid()), "--orders", "-o", path, *options]
        self.owner_pid = os.getpid()
        self._unread = b""
        self._said = ""
        if not sys.executable:
            raise RecorderGone("it is not known which Python runs this (sys.executable is empty)")
        try:
            self._line, theirs = socket.socketpair()
        except OSError as error:
            raise RecorderGone(f"no socket could be made: {error.strerror}") from None
        try:
            with theirs:
                self._process = subprocess.Popen(
                    command,
                    env=_environment(os.environ),
                    stdin=theirs.fileno(),
                    stdout=theirs.fileno(),
                    stderr=subprocess.STDOUT,
                    start_new_session=True,  # the keys of a terminal are for the program
                )
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            self._line.close()
            raise RecorderGone(f"{sys.executable} could not be started: {error}") from None
        try:
            self.directory = str(self._answer(_PATIENCE_SECONDS)["recording"])
        except RecorderGone:
            self.kill()
            raise

    def ask(self, order: str, *, seconds: float = _PATIENCE_SECONDS, **facts: Any) -> dict[str, Any]:
        """What it answers; by then all is read and written that was reported before."""
        if self.owner_pid != os.getpid():
            raise RecorderGone("this is a forked child of the process that is recorded")
        try:  # a host may die of SIGPIPE
            self._line.sendall(json.dumps({"order": order, **facts}).encode() + b"\n", socket.MSG_NOSIGNAL)
        except OSError:
            raise RecorderGone(self._last_words()) from None
        return self._answer(seconds)

    def end(self) -> dict[str, Any]:
        """Ends the recording; when this returns it is complete and packed."""
        try:
            return self.ask("end", seconds=_SEAL_SECONDS)
        finally:
            self._line.close()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_PATIENCE_SECONDS)

    def kill(self) -> None:
        """Ends it at once."""
        if self.owner_pid == os.getpid():
            with suppress(OSError):
                self._process.send_signal(signal.SIGKILL)
            self._line.close()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_PATIENCE_SECONDS)

    def forget_in_fork(self) -> None:
        """In a forked child: the recorder is not its own, and nothing is said to it."""
        self._process.returncode = 0
        self._line.close()

    def _answer(self, seconds: float) -> dict[str, Any]:
        deadline = time.monotonic() + seconds
        while (line := self._next_line(deadline)) is not None:
            with suppress(ValueError):
                answer = json.loads(line)
                if isinstance(answer, dict):
                    return answer
            self._said = line.decode(errors="replace").strip() or self._said
        raise RecorderGone(self._said or "the recorder gave no answer in time")

    def _next_line(self, deadline: float) -> bytes | None:
        while b"\n" not in self._unread:
            more = b""
            with suppress(OSError):  # it took too long, or the recorder is gone
                self._line.settimeout(max(0.001, deadline - time.monotonic()))
                more = self._line.recv(1 << 16)
            if not more:
                return None
            self._unread += more
        line, _, self._unread = self._unread.partition(b"\n")
        return line

    def _last_words(self) -> str:
        with suppress(RecorderGone):
            self._answer(0.0)
        return self._said or "the recorder has ended"


def _environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Ours, but it reports nothing itself, and no module in the current directory stands in for one of its own."""
    kept = {name: value for name, value in environ.items() if name not in ("LD_PRELOAD", "TTMEM_SITES")}
    return {**kept, "TTMEM": "0", "TTMEM_SITES": "0", "PYTHONSAFEPATH": "1", "PYTHONWARNINGS": "ignore"}
