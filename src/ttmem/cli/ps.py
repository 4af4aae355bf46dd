"""`ttmem ps`, and `ttmem` without a verb: who holds what, in the form that is asked for, once or repeatedly.

A form gets every answer and writes it. What a form needs is loaded when it writes: the others do without.
"""

import gc
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import NoReturn, Protocol, TextIO

import click

from ttmem.cli.common import DONE, NOTHING_READ
from ttmem.cli.common.options import table_command
from ttmem.cli.common.request import BANNER, STANDARD_NAME, Looked, QueryResult, Request, how_to_explain, query
from ttmem.errors import TtmemError
from ttmem.figures.source import FigureSource
from ttmem.snapshot import ProcessUsage, Snapshot
from ttmem.sources.procfs import stat_of
from ttmem.view import Line
from ttmem.view.page import PageOptions
from ttmem.view.pages.ps import nothing_to_show, page, shown_processes
from ttmem.view.screen import Screen

__all__ = ["Form", "StandardForm", "TableForm", "answer", "check_picture", "ps", "write_picture"]

LEVELS_NAME = "TTMEM_MONITOR_LEVELS"
_STORY = """Show which process holds what on which device.

Asks the daemon (ttmem serve) if one runs. Otherwise reads the journals of reporting processes in $TTMEM_DIR, or where
they lie by default: nothing has to run first. Without a verb, `ttmem` takes the same flags.
"""


class Form(Protocol):
    """Writes looks."""

    has_identity: bool  # whether what the driver knows is part of it

    def write(self, result: QueryResult, *, is_again: bool) -> None: ...


StandardForm = Callable[[Request, Screen, TextIO], Form]  # where no form is asked for


def screen_for(request: Request, stream: TextIO | None, environ: Mapping[str, str]) -> Screen:
    return Screen(
        stream,
        environ,
        has_colour=not request.is_colourless and request.colours != "never",
        is_coloured=request.colours == "always",
        is_light=request.is_light,
    )


@contextmanager
def opened(request: Request) -> Iterator[TextIO | None]:
    """Where the answer goes: standard output, or the file of -f; its name is printed if we have chosen it."""
    name = request.filename
    if name is None or name == "-":
        yield sys.stdout
        return
    if name == STANDARD_NAME:
        name = f"ttmem_{datetime.now():%Y-%m-%d_%H-%M-%S}.{'json' if request.has_json else 'txt'}"
    try:
        stream = open(name, "w", encoding="utf-8")  # noqa: SIM115 closed below
    except OSError as error:
        raise click.FileError(name, error.strerror or "cannot be written") from error
    try:
        with stream:
            yield stream
    except OSError as error:
        if error.filename is not None or isinstance(error, BrokenPipeError):
            raise
        raise TtmemError(f"{name} cannot be written: {error.strerror}") from error
    if request.filename == STANDARD_NAME:
        click.echo(name)


def form_of(request: Request, screen: Screen, stream: TextIO | None, standard: StandardForm) -> Form:
    """What was asked for."""
    assert stream is not None  # the screen has said so
    if request.has_json:
        return JsonForm(screen, stream)
    if request.memory_fields is not None or request.app_fields is not None:
        return CsvRows(request, stream)
    if request.chosen_sections:
        return ReportForm(request, screen)
    if request.is_list:
        return ListForm(screen)
    return standard(request, screen, stream)


class JsonForm:
    """The whole snapshot as one document."""

    has_identity = True

    def __init__(self, screen: Screen, stream: TextIO) -> None:
        self._screen, self._stream = screen, stream

    def write(self, result: QueryResult, *, is_again: bool) -> None:
        from ttmem.snapshot.codec import encoded
        from ttmem.view.pages.smi import smi_document

        is_pretty = self._screen.is_terminal and not is_again
        text = encoded(smi_document(result.chosen, result.telemetry), is_pretty=is_pretty)
        self._stream.write(text.decode() + "\n")
        self._stream.flush()


