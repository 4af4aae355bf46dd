"""`ttmem check`: fails if a chip is fuller than it may be, or if something was refused; for scripts and CI."""

import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import click

from ttmem.analysis.limits import Amount, Limit, Verdict, Which, judged
from ttmem.cli.common import CROSSED, DONE, NEXT_STEP
from ttmem.cli.common.amounts import amount, duration, rate
from ttmem.cli.common.options import NO_DAEMON, SIMULATED, with_options
from ttmem.cli.common.request import Request, query
from ttmem.cli.demonstration.figures import figure_source
from ttmem.errors import NothingToRead
from ttmem.figures.source import FigureSource
from ttmem.snapshot import ProcessUsage, Snapshot
from ttmem.snapshot.codec import encoded
from ttmem.snapshot.values import SCHEMA, ChipName, time_text
from ttmem.view.table import clean, clipped
from ttmem.view.texts import device_word, label_text, plural, share_text, size_text

__all__ = ["IncidentLimit"]

_MOST = 5  # incidents that are listed, the newest


class IncidentLimit(NamedTuple):
    """Incidents of processes that run, and of those that ended within a time."""

    most: int
    total: int
    process_count: int
    refused: tuple[ProcessUsage, ...]
    devices: tuple[ChipName, ...]
    time_ns: int

    @classmethod
    def judged(cls, snapshot: Snapshot, most: int, since: float | None) -> "IncidentLimit":
        begin_ns = 0 if since is None else snapshot.time_ns - int(since * 1e9)
        processes = [one for one in snapshot.processes if one.is_live or (one.last_event_time_ns or 0) >= begin_ns]
        refused = tuple(process for process in processes if process.was_refused)
        count = sum(process.incident_count or process.refusal_count + process.clash_count for process in refused)
        devices = tuple(usage.device for usage in snapshot.devices)
        return cls(most, count, len(processes), refused, devices, snapshot.time_ns)

    @property
    def is_crossed(self) -> bool:
        return self.total > self.most

    def texts(self) -> Iterator[str]:
        """The newest incidents where there are too many, else how many there are."""
        if not self.is_crossed:
            yield f"{plural(self.total, 'incident', 's')} in {plural(self.process_count, 'process', 'es')}"
            return
        from ttmem.view.incidents.lines import lines_of, told_incidents, unkept_texts

        yield f"{plural(self.total, 'incident', 's')} > {self.most}"
        shown = told_incidents([(process, not process.is_live) for process in self.refused], self.time_ns)
        for line in lines_of(shown[:_MOST], self.devices, None, is_ascii=True):
            yield "".join(span.text for span in line)
        yield from (f" {text}" for text in unkept_texts(self.refused))

    def document(self) -> dict[str, Any]:
        return {
            "limit": self.most,
            "count": self.total,
            "crossed": self.is_crossed,
            "incidents": [
                {"pid": process.pid, "number": incident.number, "kind": incident.kind, "memory": incident.memory}
                for process in self.refused
                for incident in process.incidents
            ],
        }


_NOTHING = "no process reports: there is nothing to check"
_ENDED = "; limits are on what is in use now, peaks of programs that ended: ttmem ps --all"
_SECONDS = 3.0
_LOOK_COUNT = 12  # while growth is watched
_LABEL_MOST = 40
_FLAGS: dict[str, Which] = {
    "max_dram": "dram",
    "max_l1": "l1",
    "max_core": "core",
    "max_growth": "growth",
    "min_free": "free",
    "min_largest_free": "largest_free",
}


