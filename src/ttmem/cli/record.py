"""`ttmem record`: what happens to device memory, of one program or of all that is to be seen here, into a recording."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ttmem.cli.common.amounts import duration, size

if TYPE_CHECKING:
    from ttmem.cli.tracked_run.child_journals import RecordingOrder
    from ttmem.cli.tracked_run.chosen_journals import ChosenJournals
    from ttmem.cli.tracked_run.recording_run import LiveRecording
    from ttmem.collector import Collector
    from ttmem.sources import Places

__all__ = ["record"]


def _pids(context: click.Context, param: click.Parameter, value: str | None) -> tuple[int, ...]:
    words = [word.strip() for word in (value or "").split(",") if word.strip()]
    wrong = [word for word in words if not word.isdecimal() or not int(word)]
    if wrong or (value is not None and not words):
        raise click.BadParameter(f"{wrong[0] if wrong else value!r} is no pid: give one such as 4711", param=param)
    return tuple(map(int, words))


@click.command(short_help="Record what happens, for ttmem report.", context_settings={"allow_interspersed_args": False})
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    metavar="NAME",
    help="The recording: a directory NAME.ttmem.",
)
@click.option("--force", "is_forced", is_flag=True, help="Replace a recording of that name.")
@click.option("--append", "is_continued", is_flag=True, help="Go on with a recording of that name.")
@click.option("--label", metavar="TEXT", default="", help="The name it goes by in reports.")
@click.option("--redact", "is_redacted", is_flag=True, help="Write neither command lines nor paths.")
@click.option(
    "--last", "last_seconds", metavar="TIME", callback=duration, help="Keep at least the last TIME: 10min, 2h."
)
@click.option("--max-size", "max_bytes", metavar="SIZE", callback=size, help="Keep it about that small: 2GiB.")
@click.option("--for", "seconds", metavar="TIME", callback=duration, help="End after TIME (without a COMMAND).")
@click.option("--pid", "pids", metavar="PID[,PID]", callback=_pids, help="Only these processes, until they have ended.")
@click.option("--mark", hidden=True, default="", help="With --pid: also all that carry this mark of a run.")
@click.option("--orders", "is_ordered", hidden=True, is_flag=True, help="With --pid: orders on standard input.")
@click.option("--no-hook", "is_plain", is_flag=True, help="Load nothing into it: only its own reports count.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def record(
    *,
    output: Path,
    is_forced: bool,
    is_continued: bool,
    label: str,
    is_redacted: bool,
    last_seconds: float | None,
    max_bytes: int | None,
    seconds: float | None,
    pids: tuple[int, ...],
    mark: str,
    is_ordered: bool,
    is_plain: bool,
    command: tuple[str, ...],
) -> int:
    """Record COMMAND and what it starts, as ttmem run does; without COMMAND everything this user may see, until Ctrl-C.
    With --pid the processes named, from now on, with what they hold already.

    What is recorded is read by ttmem report, also while it goes on. A killed recorder loses the last 100 ms at most.
    """
    from ttmem.cli.tracked_run.child_journals import RecordingOrder
    from ttmem.cli.tracked_run.recording_run import (
        LiveRecording,
        checked_output,
        ended_by_ctrl_c,
        record_until_interrupted,
    )

    if is_forced and is_continued:
        raise click.UsageError("--force replaces a recording and --append goes on with it: expected one of them")
    if command:
        _refuse_beside_command(pids, seconds)
        path = checked_output(output, is_forced=is_forced, is_continued=is_continued)
        return _record_command(command, label, is_plain, RecordingOrder(path, is_redacted, last_seconds, max_bytes))
    from ttmem.cli.program import raise_descriptor_limit
    from ttmem.collector import Collector
    from ttmem.sources import Places

    raise_descriptor_limit()
    places = Places.from_environment(os.environ, uid=os.geteuid())
    collector = Collector(places)
    journals = _journals_of(places, collector, pids, mark) if pids else None
    path = checked_output(output, is_forced=is_forced, is_continued=is_continued)
    with ended_by_ctrl_c() as is_interrupted:
        recording = LiveRecording(
            path, collector, label=label, is_redacted=is_redacted, last_seconds=last_seconds, max_bytes=max_bytes
        )
        if is_ordered and journals is not None:
            _obey(recording, collector, journals)
            return 0
        _begin(recording, journals.catch_up if journals is not None else collector.wait_settled)
        record_until_interrupted(
            recording,
            journals.look if journals is not None else collector.scan,
            seconds=seconds,
            is_interrupted=is_interrupted,
            is_over=lambda: journals is not None and journals.is_over,
        )
        if journals is not None:
            journals.catch_up()
        recording.close()
    click.echo(f"ttmem: {recording.row_count:,} events in {path}; ttmem report {path}", err=True)
    return 0


def _refuse_beside_command(pids: tuple[int, ...], seconds: float | None) -> None:
    if pids:
        raise click.UsageError("--pid is for processes that run already; without it COMMAND is recorded")
    if seconds is not None:
        raise click.UsageError("--for is for a recording without a COMMAND, which ends with its program")


def _record_command(command: tuple[str, ...], label: str, is_plain: bool, order: "RecordingOrder") -> int:
    from ttmem.cli.run import run_tracked

    return run_tracked(
        command, label=label, directory=None, is_plain=is_plain, has_no_sites=False, has_summary=None, order=order
    )


def _begin(recording: "LiveRecording", catch_up: Callable[[], object]) -> None:
    """What is held by now counts; how it came about does not."""
    catch_up()
    recording.begin_here()


def _obey(recording: "LiveRecording", collector: "Collector", journals: "ChosenJournals") -> None:
    from ttmem.cli.tracked_run.recorder_orders import RecorderOrders

    _begin(recording, journals.catch_up)
    RecorderOrders(recording, collector, journals).serve()


def _journals_of(places: "Places", collector: "Collector", pids: tuple[int, ...], mark: str) -> "ChosenJournals":
    from ttmem.cli.tracked_run.chosen_journals import ChosenJournals

    return ChosenJournals(places, collector, pids, mark=mark)
