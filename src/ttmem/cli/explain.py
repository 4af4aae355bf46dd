"""`ttmem explain`: why memory ran out, who held it, and what would have helped."""

import os
import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import click

from ttmem.cli.common.options import NO_DAEMON
from ttmem.cli.common.recordings import named_recording, opened
from ttmem.cli.demonstration.figures import figure_source
from ttmem.collector import Collector
from ttmem.collector.recorded import KeptIncidents
from ttmem.errors import NothingToRead, WrongFile
from ttmem.figures.source import FigureSource
from ttmem.snapshot import DeviceUsage, ProcessUsage, Snapshot
from ttmem.snapshot.codec import encoded
from ttmem.snapshot.incidents import IncidentCopy
from ttmem.snapshot.values import SCHEMA, TimeNs, replace, time_text
from ttmem.sources import Places
from ttmem.view.page import PageOptions
from ttmem.view.screen import Screen
from ttmem.view.texts import looked_text, plural

if TYPE_CHECKING:
    from ttmem.analysis import Explanation
    from ttmem.snapshot.incidents import Incident, IncidentCopy

__all__ = ["Incidents", "explain", "explanation_of"]

_SETTLE_SECONDS = 2.0
_STEP_SECONDS = 0.002
_DEMO = "oom-fragmented"  # a workload
_EXPECTED = "expected a PID, a journal or a recording (without any the newest incident is explained)"


class JournalFile:
    """What one journal holds, read by its path and nothing else."""

    def __init__(self, path: str) -> None:
        real = os.path.realpath(path)
        try:
            facts = os.stat(real)
        except OSError as error:
            wrong = WrongFile if isinstance(error, FileNotFoundError) else NothingToRead
            raise wrong(f"{path}: {(error.strerror or str(error)).lower()}; {_EXPECTED}") from None
        self._collector = Collector(Places(uid=os.geteuid(), directory=os.path.dirname(real)))
        key, trouble = self._collector.ledger.attach(real, facts.st_dev, facts.st_ino)
        if not key:
            said = f"{path}: {trouble or 'cannot be opened'}"
            if real.endswith(".journal"):
                raise NothingToRead(f"{said}; ttmem explain without it shows the newest incident that can be read")
            raise WrongFile(f"{said}; {_EXPECTED}")

    def snapshot(self) -> Snapshot:
        """Its process, and the chips that one speaks of."""
        ledger = self._collector.ledger
        deadline = time.monotonic() + _SETTLE_SECONDS
        ledger.drain()
        found = self._collector.snapshot()
        while any(process.reason == "settling" for process in found.processes) and time.monotonic() < deadline:
            ledger.run(_STEP_SECONDS)
            found = self._collector.snapshot()
        return found

    def incident_copy(self, pid: int, number: int, *, key: int) -> IncidentCopy | None:
        """An incident with what was alive then."""
        return self._collector.incident_copy(pid, number, key=key)


Recorded = JournalFile | KeptIncidents


def _recorded(path: str) -> Recorded:
    """A journal, or a recording, which is a directory."""
    place = named_recording(Path(path))
    if not os.path.isdir(place):
        return JournalFile(path)
    found = KeptIncidents(place)
    if not found.snapshot().processes:
        opened(place)  # says why
    return found


_PID = re.compile(r"(\d+)(?:-(\d+))?")
_INCIDENT = re.compile(r"(?:([1-9]\d*)-)?([1-9]\d*)")


class Incidents(Protocol):
    """Who has the copies: a daemon or collector, or a file."""

    def incident_copy(self, pid: int, number: int, *, key: int) -> "IncidentCopy | None": ...


class _Subject(NamedTuple):
    """What was asked about."""

    pid: int | None
    path: str | None
    number: int | None


def _incident_word(context: click.Context, param: click.Parameter, value: str | None) -> tuple[int | None, int] | None:
    """N, or PID-N."""
    if value is None:
        return None
    found = _INCIDENT.fullmatch(value)
    if found is None:
        raise click.BadParameter(f"{value!r} is no incident: expected N or PID-N, such as 2 or 4711-2", param=param)
    return int(found[1]) if found[1] else None, int(found[2])


