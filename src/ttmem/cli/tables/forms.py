"""The forms an answer can have. Each is told every look, and writes it: once, or again and again.

What a form needs is loaded when it writes: the others do without.
"""

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Protocol, TextIO

import click

from ttmem.cli.exits import NOTHING_READ
from ttmem.cli.screen import Screen
from ttmem.cli.tables.looks import Look
from ttmem.cli.tables.request import STANDARD_NAME, Request
from ttmem.errors import TtmemError

__all__ = ["Form", "StandardForm", "Table", "form_of", "opened", "screen_for"]


class Form(Protocol):
    """Writes looks."""

    has_identity: bool  # whether what the driver knows is part of it

    def write(self, look: Look, *, is_again: bool) -> None: ...


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
    """Where the answer goes: standard output, or the file of -f; its name is told if we have chosen it."""
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
        return Json(screen, stream)
    if request.memory_fields is not None or request.app_fields is not None:
        return Csv(request, stream)
    if request.chosen_sections:
        return Report(request, screen)
    if request.is_list:
        return List(screen)
    return standard(request, screen, stream)


class Json:
    """The whole snapshot as one document."""

    has_identity = True

    def __init__(self, screen: Screen, stream: TextIO) -> None:
        self._screen, self._stream = screen, stream

    def write(self, look: Look, *, is_again: bool) -> None:
        from ttmem.snapshot.codec import encoded
        from ttmem.view.pages.smi import smi_document

        is_pretty = self._screen.is_terminal and not is_again
        text = encoded(smi_document(look.chosen, look.telemetry), is_pretty=is_pretty)
        self._stream.write(text.decode() + "\n")
        self._stream.flush()


class Csv:
    """Some figures of chips, or of processes; the header once."""

    has_identity = True

    def __init__(self, request: Request, stream: TextIO) -> None:
        self._request, self._stream, self._form = request, stream, request.form
        self._memory = request.memory_question if request.memory_fields is not None else ()
        self._apps = request.app_question if request.app_fields is not None else ()
        self._has_header = self._form.has_header

    def write(self, look: Look, *, is_again: bool) -> None:
        from ttmem.cli.tables.pages import listed_processes
        from ttmem.view.queries import app_rows, csv_header, csv_line, memory_rows

        lines = []
        if self._has_header:
            lines.append(csv_header(self._memory, self._form) or csv_header(self._apps, self._form))
            self._has_header = False
        if self._memory:
            rows = memory_rows(look.chosen, look.telemetry)
            lines += [csv_line(self._memory, row, self._form) for row in rows]
        if self._apps:
            processes = listed_processes(self._request, look)
            apps = app_rows(look.chosen, processes, look.telemetry)
            lines += [csv_line(self._apps, app, self._form) for app in apps]
        self._stream.write("".join(line + "\n" for line in lines))
        self._stream.flush()
        for error in look.snapshot.errors if not is_again else ():
            click.echo(f"ttmem: {error}", err=True)


class Report:
    """Everything as text."""

    has_identity = True

    def __init__(self, request: Request, screen: Screen) -> None:
        self._request, self._screen, self._sections = request, screen, request.chosen_sections

    def write(self, look: Look, *, is_again: bool) -> None:
        from ttmem.cli.tables.pages import listed_processes
        from ttmem.view.pages.report import report

        processes = listed_processes(self._request, look)
        lines = report(look.chosen, processes, look.telemetry, self._sections)
        self._screen.frame(lines) if is_again else self._screen.show(lines)


class List:
    """The chips by all their names."""

    has_identity = True

    def __init__(self, screen: Screen) -> None:
        self._screen = screen

    def write(self, look: Look, *, is_again: bool) -> None:
        from ttmem.view.pages.device_list import device_list

        lines = device_list(look.chosen, look.telemetry, look.nameless, width=None)
        self._screen.frame(lines) if is_again else self._screen.show(lines)


class Table:
    """Who holds what, for people."""

    has_identity = False

    def __init__(self, request: Request, screen: Screen, stream: TextIO) -> None:
        self._request, self._screen = request, screen

    def write(self, look: Look, *, is_again: bool) -> None:
        from ttmem.cli.tables.pages import page_options, table_lines
        from ttmem.view.pages.ps import nothing_to_show

        options = page_options(self._request, self._screen, look)
        if is_again:
            self._screen.frame(table_lines(look, options))
        elif look.snapshot.processes:
            self._screen.show(table_lines(look, options))
        else:
            screen_for(self._request, sys.stderr, os.environ).show(nothing_to_show(look.snapshot))
            raise click.exceptions.Exit(NOTHING_READ)
