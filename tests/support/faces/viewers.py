"""Viewers of one incident of a real program: at all times, with a daemon and without."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tests.support.processes.programs import a_command
from tests.support.server.server_serving import a_daemon
from tests.support.timing.waiting import wait_until
from ttmem.figures.source import FigureSource
from ttmem.snapshot import TimeNs, replace
from ttmem.snapshot.incidents import IncidentCopy

TOLD_COUNT = 13  # by told_by_all
WRAP_EVENTS = 200_000  # with so many records every ring is wrapped
NO_SETTINGS: Mapping[str, str] = {}


class Viewer:
    """Somebody who looks for himself, or asks a daemon."""

    def __init__(self, journals: Path, *, has_daemon: bool) -> None:
        self.looking = FigureSource(
            {"TTMEM_DIR": str(journals)}, uid=os.geteuid(), has_daemon=has_daemon, is_following=True
        )
        self.has_daemon = has_daemon

    def told(self, pid: int) -> Any:
        """All but times, which every viewer works out from the journal's clock for itself."""
        [process] = self.looking.snapshot().processes
        assert self.looking.is_collecting != self.has_daemon
        incidents = [replace(one, time_ns=TimeNs(0)) for one in process.incidents]
        copy = self.looking.incident_copy(pid, 1)
        return incidents, process.incident_count, process.refusal_count, timeless(copy)


def timeless(copy: IncidentCopy | None) -> IncidentCopy:
    assert copy is not None
    entries = tuple(replace(entry, time_ns=TimeNs(0)) for entry in copy.entries)
    incident = replace(copy.incident, time_ns=TimeNs(0))
    return replace(copy, incident=incident, entries=entries)


def told_by_all(command: Sequence[str], directory: Path, settings: Mapping[str, str] = NO_SETTINGS) -> Iterator[Any]:
    """What viewers are told who look for themselves and who ask a daemon: two of before, two of after and two more; the
    first four again after the death, two of then, and one who asks a daemon of then. The program meets us before and
    after its incident."""
    with ExitStack() as stack:
        daemon = stack.enter_context(a_daemon(directory=directory))
        journals = directory / "j"

        def two_viewers() -> list[Viewer]:
            viewers = [Viewer(journals, has_daemon=has_daemon) for has_daemon in (False, True)]
            for viewer in viewers:
                stack.enter_context(viewer.looking)
            return viewers

        program = stack.enter_context(a_command(command, journals, **settings))
        program.arrive()
        early = two_viewers()
        for viewer in early:
            [process] = viewer.looking.snapshot().processes
            assert (process.incidents, process.incident_count) == ((), 0)
        program.go_on()
        program.arrive()
        late = two_viewers()
        for viewer in (*early, *late, *two_viewers()):
            yield viewer.told(program.pid)
        program.process.kill()
        program.process.wait()
        wait_until(lambda: not any(viewer.looking.snapshot().live for viewer in early))
        for viewer in (*early, *late, *two_viewers()):
            yield viewer.told(program.pid)
        assert daemon.terminate() == 0
        daemon.restart()
        yield two_viewers()[1].told(program.pid)
