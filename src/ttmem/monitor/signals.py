"""Signals to processes that are shown: who may get one, and why not.

A process is held by a descriptor from the moment the question is asked: another one that got its pid meanwhile is not
hit. Through that descriptor its start time and its user are compared with what the row says, when the question is asked
and again before the signal is sent; the question shows its command and user as the kernel has them, not as its
journal does.
"""

import os
import select
import signal
from collections.abc import Sequence
from typing import NamedTuple

from ttmem.snapshot.usage import ProcessUsage
from ttmem.sources import procfs
from ttmem.sources.procfs import user_name

__all__ = ["SIGNALS", "Target", "release", "send", "targets_of"]

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGKILL, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGSTOP,
           signal.SIGCONT)  # fmt: skip

_START_TOLERANCE_NS = 1_000_000_000  # of a start that was read as a time of day: clocks are set


class Target(NamedTuple):
    """A process a signal is meant for; `refusal` says why it cannot get one."""

    row: ProcessUsage
    descriptor: int = -1
    refusal: str = ""
    user: str = ""  # as the kernel says
    command: str = ""  # likewise

    @property
    def text(self) -> str:
        if self.command or self.user:
            return f"{self.row.pid} {self.user} {self.command}"
        return f"{self.name} {self.row.user} {self.row.label}"

    @property
    def name(self) -> str:
        """How notes call it."""
        return str(self.row.pid or "?")


class _KernelFacts(NamedTuple):
    """What the kernel says of a process."""

    stat: procfs.Stat
    uids: procfs.Uids
    command: str

    @classmethod
    def of(cls, pid: int) -> "_KernelFacts | None":
        stat, uids = procfs.stat_of(pid), procfs.uids_of(pid)
        return cls(stat, uids, procfs.command_of(pid)) if stat and uids else None

    def refusal(self, row: ProcessUsage) -> str:
        """Why it is not the process of a row; empty if it is. A journal of root's may be any user's process."""
        if not self._began_with(row):
            return "is another process by now"
        if row.uid != 0 and row.uid not in self.uids:
            return f"belongs to {user_name(self.uids.effective)} by now, not to {row.user}"
        return ""

    def _began_with(self, row: ProcessUsage) -> bool:
        if row.start_ticks is not None:
            return self.stat.start_ticks == row.start_ticks
        if row.source != "runtime" or row.start_time_ns is None:
            return False
        return abs(procfs.start_time_ns(self.stat) - row.start_time_ns) <= _START_TOLERANCE_NS


def targets_of(rows: Sequence[ProcessUsage]) -> list[Target]:
    """Our own processes first, then others'."""
    uid = os.geteuid()
    return [_target(row, uid) for row in sorted(rows, key=lambda row: row.uid != uid)]


def _target(row: ProcessUsage, uid: int) -> Target:
    if not row.pid:
        return Target(row, refusal="is unverified: no process is known to have written its journal")
    if not row.is_visible:
        return Target(row, refusal="lives in a container whose pids are not known here")
    if row.state == "ended":
        return Target(row, refusal="has ended")
    if row.pid == os.getpid():
        return Target(row, refusal="is this monitor")
    if uid not in (0, row.uid):
        return Target(row, refusal=f"belongs to {row.user}, and only root may do that")
    try:
        descriptor = os.pidfd_open(row.pid)
    except OSError as error:
        return Target(row, refusal=(error.strerror or str(error)).lower())
    found, refusal = _checked(row, descriptor)
    if found is None or refusal:
        os.close(descriptor)
        return Target(row, refusal=refusal)
    return Target(row, descriptor, user=user_name(found.uids.effective), command=found.command or row.command)


def _checked(row: ProcessUsage, descriptor: int) -> tuple[_KernelFacts | None, str]:
    """What the kernel says of the process behind a descriptor, and why it is not that of the row. Its pid was its own
    while it was asked for if it still lives afterwards."""
    found = _KernelFacts.of(row.pid)
    if found is None or _has_ended(descriptor):
        return None, "has ended"
    return found, found.refusal(row)


def _has_ended(descriptor: int) -> bool:
    """Asked of the descriptor: a process whose first thread has ended appears as a zombie, and lives."""
    end = select.poll()
    end.register(descriptor, select.POLLIN)
    return bool(end.poll(0))


def send(targets: Sequence[Target], number: int) -> str:
    """Sends it to all that can get one, lets go of them, and says what came of it."""
    done: list[str] = []
    refused = [f"{target.name} {target.refusal}" for target in targets if target.refusal]
    for target in targets:
        if target.refusal:
            continue
        _, refusal = _checked(target.row, target.descriptor)
        if refusal:
            refused.append(f"{target.name} {refusal}")
            continue
        try:
            signal.pidfd_send_signal(target.descriptor, number)
            done.append(target.name)
        except OSError as error:
            refused.append(f"{target.name} {(error.strerror or str(error)).lower()}")
    release(targets)
    said = [f"{signal.Signals(number).name} was sent to {', '.join(done)}"] if done else []
    return "; ".join([*said, *refused])


def release(targets: Sequence[Target]) -> None:
    for target in targets:
        if target.descriptor >= 0:
            os.close(target.descriptor)