@click.command(short_help="Show why memory ran out, and who held it.")
@click.argument("subject", required=False, metavar="[PID|FILE]")
@click.option(
    "--incident",
    "word",
    callback=_incident_word,
    metavar="[PID-]N",
    help="Incident N of it, or of process PID of a recording (default: the newest).",
)
@click.option("--all", "is_whole", is_flag=True, help="All recorded incidents, and all rows of their lists.")
@click.option("--json", "is_json", is_flag=True, help="One JSON document (docs/reference/explain.md).")
@click.option("-U", "--ascii", "--no-unicode", "is_ascii", is_flag=True, help="Maps and marks in ASCII.")
@click.option("-C", "--no-color", "is_colourless", is_flag=True, help="No colours (NO_COLOR does the same).")
@NO_DAEMON
@click.option("--demo", "is_demo", is_flag=True, help=f"Play {_DEMO}, which runs out of memory, and explain that.")
def explain(
    *,
    subject: str | None,
    word: tuple[int | None, int] | None,
    is_whole: bool,
    is_json: bool,
    is_ascii: bool,
    is_colourless: bool,
    is_alone: bool,
    is_demo: bool,
) -> int:
    """Show why memory ran out: what was asked, the holes, the fewest buffers to free, who held what.
    Of a clash: what is in the way of the circular buffers.

    PID is a process, living or ended (4711-2: its incident 2); FILE is a journal or a recording.
    Without either: the newest incident. Without any incident: how much room there is. Exit code 1 if nothing
    reports, or not that PID.
    """
    asked = _subject(subject, word)
    screen = Screen(sys.stdout, os.environ, has_colour=not is_colourless)
    if is_demo and subject is not None:
        raise click.UsageError(f"--demo explains a demo, not {subject}: leave one of them out")
    with figure_source(is_alone=is_alone, is_demo=is_demo, workload=_DEMO) as figures:
        source: FigureSource | Recorded = figures if asked.path is None else _recorded(asked.path)
        snapshot = source.snapshot()
        chosen = _processes(snapshot, asked)
        explained = [
            (process, explanation_of(process, incident, source))
            for process, incident in _incidents(chosen, asked, is_whole=is_whole)
        ]
    devices = _devices(snapshot, chosen, is_all=asked.pid is None and asked.path is None)
    if is_json:
        document = _document(explained, snapshot, chosen, devices)
        click.echo(encoded(document, is_pretty=screen.is_terminal).decode())
        return 0
    from ttmem.view.incidents.page import explanation_page, no_incident_page

    options = PageOptions(screen.width, is_ascii or not screen.is_unicode)
    screen.show(
        explanation_page(
            explained, _as_of_now(snapshot), options, is_whole=is_whole, chosen=chosen, path=asked.path or ""
        )
        if explained
        else no_incident_page(devices, chosen, options)
    )
    return 0


def _as_of_now(snapshot: Snapshot) -> Snapshot:
    """That of a recording is as old as its end; how long ago something was is counted to this moment."""
    return replace(snapshot, time_ns=TimeNs(max(snapshot.time_ns, time.time_ns())))


def explanation_of(process: ProcessUsage, incident: "Incident", source: Incidents) -> "Explanation":
    """With the copy of what was alive, or by the incident's own figures where there is no copy."""
    from ttmem.analysis import explain as explained
    from ttmem.snapshot.incidents import without_copy

    copy = source.incident_copy(process.pid, incident.number, key=process.key)
    copy = copy or without_copy(process.pid, incident)
    runs = [phase.run_count for phase in process.phases if phase.name == incident.phase]
    is_newest = not incident.launches_since  # else the phase may have run again
    return explained(copy, phase_run=max(runs) if runs and is_newest else None)