@click.command(short_help="Fail if a chip is too full, or something was refused.")
@click.option("--max-dram", callback=amount, metavar="AMOUNT", help="DRAM used of a chip: 90% or 10GiB.")
@click.option("--max-l1", callback=amount, metavar="AMOUNT", help="L1 used of a chip by buffers.")
@click.option("--max-core", callback=amount, metavar="AMOUNT", help="L1 in use now on the fullest core.")
@click.option("--max-growth", callback=rate, metavar="RATE", help="By which a pool of a chip grows: 1MiB/s, 64KiB/min.")
@click.option("--min-free", callback=amount, metavar="AMOUNT", help="DRAM of a chip that must be free.")
@click.option("--min-largest-free", callback=amount, metavar="AMOUNT", help="The same in one piece.")
@click.option(
    "--max-incidents",
    type=click.IntRange(min=0),
    metavar="N",
    help="Memory refused, clashes, unsafe replays: of processes that run, and of those that ended.",
)
@click.option(
    "--since",
    callback=duration,
    metavar="TIME",
    help="Of the ended only those that ended since: 10min, 2h (all).",
)
@click.option(
    "--seconds", type=click.FloatRange(min=0.1), default=_SECONDS, help=f"How long growth is watched ({_SECONDS:g})."
)
@click.option("-i", "--id", "devices", metavar="LIST", help="Only these chips, as ttmem ps -i takes them.")
@click.option("--json", "is_json", is_flag=True, help="One JSON document (docs/reference/check.md).")
@NO_DAEMON
@with_options(SIMULATED)
def check(
    *,
    seconds: float,
    devices: str | None,
    is_json: bool,
    is_alone: bool,
    is_demo: bool,
    chip_count: int | None,
    max_incidents: int | None,
    since: float | None,
    **amounts: Amount | None,
) -> int:
    """List the limits that are crossed, a line for each with the process that holds most; exit code 5 then.

    What is not known is listed on standard error, and crosses nothing. Exit code 1 if a limit could be judged on no
    chip.
    """
    limits = [Limit(_FLAGS[name], amount) for name, amount in amounts.items() if amount is not None]
    if not limits and max_incidents is None:
        raise click.UsageError("say what to check: --max-dram, --max-l1, --max-core, --max-incidents, ...")
    if since is not None and max_incidents is None:
        raise click.UsageError("--since goes with --max-incidents")
    is_watching = any(limit.which == "growth" for limit in limits)
    with figure_source(is_alone=is_alone, is_demo=is_demo, chip_count=chip_count, is_following=is_watching) as source:
        request = Request(devices=devices, is_with_ended=max_incidents is not None)
        watched, is_running = _watch(source, request, seconds if is_watching else 0.0)
    verdicts = list(judged(limits, watched)) if is_running else []  # a chip without a process is within any limit
    incidents = None if max_incidents is None else IncidentLimit.judged(watched[-1], max_incidents, since)
    if incidents and not incidents.process_count:
        raise NothingToRead(f"{_NOTHING}; {NEXT_STEP}")
    if limits and not verdicts and not (incidents and incidents.is_crossed):
        raise NothingToRead(f"{_NOTHING}{'' if is_running else _ENDED}; {NEXT_STEP}")
    if is_json:
        document = _document(verdicts, watched[-1])
        if incidents:
            document |= {"ok": document["ok"] and not incidents.is_crossed, "incidents": incidents.document()}
        click.echo(encoded(document, is_pretty=sys.stdout.isatty()).decode())
    else:
        _show(verdicts)
        for line in incidents.texts() if incidents else ():
            click.echo(line)
    for error in watched[-1].errors:
        click.echo(f"ttmem: {error}", err=True)
    if any(verdict.is_crossed for verdict in verdicts) or (incidents and incidents.is_crossed):
        return CROSSED
    _refuse_unknown(limits, verdicts)
    return DONE


def _watch(source: FigureSource, request: Request, seconds: float) -> tuple[list[Snapshot], bool]:
    """One snapshot, or several over a number of seconds; and whether any process runs that reports."""
    began = time.monotonic()
    first = query(source, request, has_identity=False)
    if not first.reports(request):  # said at once: there is nothing that could grow
        raise NothingToRead(f"{_NOTHING}{_ENDED if first.snapshot.processes else ''}; {NEXT_STEP}")
    watched = [first.chosen]
    for number in range(1, _LOOK_COUNT if seconds else 1):
        due = began + seconds * number / (_LOOK_COUNT - 1)
        time.sleep(max(0.0, due - time.monotonic()))
        watched.append(query(source, request, has_identity=False).chosen)
    return watched, bool(first.snapshot.live)


