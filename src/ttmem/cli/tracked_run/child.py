"""A program run on behalf of the user: signals go through to it, and its end becomes ours."""

import errno
import os
import shutil
import signal
from collections.abc import Callable, Mapping, Sequence

from ttmem.cli.common import KILLED_BY
from ttmem.cli.tracked_run.signal_witness import SignalWitness

__all__ = ["Child"]

# What a user, a supervisor, a terminal or a timer that was set before us may send to us and means for the program.
_PASSED_ON = {
    signal.SIGABRT,
    signal.SIGALRM,
    signal.SIGCONT,
    signal.SIGHUP,
    signal.SIGINT,
    signal.SIGIO,
    signal.SIGPROF,
    signal.SIGPWR,
    signal.SIGQUIT,
    signal.SIGTERM,
    signal.SIGTSTP,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGVTALRM,
    signal.SIGWINCH,
    *range(signal.SIGRTMIN, signal.SIGRTMAX + 1),
}
_IGNORED_BY_PYTHON = {signal.SIGPIPE, signal.SIGXFSZ}  # by ours; the program has its own mind
_SHELL = "/bin/sh"
_SENT_BY_KERNEL = 0x80  # si_code of a signal from the terminal or a timer


class Child:
    """One running program. While it runs, signals are waited for and not handled: nothing can be missed."""

    def __init__(self, command: Sequence[str], environ: Mapping[str, str]) -> None:
        waited_for = _PASSED_ON | {signal.SIGCHLD}
        if signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN:  # so that there is a process to wait for
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._mask_before = signal.pthread_sigmask(signal.SIG_BLOCK, waited_for)
        self._bystander = _a_bystander()
        self._is_to_stop = False
        try:
            self.pid = self._begun(command, environ)
        except OSError:
            self._end()
            raise

    def _begun(self, command: Sequence[str], environ: Mapping[str, str]) -> int:
        try:
            return self._started(command, environ)
        except BlockingIOError:  # no more processes: the program comes first
            if self._bystander is None:
                raise
            self._dismiss()
            return self._started(command, environ)

    def _started(self, command: Sequence[str], environ: Mapping[str, str]) -> int:
        if not command[0]:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        try:
            return self._spawned(command[0], command, environ)
        except OSError as error:
            script = shutil.which(command[0]) if error.errno == errno.ENOEXEC else None
            if script is None:
                raise
            return self._spawned(_SHELL, [_SHELL, script, *command[1:]], environ)  # no `#!` line: as every shell does

    def _spawned(self, file: str, words: Sequence[str], environ: Mapping[str, str]) -> int:
        return os.posix_spawnp(
            file, list(words), dict(environ), setsigmask=self._mask_before, setsigdef=_IGNORED_BY_PYTHON
        )

    def wait(self, look: Callable[[], None], *, every_seconds: float) -> int:
        """Its exit code, or 128 + signal; calls `look` from time to time meanwhile."""
        try:
            while True:
                received = signal.sigtimedwait(_PASSED_ON | {signal.SIGCHLD}, every_seconds)
                is_about_it = received is None or received.si_signo == signal.SIGCHLD
                changed, status = os.waitpid(self.pid, os.WNOHANG | (os.WUNTRACED if is_about_it else 0))
                if changed and not os.WIFSTOPPED(status):
                    break
                if changed:
                    self._stop_too(os.WSTOPSIG(status))
                if received is not None and not is_about_it:
                    self._pass_on(received)
                look()
        finally:
            self._end()
        code = os.waitstatus_to_exitcode(status)
        return code if code >= 0 else KILLED_BY - code

    def _end(self) -> None:
        while signal.sigtimedwait(_PASSED_ON, 0) is not None:
            pass  # it was for the program, which has ended
        signal.pthread_sigmask(signal.SIG_SETMASK, self._mask_before)
        self._dismiss()

    def _dismiss(self) -> None:
        if self._bystander is not None:
            self._bystander.dismiss()
        self._bystander = None

    def _pass_on(self, received: signal.struct_siginfo) -> None:
        if received.si_signo in (signal.SIGTSTP, signal.SIGCONT):
            self._is_to_stop = received.si_signo == signal.SIGTSTP
        if not self._has_reached_program(received) and not self._is_overtaken(received):
            os.kill(self.pid, received.si_signo)

    @staticmethod
    def _is_overtaken(received: signal.struct_siginfo) -> bool:
        """A stop that came meanwhile has taken the signal to go on from every process that had not heeded it yet."""
        return received.si_signo == signal.SIGCONT and signal.SIGTSTP in signal.sigpending()

    def _stop_too(self, number: int) -> None:
        """When it has stopped, not before: the waiting shell takes the terminal then, and the program must not read
        from it any more. One that ignores a stop, or that could not be continued, goes on, and so do we. At a
        terminal we also follow one that stops itself alone, as a shell does on `suspend`."""
        must_stop = self._is_to_stop or os.isatty(0)
        self._is_to_stop = False
        if not must_stop or signal.SIGCONT in signal.sigpending():  # which will be passed on
            return
        if number not in signal.sigpending():  # one that came to all of us was waited for, and so not obeyed
            os.kill(os.getpid(), number)
        before = signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
        signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def _has_reached_program(self, received: signal.struct_siginfo) -> bool:
        """Whether it was sent to the whole group, and the program is in it: `timeout`, say, makes another."""
        if self._bystander is None:
            is_from_kernel = received.si_code == _SENT_BY_KERNEL
            return is_from_kernel and received.si_signo != signal.SIGALRM  # a timer is ours alone
        return self._bystander.has_heard(received.si_signo) and os.getpgid(self.pid) == os.getpgrp()


def _a_bystander() -> SignalWitness | None:
    try:
        return SignalWitness()
    except OSError:
        return None