class CsvRows:
    """Some figures of chips, or of processes; the header once."""

    has_identity = True

    def __init__(self, request: Request, stream: TextIO) -> None:
        self._request, self._stream, self._form = request, stream, request.form
        self._memory = request.memory_question if request.memory_fields is not None else ()
        self._apps = request.app_question if request.app_fields is not None else ()
        self._has_header = self._form.has_header

    def write(self, result: QueryResult, *, is_again: bool) -> None:
        from ttmem.view.queries import UTILIZATION, app_rows, csv_header, csv_line, memory_rows

        if not is_again and any(name == UTILIZATION for name, _ in self._memory):
            click.echo(f"ttmem: {UTILIZATION} is not measured; launches counts the programs a chip was given", err=True)
        lines = []
        if self._has_header:
            lines.append(csv_header(self._memory, self._form) or csv_header(self._apps, self._form))
            self._has_header = False
        if self._memory:
            rows = memory_rows(result.chosen, result.telemetry)
            lines += [csv_line(self._memory, row, self._form) for row in rows]
        if self._apps:
            processes = listed_processes(self._request, result)
            apps = app_rows(result.chosen, processes, result.telemetry)
            lines += [csv_line(self._apps, app, self._form) for app in apps]
        self._stream.write("".join(line + "\n" for line in lines))
        self._stream.flush()
        for error in result.snapshot.errors if not is_again else ():
            click.echo(f"ttmem: {error}", err=True)


class ReportForm:
    """Everything as text."""

    has_identity = True

    def __init__(self, request: Request, screen: Screen) -> None:
        self._request, self._screen, self._sections = request, screen, request.chosen_sections

    def write(self, result: QueryResult, *, is_again: bool) -> None:
        from ttmem.view.pages.report import report

        processes = listed_processes(self._request, result)
        lines = report(result.chosen, processes, result.telemetry, self._sections)
        self._screen.frame(lines) if is_again else self._screen.show(lines)


class ListForm:
    """The chips by all their names."""

    has_identity = True

    def __init__(self, screen: Screen) -> None:
        self._screen = screen

    def write(self, result: QueryResult, *, is_again: bool) -> None:
        from ttmem.view.pages.device_list import device_list

        lines = device_list(result.chosen, result.telemetry, result.nameless, width=None)
        self._screen.frame(lines) if is_again else self._screen.show(lines)


class TableForm:
    """Who holds what, for people."""

    has_identity = False

    def __init__(self, request: Request, screen: Screen, stream: TextIO) -> None:
        self._request, self._screen = request, screen

    def write(self, result: QueryResult, *, is_again: bool) -> None:
        options = page_options(self._request, self._screen, result)
        if is_again:
            self._screen.frame(table_lines(result, options))
        elif result.reports(self._request):
            result.check_processes(self._request)
            self._screen.show(table_lines(result, options))
        else:
            demos = () if "TTMEM_DIR" in os.environ else _demos()
            screen_for(self._request, sys.stderr, os.environ).show(nothing_to_show(result.snapshot, demos))
            raise click.exceptions.Exit(NOTHING_READ)


def _demos() -> list[str]:
    """How to look at demos that run now."""
    from ttmem.cli.demonstration.directories import how_to_look, running_demos, usual_places

    return [how_to_look(directory) for directory in running_demos(usual_places())]


_PICTURE_COLUMNS = 120
_GENERATIONS = 1024  # a tree that changes while it is climbed must not hold us


def page_options(request: Request, screen: Screen | None = None, result: QueryResult | None = None) -> PageOptions:
    """For a page on a screen; without one, for the order of processes alone."""
    return PageOptions(
        screen.width if screen else None,
        request.is_ascii or (screen is not None and not screen.is_unicode),
        is_with_ended=request.is_with_ended,
        is_kernels=request.is_kernels,
        order=request.order or "",
        by=request.by or "",
        banner=BANNER if request.simulated_count else "",
        explaining=how_to_explain(os.environ, is_simulated=bool(request.simulated_count)),
        parents=_parents(result.chosen.live) if result and request.is_tree else None,
    )


