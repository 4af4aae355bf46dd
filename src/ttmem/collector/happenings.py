"""What happened when: processes that came and went, phases, and what the runtime refused. The newest are kept.

A phase that runs again and again within a second is one phase that goes on: else a loop would fill the hour with marks.
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ttmem.devices import Pool
from ttmem.snapshot.history import Mark
from ttmem.snapshot.values import TimeNs, replace

__all__ = ["Happenings"]

_KEPT = 4096
_TOLD = 1024  # at once
_PAUSE_NS = 1_000_000_000  # shorter ones between two runs of a phase are not told

Rows = Iterable[Sequence[Any]]


class Happenings:
    """Turns what a ledger's sample tells into marks."""

    def __init__(self) -> None:
        self._marks: deque[Mark] = deque(maxlen=_KEPT)
        self._is_live: dict[int, bool] = {}  # by the key of a process
        self._ended: dict[tuple[int, str], Mark] = {}  # phases that ended just now, by process and name
        self._running: dict[tuple[int, str], int] = {}  # how often a phase is open
        self._began: dict[tuple[int, str], Mark] = {}  # of those that are

    def take(self, processes: Rows, happenings: Rows) -> None:
        """Takes what is new; see `Ledger.sample` for the rows."""
        lives = list(processes)
        names = {key: (pid, label) for key, pid, label, *_ in lives}
        refused: dict[tuple[Any, ...], Mark] = {}
        for row in happenings:
            self._happened(row, names, refused)
        self._marks.extend(refused.values())
        known, self._is_live = self._is_live, {}
        for key, pid, label, is_live, started_ns, ended_ns in lives:
            if not pid:
                continue  # no process is known to have written that journal
            self._is_live[key] = is_live
            if key not in known and started_ns:
                self._marks.append(Mark(TimeNs(started_ns), "process_began", label, pid))
            if not is_live and known.get(key, True) and ended_ns:
                self._marks.append(Mark(TimeNs(ended_ns), "process_ended", label, pid))
                self._end_phases(key, ended_ns, pid)
        self._forget_strangers()

    def since(self, time_ns: int) -> tuple[Mark, ...]:
        """All that happened then or later, oldest first, and when the phases began that still run."""
        told = [mark for mark in (*self._marks, *self._ended.values()) if mark.time_ns >= time_ns]
        earlier = [mark for mark in self._began.values() if mark.time_ns < time_ns]
        return tuple(sorted((*earlier, *told), key=lambda mark: mark.time_ns)[-_TOLD:])

    def _happened(
        self, row: Sequence[Any], names: Mapping[int, tuple[int, str]], refused: dict[tuple[Any, ...], Mark]
    ) -> None:
        key, what, device, pool, figure, time_ns = row
        pid, label = names.get(key, (None, ""))
        if what == "phase_began":
            self._phase_began(key, str(figure), time_ns, pid)
        elif what == "phase_ended":
            self._phase_ended(key, str(figure), time_ns, pid)
        else:
            size = figure if what == "out_of_memory" else None
            mark = Mark(TimeNs(time_ns), what, label, pid, device, Pool.numbered(pool), size)
            before = refused.get((key, what, device, pool))
            refused[key, what, device, pool] = _together(before, mark) if before else mark

    def _phase_began(self, key: int, name: str, time_ns: int, pid: int | None) -> None:
        self._let_ended_go(time_ns)
        open_count = self._running.get((key, name), 0)
        self._running[key, name] = open_count + 1
        if self._ended.pop((key, name), None) is None and not open_count:
            self._began[key, name] = Mark(TimeNs(time_ns), "phase_began", name, pid)
            self._marks.append(self._began[key, name])

    def _phase_ended(self, key: int, name: str, time_ns: int, pid: int | None) -> None:
        open_count = self._running.pop((key, name), 1)
        if open_count > 1:
            self._running[key, name] = open_count - 1
            return
        self._ended[key, name] = Mark(TimeNs(time_ns), "phase_ended", name, pid)

    def _end_phases(self, key: int, time_ns: int, pid: int) -> None:
        """What ran in a process ends with it."""
        for owner, name in [of for of in self._running if of[0] == key]:
            del self._running[owner, name]
            self._began.pop((owner, name), None)
            self._marks.append(Mark(TimeNs(time_ns), "phase_ended", name, pid))

    def _forget_strangers(self) -> None:
        """Processes that nobody knows any more have no phases; what was told of them stays told."""
        self._marks.extend(mark for of, mark in self._ended.items() if of[0] not in self._is_live)
        self._ended = {of: mark for of, mark in self._ended.items() if of[0] in self._is_live}
        self._began = {of: mark for of, mark in self._began.items() if of[0] in self._is_live}
        self._running = {of: count for of, count in self._running.items() if of[0] in self._is_live}

    def _let_ended_go(self, time_ns: int) -> None:
        """What ended long enough ago has ended."""
        over = [of for of, mark in self._ended.items() if time_ns - mark.time_ns > _PAUSE_NS]
        for of in sorted(over, key=lambda of: self._ended[of].time_ns):
            self._began.pop(of, None)
            self._marks.append(self._ended.pop(of))


def _together(first: Mark, other: Mark) -> Mark:
    """Refusals of one kind on one chip within a second: whoever tries again and again is told once."""
    size = max(first.size_bytes or 0, other.size_bytes or 0) or None
    return replace(first, size_bytes=size, count=first.count + other.count)
