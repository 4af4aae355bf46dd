"""`ttmem record`: what happens to device memory, of one program or of all that is to be seen here, into a recording."""

import os
from pathlib import Path

import click

from ttmem.cli.common.amounts import duration, size

__all__ = ["record"]


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
    is_plain: bool,
    command: tuple[str, ...],
) -> int:
    """Record COMMAND and what it starts, as ttmem run does; without COMMAND everything this user may see, until Ctrl-C.

    What is recorded is read by ttmem report, also while it goes on. A killed recorder loses the last 100 ms at most.
    """
    from ttmem.cli.tracked_run.recording_run import LiveRecording, checked_output, record_until_interrupted

    if is_forced and is_continued:
        raise click.UsageError("--force replaces a recording and --append goes on with it: expected one of them")
    if command:
        if seconds is not None:
            raise click.UsageError("--for is for a recording without a COMMAND, which ends with its program")
        from ttmem.cli.run import run_tracked
        from ttmem.cli.tracked_run.child_journals import RecordingOrder

        path = checked_output(output, is_forced=is_forced, is_continued=is_continued)
        order = RecordingOrder(path, is_redacted, last_seconds, max_bytes)
        return run_tracked(
            command, label=label, directory=None, is_plain=is_plain, has_no_sites=False, has_summary=None, order=order
        )
    from ttmem.cli.program import raise_descriptor_limit
    from ttmem.collector import Collector
    from ttmem.sources import Places

    path = checked_output(output, is_forced=is_forced, is_continued=is_continued)
    raise_descriptor_limit()
    collector = Collector(Places.from_environment(os.environ, uid=os.geteuid()))
    recording = LiveRecording(
        path, collector, label=label, is_redacted=is_redacted, last_seconds=last_seconds, max_bytes=max_bytes
    )
    record_until_interrupted(recording, collector, seconds=seconds)
    recording.close()
    click.echo(f"ttmem: {recording.row_count:,} events in {path}; ttmem report {path}", err=True)
    return 0
