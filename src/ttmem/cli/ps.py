"""`ttmem ps`: one table of who holds what, once or again and again."""

import json
import os
import sys
import time
from pathlib import Path
from typing import NoReturn

import click

from ttmem.cli.exits import NOTHING_READ
from ttmem.cli.screen import Screen
from ttmem.daemon.asking.looking import Looking
from ttmem.errors import NothingToRead, SelectionError
from ttmem.snapshot import Selection, Snapshot, document, selected
from ttmem.view import Line, PageOptions, nothing_to_show, page, picture
from ttmem.view.spans import clean


@click.command(short_help="Show which process holds what on which device.")
@click.option("--json", "is_json", is_flag=True, help="One JSON document (docs/json.md); with --watch one per line.")
@click.option("-a", "--all", "is_with_ended", is_flag=True, help="Also processes that have ended.")
@click.option(
    "-l",
    "--loop",
    "--watch",
    "interval",
    type=click.FloatRange(min=0.05),
    is_flag=False,
    flag_value=1.0,
    metavar="[SECONDS]",
    help="Again every so many seconds (1), until interrupted.",
)
@click.option(
    "-i", "--id", "devices", metavar="LIST", help="Only these devices: indexes, unique ids or names, comma between."
)
@click.option("-k", "--kernels", "is_kernels", is_flag=True, help="What programs do: kernels by core, ring, caches.")
@click.option("-u", "--user", "users", multiple=True, metavar="NAME", help="Only processes of this user.")
@click.option("-p", "--pid", "pids", multiple=True, type=int, metavar="PID", help="Only this process.")
@click.option("-U", "--ascii", "--no-unicode", "is_ascii", is_flag=True, help="Bars and marks in ASCII.")
@click.option("-C", "--no-color", "is_colourless", is_flag=True, help="No colours (NO_COLOR does the same).")
@click.option("--no-daemon", "is_alone", is_flag=True, help="Read the journals here, whether a daemon runs or not.")
@click.option(
    "--picture", "picture_file", type=click.Path(dir_okay=False, path_type=Path), help="Write the table as SVG."
)
def ps(
    *,
    is_json: bool,
    is_with_ended: bool,
    interval: float | None,
    devices: str | None,
    is_kernels: bool,
    users: tuple[str, ...],
    pids: tuple[int, ...],
    is_ascii: bool,
    is_colourless: bool,
    is_alone: bool,
    picture_file: Path | None,
) -> int:
    """Show which process holds what on which device.

    Asks the daemon (ttmem serve) if one runs. Otherwise reads the journals of reporting processes in $TTMEM_DIR, or
    where they lie by default: nothing has to run first.
    """
    words = tuple(word.strip() for word in (devices or "").split(",") if word.strip())
    selection = Selection(words, users, pids, is_with_ended)
    screen = Screen(sys.stdout, os.environ, has_colour=not is_colourless)
    options = PageOptions(
        screen.width, is_ascii or not screen.is_unicode, is_with_ended=is_with_ended, is_kernels=is_kernels
    )
    is_following = interval is not None
    with Looking(os.environ, uid=os.geteuid(), has_daemon=not is_alone, is_following=is_following) as looking:
        if interval is not None:
            watch(looking, selection, screen, options, interval=interval, is_json=is_json)
        snapshot = looking.snapshot()
    chosen = _chosen(snapshot, selection)
    if picture_file:
        write_picture(picture_file, chosen, options)
    elif is_json:
        click.echo(_json(chosen, is_pretty=screen.is_terminal))
    elif snapshot.processes:
        screen.show(_lines(snapshot, chosen, options))
    else:
        Screen(sys.stderr, os.environ, has_colour=not is_colourless).show(nothing_to_show(snapshot))
        return NOTHING_READ
    return _judged(snapshot, chosen, selection)


def watch(
    looking: Looking, selection: Selection, screen: Screen, options: PageOptions, *, interval: float, is_json: bool
) -> NoReturn:
    """Shows the figures every so many seconds, until interrupted."""
    due = time.monotonic()
    try:
        while True:
            snapshot = looking.snapshot()
            chosen = _chosen(snapshot, selection)
            if is_json:
                click.echo(_json(chosen, is_pretty=False))
                sys.stdout.flush()
            else:
                screen.frame(_lines(snapshot, chosen, options._replace(width=screen.width)))
            due = max(due + interval, time.monotonic())
            time.sleep(max(0.0, due - time.monotonic()))  # a look may take longer than the interval
    finally:
        screen.close()


def check_picture(file: Path) -> None:
    """Says now what writing the picture would say later."""
    is_new = not file.exists()
    try:
        file.open("ab").close()
    except OSError as error:
        raise click.FileError(str(file), error.strerror or "cannot be written") from error
    if is_new:
        file.unlink()


def write_picture(file: Path, snapshot: Snapshot, options: PageOptions) -> None:
    """The table as an SVG file, at most 120 columns wide."""
    lines = page(snapshot, options._replace(width=min(options.width or 120, 120), is_ascii=False))
    try:
        file.write_text(picture(lines, title="ttmem ps"), encoding="utf-8")
    except OSError as error:
        raise click.FileError(str(file), error.strerror or "cannot be written") from error


def _lines(snapshot: Snapshot, chosen: Snapshot, options: PageOptions) -> list[Line]:
    has_something = snapshot.live or (options.is_with_ended and snapshot.ended)
    return page(chosen, options) if has_something else nothing_to_show(snapshot)


def _json(snapshot: Snapshot, *, is_pretty: bool) -> str:
    separators = None if is_pretty else (",", ":")
    return json.dumps(document(snapshot), indent=2 if is_pretty else None, separators=separators)


def _chosen(snapshot: Snapshot, selection: Selection) -> Snapshot:
    try:
        return selected(snapshot, selection)
    except SelectionError as error:
        raise click.BadParameter(str(error), param_hint="-i") from error


def _judged(snapshot: Snapshot, chosen: Snapshot, selection: Selection) -> int:
    """The exit code, when figures were asked for that nobody reports."""
    if not snapshot.processes:
        theirs = f"; {len(snapshot.foreign)} of other users may not be read" if snapshot.foreign else ""
        notes = "".join(f"; {finding.path}: {finding.text}" for finding in snapshot.findings)
        where = ", ".join(snapshot.places)
        raise NothingToRead(f"no process reports ({snapshot.source} looked in {where}){theirs}{clean(notes)}")
    if (selection.users or selection.pids) and not chosen.processes:
        asked = ", ".join([*selection.users, *map(str, selection.pids)])
        raise NothingToRead(f"{asked}: no such process reports now")
    return 0