def _subject(text: str | None, word: tuple[int | None, int] | None) -> _Subject:
    pid, number = word or (None, None)
    found = _PID.fullmatch(text or "")
    if found is None:
        return _Subject(pid, text, number)
    if (found[2] and number is not None and int(found[2]) != number) or (pid is not None and int(found[1]) != pid):
        raise click.UsageError(
            f"{text} and --incident {number if pid is None else f'{pid}-{number}'} contradict each other"
        )
    return _Subject(int(found[1]), None, int(found[2]) if found[2] else number)


def _processes(snapshot: Snapshot, asked: _Subject) -> Sequence[ProcessUsage]:
    if asked.pid is not None:
        found = [process for process in snapshot.processes if asked.pid in (process.pid, process.claimed_pid)]
        if not found:
            if asked.path is not None:
                raise click.BadParameter(f"{asked.path} has no process {asked.pid}", param_hint="--incident")
            text = f"no process {asked.pid} reports, and there is no journal of it"
            if not snapshot.processes:
                raise NothingToRead(f"{text}; no process reports")
            known = ", ".join(str(process.pid) for process in snapshot.processes[:8])
            raise NothingToRead(f"{text}; known: {known}")
        return found
    if not snapshot.processes:
        theirs = f"; {plural(len(snapshot.foreign), 'place', 's')} of other users may not be read"
        raise NothingToRead(
            f"no process reports ({looked_text(snapshot.source, snapshot.places)})"
            f"{theirs if snapshot.foreign else ''}"
            "; a program that ended can be explained if it was started by `ttmem run -- COMMAND`"
        )
    return snapshot.processes


def _incidents(
    chosen: Sequence[ProcessUsage], asked: _Subject, *, is_whole: bool
) -> "list[tuple[ProcessUsage, Incident]]":
    """Those that are to be explained: the newest, or all, the newest first."""
    recorded = [(process, incident) for process in chosen for incident in process.incidents]
    found = [one for one in recorded if asked.number is None or one[1].number == asked.number]
    if asked.number is not None and not found:
        names = ", ".join(f"{process.pid}-{incident.number}" for process, incident in recorded[-8:])
        raise click.BadParameter(
            f"incident {asked.number} is not recorded; recorded: {names}"
            if names
            else "no incident is recorded: leave out --incident",
            param_hint="--incident",
        )
    found.sort(key=lambda one: (one[1].time_ns, one[0].key, one[1].number), reverse=True)
    return found if is_whole else found[:1]


def _devices(snapshot: Snapshot, chosen: Sequence[ProcessUsage], *, is_all: bool) -> Sequence[DeviceUsage]:
    if is_all:
        return snapshot.devices
    numbers = {held.device.number for process in chosen for held in process.devices}
    return [usage for usage in snapshot.devices if usage.device.number in numbers]


def _document(
    explained: "Sequence[tuple[ProcessUsage, Explanation]]",
    snapshot: Snapshot,
    chosen: Sequence[ProcessUsage],
    devices: Sequence[DeviceUsage],
) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "time": time_text(snapshot.time_ns),
        "explanations": [one for _, one in explained],
        "processes": [
            {
                "pid": process.pid,
                "label": process.label,
                "state": process.state,
                "path": process.path,
                "incident_count": process.incident_count,
                "listed_incidents": [incident.number for incident in process.incidents],
            }
            for process in chosen
        ],
        "devices": [_room(usage) for usage in devices],
    }


def _room(usage: DeviceUsage) -> dict[str, Any]:
    blocks = {
        pool.pool.word: {"largest_free": pool.largest_free_bytes, "largest_free_per_bank": pool.largest_free_bank_bytes}
        for pool in usage.pools
        if not pool.is_planned
    }
    return {
        **usage.device.names,
        "headroom": usage.headroom_bytes,
        "blocks": blocks,
        "fullest_core": {"core": usage.fullest_core, "used": usage.fullest_core_bytes, "total": usage.core_bytes},
        "planned": usage.planned_core_bytes,
    }
