"""`ttmem demo`: a workload on simulated chips, played on the runtime model and watched like any program."""

import math
import os
import signal
import sys
import textwrap
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import click

from ttmem.cli.common import DONE, INTERRUPTED, KILLED_BY, NOT_EQUAL, nearest
from ttmem.cli.common.request import BANNER, how_to_explain
from ttmem.cli.demonstration.directories import how_to_look, own_directory, usual_places
from ttmem.cli.demonstration.driver_tree import write_tree
from ttmem.cli.demonstration.interrupts import noticed_interrupts
from ttmem.cli.demonstration.player import settled
from ttmem.cli.demonstration.process import demo_process
from ttmem.cli.demonstration.watcher import Watcher, farewell, is_as_expected
from ttmem.cli.demonstration.workload import Order, Report
from ttmem.cli.ps import check_picture, write_picture
from ttmem.collector import Collector
from ttmem.snapshot import Snapshot
from ttmem.sources import Places
from ttmem.view.page import PageOptions
from ttmem.view.screen import Screen, has_keys

_SHOT_SECONDS = 10.0


def _speed(context: click.Context, param: click.Parameter, value: str | None) -> float | None:
    """A factor, or `max` for as fast as it goes, which is also what 0 means."""
    if value is None:
        return None
    try:
        speed = 0.0 if value == "max" else float(value)
    except ValueError:
        speed = -1.0
    if not 0 <= speed < float("inf"):
        raise click.BadParameter(f"{value!r} is neither a factor (1 is a watchable pace) nor max", param=param)
    return speed


def _seconds(context: click.Context, param: click.Parameter, value: float | None) -> float | None:
    if value is not None and math.isnan(value):
        raise click.BadParameter("nan is no length of time", param=param)
    return value


def _list(context: click.Context, param: click.Parameter, is_asked: bool) -> None:
    if is_asked:
        from ttmem.metal.workloads import WORKLOADS

        for workload in WORKLOADS.values():
            click.echo(f"{workload.name:15} {workload.board:7} {workload.line}")
        context.exit()


def _sizes(context: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[tuple[int, int], ...]:
    """Of terminals, as columns x rows."""
    sizes = []
    for value in values:
        columns, _, rows = value.partition("x")
        is_size = columns.isdecimal() and rows.isdecimal() and 20 <= int(columns) <= 1000 and 5 <= int(rows) <= 500
        if not is_size:
            raise click.BadParameter(f"{value!r} is no size of a terminal; one such as 120x40 is", param=param)
        sizes.append((int(columns), int(rows)))
    return tuple(sizes)


@click.command(short_help="Show a workload on simulated chips, live.")
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option("--list", is_flag=True, is_eager=True, expose_value=False, callback=_list, help="Name all workloads.")
@click.option("--board", metavar="NAME", help="Other chips than the workload's own: n150, n300, p150, ...")
@click.option("--speed", metavar="FACTOR", callback=_speed, help="1 is a watchable pace; 0 or max: as fast as it goes.")
@click.option("--seconds", type=click.FloatRange(min=0), callback=_seconds, help="How long (default: until you leave).")
@click.option("--steps", type=click.IntRange(min=1), help="How many tokens, batches, ... (without a terminal: enough).")
@click.option("--slow-dispatch", "is_slow", is_flag=True, help="The host writes into every core itself; no traces.")
@click.option("-U", "--ascii", "--no-unicode", "is_ascii", is_flag=True, help="Bars and marks in ASCII.")
@click.option("-C", "--no-color", "is_colourless", is_flag=True, help="No colours (NO_COLOR does the same).")
@click.option(
    "--picture", "picture_file", type=click.Path(dir_okay=False, path_type=Path), help="Write the last table as SVG."
)
@click.option(
    "--screenshot",
    "screenshot",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="Write the monitor as SVG instead: one view into PATH.svg, or all of them into a directory.",
)
@click.option("--view", "views", multiple=True, metavar="NAME", help="With --screenshot: only this view.")
@click.option(
    "--size", "sizes", multiple=True, callback=_sizes, metavar="CxR", help="Likewise: of a terminal (120x40)."
)
@click.option(
    "--theme", "themes", multiple=True, type=click.Choice(["dark", "light"]), help="With --screenshot (dark)."
)
def demo(
    *,
    names: tuple[str, ...],
    board: str | None,
    speed: float | None,
    seconds: float | None,
    steps: int | None,
    is_slow: bool,
    is_ascii: bool,
    is_colourless: bool,
    picture_file: Path | None,
    screenshot: Path | None,
    views: tuple[str, ...],
    sizes: tuple[tuple[int, int], ...],
    themes: tuple[str, ...],
) -> int:
    """Play workloads (--list) on the runtime model and show what they hold; no device is needed or touched.

    Without a NAME: a Llama model on four chips. What a workload must hold at most is worked out beside it by plain
    arithmetic, and compared at the end; exit code 1 if they differ.
    """
    screen = Screen(sys.stdout, os.environ, has_colour=not is_colourless)
    is_watched = screen.is_live and has_keys()
    is_paced = is_watched or seconds is not None or screenshot is not None
    if picture_file:
        check_picture(picture_file)
    orders = _orders(names, board=board, speed=float(is_paced) if speed is None else speed, is_slow=is_slow)
    if steps or not is_paced:
        orders = [_bounded(order, steps) for order in orders]
    if screenshot:
        play_seconds = _SHOT_SECONDS if seconds is None else seconds
        return _photographed(orders, screenshot, views, sizes, themes, is_ascii=is_ascii, seconds=play_seconds)
    explaining = how_to_explain({}, is_simulated=True)
    options = PageOptions(screen.width, is_ascii or not screen.is_unicode, banner=BANNER, explaining=explaining)
    if is_watched:
        return _in_monitor(orders, options, picture_file, has_colour=not is_colourless, seconds=seconds)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _leave)  # so that the processes end and their directory goes
    with ExitStack() as stack:
        directory = stack.enter_context(own_directory(len(orders), usual_places()))
        places = Places(uid=os.geteuid(), directory=directory)  # and no chip of the real runtime
        collector = stack.enter_context(Collector(places))
        collector.start()
        with ExitStack() as running:
            processes = [running.enter_context(demo_process(order, directory=directory)) for order in orders]
            if seconds is not None:
                write_tree(directory, settled(places))
                click.echo(f"ttmem: to look at it from another terminal: {how_to_look(directory)}", err=True)
            interrupts = stack.enter_context(noticed_interrupts())  # from here on there is something to say of them
            watcher = Watcher(collector, screen, options, interrupts)
            reports = watcher.watch(processes, seconds)
        click.echo()
        code = _judged(reports, watcher.last, watcher.left_bytes(), screen.width)
        if picture_file:
            write_picture(picture_file, watcher.last, options)
    return INTERRUPTED if interrupts.is_pressed else code


