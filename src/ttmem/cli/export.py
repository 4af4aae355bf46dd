"""`ttmem export`: a recording in a format of another program."""

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from ttmem.cli.common.moments import moment_ns
from ttmem.cli.common.progress import Progress
from ttmem.cli.common.recordings import RecordingName, opened
from ttmem.errors import NameTaken

if TYPE_CHECKING:
    from ttmem.export.output import Output
    from ttmem.recording import Recording

__all__ = ["export"]

FORMATS = ("perfetto", "parquet", "csv", "speedscope")
_UNITS = {"parquet": "events read and written"}


class Window(NamedTuple):
    """The time that is asked for, on the clock since boot; None: from the beginning, to the end."""

    from_ns: int | None
    until_ns: int | None


@click.command(short_help="Write a recording for other programs.")
@click.argument("path", type=RecordingName(), metavar="RECORDING")
@click.option("--to", "form", type=click.Choice(FORMATS), required=True, help="The format.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), required=True, metavar="FILE", help="The file to write."
)
@click.option("--force", "is_forced", is_flag=True, help="Replace a file of that name.")
@click.option("--from", "from_text", metavar="WHEN", help="Begin at 14:03:07, +12.5s, peak, incident:PID-N or PHASE.")
@click.option("--until", "until_text", metavar="WHEN", help="End there.")
def export(
    *, path: Path, form: str, output: Path, is_forced: bool, from_text: str | None, until_text: str | None
) -> int:
    """Write RECORDING, or a time of it, in a format of another program.

    perfetto: a trace for ui.perfetto.dev. parquet, csv: one row for each allocation, with both its ends.
    speedscope: what was alive at each peak, by line, for speedscope.app.
    """
    from ttmem.export.output import Output

    if form == "parquet":
        from ttmem.export.parquet import check_duckdb

        check_duckdb()
    try:
        file = Output(output, is_forced=is_forced)
    except NameTaken as error:
        raise click.BadParameter(str(error), param_hint="-o") from error
    with file:
        recording = opened(path)
        window = _window(recording, from_text, until_text)
        with Progress(f"exporting {path.name}", total=recording.row_count, unit=_UNITS.get(form, "events")) as progress:
            recording.on_read = progress.advance
            said = _WRITERS[form](recording, file, window, progress)
    for trouble in recording.troubles:
        click.echo(f"ttmem: not exported, for it is damaged: {trouble}", err=True)
    from ttmem.view.texts import size_text

    click.echo(f"ttmem: {said} in {output} ({size_text(file.size_bytes)})", err=True)
    return 0


def _window(recording: "Recording", from_text: str | None, until_text: str | None) -> Window:
    from_ns = None if from_text is None else moment_ns(recording, from_text, hint="--from")
    until_ns = None if until_text is None else moment_ns(recording, until_text, hint="--until")
    if from_ns is not None and until_ns is not None and until_ns < from_ns:
        raise click.BadParameter(f"{until_text} is before {from_text}", param_hint="--until")
    return Window(from_ns, until_ns)


def _perfetto(recording: "Recording", file: "Output", window: Window, progress: Progress) -> str:
    from ttmem.export.perfetto import write_perfetto
    from ttmem.view.texts import plural

    done = write_perfetto(recording, file.write, from_ns=window.from_ns, until_ns=window.until_ns)
    if done.slot_ns:
        click.echo(
            f"ttmem: too many for a viewer: of each {done.slot_ns / 1e6:.3f} ms it has the lowest, highest and last",
            err=True,
        )
    if done.is_core_sampled:
        click.echo("ttmem: the fullest core is not shown at each of its changes: there are too many", err=True)
    return (
        f"{plural(done.point_count, 'point', 's')} of {plural(done.counter_count, 'counter', 's')}, "
        f"{plural(done.slice_count, 'slice', 's')}, {plural(done.instant_count, 'instant', 's')}"
    )


def _csv(recording: "Recording", file: "Output", window: Window, progress: Progress) -> str:
    from ttmem.export.life_rows import LifeRows
    from ttmem.view.texts import plural

    rows = LifeRows(recording, from_ns=window.from_ns, until_ns=window.until_ns)
    for part in rows.csv():
        file.write(part)
    return plural(rows.count, "row", "s")


def _parquet(recording: "Recording", file: "Output", window: Window, progress: Progress) -> str:
    from ttmem.export.life_rows import LifeRows
    from ttmem.export.parquet import write_parquet
    from ttmem.view.texts import plural

    rows = LifeRows(recording, from_ns=window.from_ns, until_ns=window.until_ns)
    read_count = progress.total
    progress.total *= 2  # read, and written
    write_parquet(rows, file.fresh, lambda share: progress.move(read_count + int(share * read_count)))
    return plural(rows.count, "row", "s")


def _speedscope(recording: "Recording", file: "Output", window: Window, progress: Progress) -> str:
    from ttmem.export.speedscope import write_speedscope
    from ttmem.view.texts import plural

    count = write_speedscope(recording, file.write, from_ns=window.from_ns, until_ns=window.until_ns)
    return plural(count, "profile", "s")


_WRITERS = {"perfetto": _perfetto, "parquet": _parquet, "csv": _csv, "speedscope": _speedscope}
