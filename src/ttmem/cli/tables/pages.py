"""How the table is to look, and the table as a picture."""

import os

import click

from ttmem.cli.screen import Screen
from ttmem.cli.tables.looks import Look
from ttmem.cli.tables.request import BANNER, Request
from ttmem.snapshot import ProcessUsage, Snapshot
from ttmem.sources.procfs import stat_of
from ttmem.view import Line
from ttmem.view.page import PageOptions
from ttmem.view.pages.ps import nothing_to_show, page, shown_processes

__all__ = ["check_picture", "listed_processes", "page_options", "table_lines", "write_picture"]

_PICTURE_COLUMNS = 120
_GENERATIONS = 1024  # a tree that changes while it is climbed must not hold us


def page_options(request: Request, screen: Screen | None = None, look: Look | None = None) -> PageOptions:
    """For a page on a screen; without one, for the order of processes alone."""
    return PageOptions(
        screen.width if screen else None,
        request.is_ascii or (screen is not None and not screen.is_unicode),
        is_with_ended=request.is_with_ended,
        is_kernels=request.is_kernels,
        order=request.order or "",
        banner=BANNER if request.made_up_count else "",
        parents=_parents(look.chosen.live) if look and request.is_tree else None,
    )


def table_lines(look: Look, options: PageOptions) -> list[Line]:
    """The table, or what to do if nothing reports."""
    has_something = look.snapshot.live or (options.is_with_ended and look.snapshot.ended)
    return page(look.chosen, options) if has_something else nothing_to_show(look.snapshot)


def listed_processes(request: Request, look: Look) -> list[ProcessUsage]:
    """Those that other forms tell of, in the order of the table."""
    return shown_processes(look.chosen, page_options(request))


def _parents(processes: tuple[ProcessUsage, ...]) -> dict[int, int]:
    """By pid: the nearest process above that is shown as well."""
    shown = {process.pid for process in processes if process.is_visible}
    return {pid: found for pid in shown if (found := _ancestor(pid, shown))}


def _ancestor(pid: int, shown: set[int]) -> int | None:
    for _ in range(_GENERATIONS):
        stat = stat_of(pid)
        if stat is None or stat.parent <= 0:
            return None
        pid = stat.parent
        if pid in shown:
            return pid
    return None


def check_picture(file: "str | os.PathLike[str]") -> None:
    """Says now what writing the picture would say later."""
    is_new = not os.path.exists(file)
    try:
        open(file, "ab").close()
    except OSError as error:
        raise click.FileError(str(file), error.strerror or "cannot be written") from error
    if is_new:
        os.unlink(file)


def write_picture(file: "str | os.PathLike[str]", snapshot: Snapshot, options: PageOptions) -> None:
    """The table as an SVG file, at most 120 columns wide."""
    from ttmem.view.picture import picture  # here, since most tables are for a terminal

    width = min(options.width or _PICTURE_COLUMNS, _PICTURE_COLUMNS)
    lines = page(snapshot, options._replace(width=width, is_ascii=False))
    text = picture(lines, title="ttmem ps")
    try:
        with open(file, "w", encoding="utf-8") as stream:
            stream.write(text)
    except OSError as error:
        raise click.FileError(str(file), error.strerror or "cannot be written") from error