def _photographed(
    orders: list[Order],
    target: Path,
    views: tuple[str, ...],
    sizes: tuple[tuple[int, int], ...],
    themes: tuple[str, ...],
    *,
    is_ascii: bool,
    seconds: float,
) -> int:
    """Pictures of the monitor, and one line for each."""
    from ttmem.cli.demonstration.screenshots import SHOTS, Shot, Size, photographed, written

    is_file = target.suffix == ".svg"
    views = tuple(view.replace("-", "_") for view in views) or (tuple(SHOTS)[:1] if is_file else tuple(SHOTS))
    if unknown := [view for view in views if view not in SHOTS]:
        hint = nearest(unknown[0], SHOTS, f"there are {', '.join(SHOTS)}")
        raise click.BadParameter(f"no view {unknown[0]!r}; {hint}", param_hint="--view")
    shots = [
        Shot(view, Size(*size), is_light=theme == "light", is_ascii=is_ascii)
        for view in views
        for size in sizes or ((120, 40),)
        for theme in themes or ("dark",)
    ]
    if is_file and len(shots) > 1:
        raise click.UsageError(f"{target} is one file, but {len(shots)} pictures are asked for: name a directory")
    is_plain = len(shots) == len(views)
    click.echo(f"playing for {seconds:g} s", err=True)
    try:
        for file in written(photographed(orders, shots, os.environ, seconds=seconds), target, is_plain=is_plain):
            click.echo(file)
    except OSError as error:
        raise click.FileError(str(error.filename or target), error.strerror or "cannot be written") from error
    return DONE


def _in_monitor(
    orders: list[Order], options: PageOptions, picture_file: Path | None, *, has_colour: bool, seconds: float | None
) -> int:
    from ttmem.cli.demonstration.show import show
    from ttmem.monitor.options import Options

    look = Options(is_ascii=options.is_ascii, colours="auto" if has_colour else "never", seconds=seconds)
    ending = show(orders, look, os.environ)
    if ending.last is None:
        return ending.code
    if picture_file:
        write_picture(picture_file, ending.last, options)
    return _judged(ending.reports, ending.last, ending.left_bytes, options.width)


def _judged(reports: Mapping[int, Report], last: Snapshot, left_bytes: int, width: int | None) -> int:
    """Says what became of the workloads; the exit code says whether they held what they should have held."""
    for text in farewell(reports, last, left_bytes):
        click.echo(textwrap.fill(text, width or 120))
    return DONE if is_as_expected(reports, last) else NOT_EQUAL


def _orders(names: tuple[str, ...], *, board: str | None, speed: float, is_slow: bool) -> list[Order]:
    """Who plays what, each on chips of its own."""
    from ttmem.metal.chips import UnknownHardware
    from ttmem.metal.chips import board as known_board
    from ttmem.metal.workloads import DEFAULT_WORKLOAD, WORKLOADS

    try:
        board = board and known_board(board).name
    except UnknownHardware as error:
        raise click.UsageError(str(error)) from error
    orders: list[Order] = []
    chip_offset = 0
    for name in names or (DEFAULT_WORKLOAD,):
        if name not in WORKLOADS:
            hint = nearest(name, WORKLOADS, f"there are {', '.join(WORKLOADS)}")
            raise click.UsageError(f"no workload {name!r}; {hint} (ttmem demo --list describes them)")
        orders.append(Order(name=name, board=board, chip_offset=chip_offset, speed=speed, is_slow=is_slow))
        chip_offset += WORKLOADS[name].chip_count
    return orders


def _bounded(order: Order, round_count: int | None) -> Order:
    """Not without end: the given number of rounds, or as many as show all there is to see."""
    from ttmem.metal.workloads import WORKLOADS

    return replace(order, round_count=round_count or WORKLOADS[order.name].round_count)


def _leave(number: int, frame: object) -> NoReturn:
    sys.exit(KILLED_BY + number)