def table_lines(result: QueryResult, options: PageOptions) -> list[Line]:
    """The table, or what to do if nothing reports."""
    has_something = result.snapshot.live or (options.is_with_ended and result.snapshot.ended)
    return page(result.chosen, options) if has_something else nothing_to_show(result.snapshot)


def listed_processes(request: Request, result: QueryResult) -> list[ProcessUsage]:
    """Those that other forms list, in the order of the table."""
    return shown_processes(result.chosen, page_options(request))


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


def answer(request: Request, standard: StandardForm = TableForm) -> int:
    """Does what was asked, in the standard form if none was; the exit code."""
    request.check()
    if request.levels or LEVELS_NAME in os.environ:
        _use_levels(request.levels)
    with opened(request) as stream:
        screen = screen_for(request, stream, os.environ)
        if request.is_memory_help or request.is_app_help:
            _list_fields(request, screen)
            return DONE
        form = form_of(request, screen, stream, standard)
        if request.simulated_count is None:
            _answer(request, form, screen, os.environ)
            return DONE
        from ttmem.cli.demonstration.show import orders_for
        from ttmem.cli.demonstration.simulated_chips import simulated_chips

        if not isinstance(form, TableForm):  # which says so itself
            click.echo(f"ttmem: {BANNER}", err=True)
        is_live = request.seconds is not None
        with simulated_chips(orders_for(request.simulated_count), os.environ, is_live=is_live) as environ:
            _answer(request._replace(is_alone=True), form, screen, environ)
    return DONE


def _answer(request: Request, form: Form, screen: Screen, environ: Mapping[str, str]) -> None:
    """Looks, and writes what was result."""
    seconds = request.seconds
    has_daemon, is_following = not request.is_alone, seconds is not None
    with FigureSource(environ, uid=os.geteuid(), has_daemon=has_daemon, is_following=is_following) as source:
        if seconds is not None:
            _repeat(source, request, form, screen, seconds)
        result = query(source, request, has_identity=form.has_identity)
    if request.picture_file:
        write_picture(request.picture_file, result.chosen, page_options(request, screen, result))
    else:
        form.write(result, is_again=False)
    result.check(request)


def write_once(request: Request, source: Looked) -> None:
    """The table of another source of figures."""
    if request.levels or LEVELS_NAME in os.environ:
        _use_levels(request.levels)
    screen = screen_for(request, sys.stdout, os.environ)
    TableForm(request, screen, sys.stdout).write(query(source, request, has_identity=False), is_again=False)


def _use_levels(levels: tuple[int, int, int] | None) -> None:
    """Those of the flag, else of the environment."""
    from ttmem.view.screen import levels_from, use_levels

    try:
        use_levels(levels or levels_from(os.environ[LEVELS_NAME]))
    except ValueError as error:
        click.echo(f"ttmem: {LEVELS_NAME}: {error}", err=True)


def _list_fields(request: Request, screen: Screen) -> None:
    from ttmem.view.queries import APP_FIELDS, MEMORY_FIELDS, field_list

    fields = field_list(MEMORY_FIELDS, width=None) if request.is_memory_help else ()
    screen.show([*fields, *(field_list(APP_FIELDS, width=None) if request.is_app_help else ())])


def _repeat(source: FigureSource, request: Request, form: Form, screen: Screen, seconds: float) -> NoReturn:
    """Answers every `seconds`, until interrupted."""
    gc.enable()
    due = time.monotonic()
    try:
        while True:
            form.write(query(source, request, has_identity=form.has_identity), is_again=True)
            due = max(due + seconds, time.monotonic())
            time.sleep(max(0.0, due - time.monotonic()))  # a look may take longer than the interval
    finally:
        screen.close()


ps = table_command(answer, name="ps", purpose="Show which process holds what on which device.", story=_STORY)
