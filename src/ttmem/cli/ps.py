"""`ttmem ps`, and `ttmem` without a verb: who holds what, in the form that is asked for, once or again and again."""

import gc
import os
import time
from collections.abc import Mapping
from typing import NoReturn

import click

from ttmem.cli.exits import DONE
from ttmem.cli.screen import Screen
from ttmem.cli.tables.forms import Form, StandardForm, Table, form_of, opened, screen_for
from ttmem.cli.tables.looks import look
from ttmem.cli.tables.options import table_command
from ttmem.cli.tables.request import BANNER, Request
from ttmem.figures.source import FigureSource

__all__ = ["answer", "ps"]

LEVELS_NAME = "TTMEM_MONITOR_LEVELS"
_STORY = """Show which process holds what on which device.

Asks the daemon (ttmem serve) if one runs. Otherwise reads the journals of reporting processes in $TTMEM_DIR, or where
they lie by default: nothing has to run first. Without a verb, `ttmem` takes the same flags.
"""


def answer(request: Request, standard: StandardForm = Table) -> int:
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
        if request.made_up_count is None:
            _answer(request, form, screen, os.environ)
            return DONE
        from ttmem.cli.demonstration.made_up import made_up_chips

        if not isinstance(form, Table):  # which says so itself
            click.echo(f"ttmem: {BANNER}", err=True)
        is_live = request.seconds is not None
        with made_up_chips(request.made_up_count, os.environ, is_live=is_live) as environ:
            _answer(request._replace(is_alone=True), form, screen, environ)
    return DONE


def _answer(request: Request, form: Form, screen: Screen, environ: Mapping[str, str]) -> None:
    """Looks, and writes what was seen."""
    seconds = request.seconds
    has_daemon, is_following = not request.is_alone, seconds is not None
    with FigureSource(environ, uid=os.geteuid(), has_daemon=has_daemon, is_following=is_following) as looking:
        if seconds is not None:
            _repeat(looking, request, form, screen, seconds)
        seen = look(looking, request, has_identity=form.has_identity)
    if request.picture_file:
        from ttmem.cli.tables.pages import page_options, write_picture

        write_picture(request.picture_file, seen.chosen, page_options(request, screen, seen))
    else:
        form.write(seen, is_again=False)
    seen.check(request)


def _use_levels(levels: tuple[int, int, int] | None) -> None:
    """Those of the flag, else of the environment."""
    from ttmem.view.colours import levels_from, use_levels

    try:
        use_levels(levels or levels_from(os.environ[LEVELS_NAME]))
    except ValueError as error:
        click.echo(f"ttmem: {LEVELS_NAME}: {error}", err=True)


def _list_fields(request: Request, screen: Screen) -> None:
    from ttmem.view.queries import APP_FIELDS, MEMORY_FIELDS, field_list

    fields = field_list(MEMORY_FIELDS, width=None) if request.is_memory_help else ()
    screen.show([*fields, *(field_list(APP_FIELDS, width=None) if request.is_app_help else ())])


def _repeat(looking: FigureSource, request: Request, form: Form, screen: Screen, seconds: float) -> NoReturn:
    """Answers every so many seconds, until interrupted."""
    gc.enable()
    due = time.monotonic()
    try:
        while True:
            form.write(look(looking, request, has_identity=form.has_identity), is_again=True)
            due = max(due + seconds, time.monotonic())
            time.sleep(max(0.0, due - time.monotonic()))  # a look may take longer than the interval
    finally:
        screen.close()


ps = table_command(answer, name="ps", purpose="Show which process holds what on which device.", story=_STORY)