def _refuse_unknown(limits: Sequence[Limit], verdicts: Sequence[Verdict]) -> None:
    """A limit of which nothing is known anywhere was not checked."""
    for limit in limits:
        mine = [verdict for verdict in verdicts if verdict.limit is limit]
        if all(verdict.is_crossed is None for verdict in mine):
            raise NothingToRead(f"{_flag(limit)}: not known of any chip")


def _flag(limit: Limit) -> str:
    return "--" + next(flag for flag, which in _FLAGS.items() if which == limit.which).replace("_", "-")


def _show(verdicts: Sequence[Verdict]) -> None:
    for verdict in verdicts:
        if verdict.is_crossed:
            click.echo(_line(verdict))
        elif verdict.is_crossed is None:
            click.echo(f"unknown: device {device_word(verdict.device)} {verdict.what}: {_gap(verdict)}", err=True)
    if verdicts and not any(verdict.is_crossed for verdict in verdicts):
        click.echo(_within(verdicts))


def _within(verdicts: Sequence[Verdict]) -> str:
    """2 devices within limits; of those of which something is not known nothing is claimed."""
    judged_devices = {verdict.device.number for verdict in verdicts}
    unknown = {verdict.device.number for verdict in verdicts if verdict.is_crossed is None}
    count = len(judged_devices - unknown)
    text = f"{count} device{'' if count == 1 else 's'} within limits"
    return text + (f", {len(unknown)} unknown" if unknown else "")


def _gap(verdict: Verdict) -> str:
    """What is missing to judge it."""
    if verdict.figure_bytes is None:
        return "not reported"
    return "processes that do not report hold some of it" if verdict.is_partial else "the total is not reported"


def _line(verdict: Verdict) -> str:
    """device 0 dram 11.0 GiB (92%) > 90% (10.7 GiB): most is held by pid 4002 grace server, 3.00 GiB."""
    device = verdict.device
    board = f" {clean(device.board)}" if device.board else ""
    sign = "<" if verdict.limit.is_least else ">"
    per = "/s" if verdict.limit.which == "growth" else ""
    figure = size_text(verdict.figure_bytes) + per
    text = f"device {device_word(device)}{board} {verdict.what} {figure} {sign} {_limit_text(verdict)}"
    if verdict.holder:
        process, held_bytes = verdict.holder
        verb = "grew most" if per else "holds most"
        name = clipped(label_text(clean(process.label)), _LABEL_MOST)
        text += f": pid {process.pid} ({clean(process.user)}) {name} {verb}, {size_text(held_bytes)}"
    return text


def _limit_text(verdict: Verdict) -> str:
    amount, size = verdict.limit.amount, size_text(verdict.limit_bytes)
    if amount.fraction is not None:
        return f"{share_text(amount.fraction)} ({size})"
    return size + ("/s" if verdict.limit.which == "growth" else "")


def _document(verdicts: Sequence[Verdict], snapshot: Snapshot) -> dict[str, Any]:
    rows = [_row(verdict) for verdict in verdicts]
    return {
        "schema": SCHEMA,
        "time": time_text(snapshot.time_ns),
        "ok": not any(row["crossed"] for row in rows),
        "verdicts": rows,
    }


def _row(verdict: Verdict) -> dict[str, Any]:
    process, held_bytes = verdict.holder or (None, None)
    return {
        **verdict.device.names,
        "limit": _flag(verdict.limit).removeprefix("--"),
        "what": verdict.what,
        "figure": verdict.figure_bytes,
        "limit_bytes": verdict.limit_bytes,
        "crossed": verdict.is_crossed,
        "top_holder": process
        and {"pid": process.pid, "user": process.user, "label": process.label, "bytes": held_bytes},
    }
