"""Distinguishes signals that were sent to all of us from those that were sent to `ttmem run` alone.

A program and its runner are in one process group. What is sent to the group (a key at the terminal, `timeout`, a
shell's `fg`, a supervisor that signals all) has reached the program already and must not reach it twice; what is
sent to us alone must be passed on. A signal does not say which of the two it is. So a third process stands by: it runs
nothing, blocks every signal, and is asked whether one came to it as well. It has a name of its own: a user who signals
all that is called `ttmem` means us.
"""

import os
import signal
import socket
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

__all__ = ["SignalWitness"]

_HEARING_SECONDS = 0.005  # members of a group are signalled one by one, within microseconds
_ANSWER_SECONDS = 0.5
_NO, _YES = b"\0", b"\1"
_NAME = b"bystander"
_ARGUMENTS_BEGIN, _ARGUMENTS_END = 45, 46  # in /proc/self/stat, counted from the state


class SignalWitness:
    """A child of ours that ends when we do, however that comes."""

    def __init__(self) -> None:
        """OSError where no more processes can be had."""
        self._line, its_line = socket.socketpair()
        self._line.settimeout(_ANSWER_SECONDS)
        try:
            self._pid = os.fork()
        except OSError:
            self._line.close()
            its_line.close()
            raise
        if self._pid == 0:
            _stand_by(its_line.fileno())
        its_line.close()

    def has_heard(self, number: int) -> bool:
        """Whether that signal came to it too, since it was asked last."""
        try:
            self._line.sendall(bytes([number]))
            return self._line.recv(1) == _YES
        except OSError:
            self._line.close()  # a late answer would be taken for that to the next question
            return False

    def dismiss(self) -> None:
        self._line.close()
        os.kill(self._pid, signal.SIGKILL)  # it may have been stopped
        os.waitpid(self._pid, 0)


def _stand_by(line: int) -> NoReturn:
    """Holds nothing open but the line: no process waits for the end of a pipe because of us."""
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        os.dup2(line, 0)
        _rename()
        for descriptor in {int(name) for name in os.listdir("/proc/self/fd")} - {0}:
            with suppress(OSError):  # that of the list itself
                os.close(descriptor)
        while asked := os.read(0, 1):
            has_come = signal.sigtimedwait(set(asked), _HEARING_SECONDS) is not None
            os.write(0, _YES if has_come else _NO)
    finally:
        os._exit(0)


def _rename() -> None:
    """In every list of processes, by its name and by its words."""
    with suppress(OSError):
        Path("/proc/self/comm").write_bytes(_NAME)
        words = Path("/proc/self/stat").read_bytes().rpartition(b")")[2].split()
        begin, end = int(words[_ARGUMENTS_BEGIN]), int(words[_ARGUMENTS_END])
        with open("/proc/self/mem", "r+b", buffering=0) as memory:
            memory.seek(begin)
            memory.write(_NAME.ljust(end - begin, b"\0")[: end - begin])
