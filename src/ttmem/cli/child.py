"""A program run on behalf of the user: signals go through to it, and its end becomes ours."""

import os
import signal
from collections.abc import Callable, Mapping, Sequence

from ttmem.cli.exits import KILLED_BY

__all__ = ["Child"]

# What a user or a supervisor may send to us and means for the program. Stop and continue reach both of us by
# themselves, as does what the terminal sends.
_PASSED_ON = {
    signal.SIGHUP,
    signal.SIGINT,
    signal.SIGQUIT,
    signal.SIGTERM,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGWINCH,
}
_SENT_BY_KERNEL = 0x80  # si_code of a signal from the terminal: the program got it as well


class Child:
    """One running program. While it runs, signals are waited for and not handled: nothing can be missed."""

    def __init__(self, command: Sequence[str], environ: Mapping[str, str]) -> None:
        waited_for = _PASSED_ON | {signal.SIGCHLD}
        self._mask_before = signal.pthread_sigmask(signal.SIG_BLOCK, waited_for)
        try:
            self.pid = os.posix_spawnp(command[0], list(command), dict(environ), setsigmask=self._mask_before)
        except OSError:
            signal.pthread_sigmask(signal.SIG_SETMASK, self._mask_before)
            raise

    def wait(self, look: Callable[[], None], *, every_seconds: float) -> int:
        """Its exit code, or 128 + signal; calls `look` from time to time meanwhile."""
        try:
            while True:
                received = signal.sigtimedwait(_PASSED_ON | {signal.SIGCHLD}, every_seconds)
                ended, status = os.waitpid(self.pid, os.WNOHANG)
                if ended:
                    break
                if received is not None and received.si_signo != signal.SIGCHLD:
                    self._pass_on(received)
                look()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, self._mask_before)
        code = os.waitstatus_to_exitcode(status)
        return code if code >= 0 else KILLED_BY - code

    def _pass_on(self, received: signal.struct_siginfo) -> None:
        if received.si_code != _SENT_BY_KERNEL:
            os.kill(self.pid, received.si_signo)
