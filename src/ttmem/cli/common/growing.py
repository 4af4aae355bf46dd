"""`ttmem report --leaks`, `--growth`, `--temporary`: which of the three is asked for, and its page."""

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ttmem.cli.common.progress import reading

if TYPE_CHECKING:
    from ttmem.recording import Recording

__all__ = ["GROWING", "Growing", "growing_options", "show_growing"]

GROWING = ("leaks", "growth", "temporary")


class Growing(NamedTuple):
    """What was asked."""

    name: str  # leaks, growth or temporary
    pool_word: str | None
    chip: str | None
    warmup_count: int


def growing_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """A flag for each of `GROWING`, and `warmup_count`."""
    options = (
        click.option("--leaks", is_flag=True, help="Lines that are alive more often after every run."),
        click.option("--growth", is_flag=True, help="What changed between equal phases."),
        click.option("--temporary", is_flag=True, help="Buffers that were freed again at once."),
        click.option(
            "--warmups",
            "warmup_count",
            type=click.IntRange(0, 1_000_000),
            metavar="N",
            help="Runs that --leaks and --growth leave out at the beginning.  [1]",
        ),
    )
    for option in reversed(options):
        function = option(function)
    return function


def show_growing(
    recording: "Recording",
    question: Growing,
    *,
    most: int,
    is_json: bool,
    is_ascii: bool,
    is_colourless: bool,
) -> None:
    """Prints one of the three answers."""
    from ttmem.devices import Pool
    from ttmem.figures import growing as figures
    from ttmem.snapshot.codec import encoded
    from ttmem.view import growth as pages
    from ttmem.view.page import PageOptions
    from ttmem.view.screen import Screen

    screen = Screen(sys.stdout, os.environ, has_colour=not is_colourless)
    options = PageOptions(screen.width, is_ascii or not screen.is_unicode)
    pool = Pool[question.pool_word.upper()] if question.pool_word else None
    warmups, chip = question.warmup_count, question.chip
    answer: Any
    with reading(recording):
        if question.name == "leaks":
            answer = found = figures.leaks(recording, warmups=warmups, pool=pool, chip=chip)
            lines = pages.leak_page(found, options, most)
        elif question.name == "growth":
            answer = grown = figures.growth(recording, warmups=warmups, pool=pool, chip=chip)
            lines = pages.growth_page(grown, options, most)
        else:
            answer = gone = figures.temporary(recording, pool=pool, chip=chip)
            lines = pages.temporary_page(gone, options, most)
    if is_json:
        click.echo(encoded(answer, is_pretty=screen.is_terminal).decode())
    else:
        screen.show(lines)
