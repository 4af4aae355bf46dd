"""Signals to processes that are shown: who may get one, and why not.

A process is held by a descriptor from the moment the question is asked: another one that got its pid meanwhile is not
hit.
"""

import os
import signal
from collections.abc import Sequence
from typing import NamedTuple

from ttmem.snapshot.sights.overview import ProcessRow

__all__ = ["SIGNALS", "Target", "release", "send", "targets_of"]

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGKILL, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGSTOP,
           signal.SIGCONT)  # fmt: skip


class Target(NamedTuple):
    """A process a signal is meant for; `refusal` says why it cannot get one."""

    row: ProcessRow
    descriptor: int = -1
    refusal: str = ""

    @property
    def text(self) -> str:
        return f"{self.row.pid} {self.row.user} {self.row.label}"


def targets_of(rows: Sequence[ProcessRow]) -> list[Target]:
    """Our own processes first, then others'."""
    uid = os.geteuid()
    return [_target(row, uid) for row in sorted(rows, key=lambda row: row.uid != uid)]


def _target(row: ProcessRow, uid: int) -> Target:
    if not row.is_visible:
        return Target(row, refusal="lives in a container whose pids are not known here")
    if row.state == "dead":
        return Target(row, refusal="has ended")
    if row.pid == os.getpid():
        return Target(row, refusal="is this monitor")
    if uid not in (0, row.uid):
        return Target(row, refusal=f"belongs to {row.user}, and only root may do that")
    try:
        return Target(row, os.pidfd_open(row.pid))
    except OSError as error:
        return Target(row, refusal=(error.strerror or str(error)).lower())


def send(targets: Sequence[Target], number: int) -> str:
    """Sends it to all that can get one, lets go of them, and says what came of it."""
    done: list[str] = []
    refused = [f"{target.row.pid} {target.refusal}" for target in targets if target.refusal]
    for target in targets:
        if target.refusal:
            continue
        try:
            signal.pidfd_send_signal(target.descriptor, number)
            done.append(str(target.row.pid))
        except OSError as error:
            refused.append(f"{target.row.pid} {(error.strerror or str(error)).lower()}")
    release(targets)
    said = [f"{signal.Signals(number).name} was sent to {', '.join(done)}"] if done else []
    return "; ".join([*said, *refused])


def release(targets: Sequence[Target]) -> None:
    for target in targets:
        if target.descriptor >= 0:
            os.close(target.descriptor)
