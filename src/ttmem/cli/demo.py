"""`ttmem demo`: a workload on made-up chips, played on the runtime model and watched like any program."""

import os
import shutil
import signal
import sys
import tempfile
import textwrap
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NoReturn

import click

from ttmem.cli.demo_process import DemoProcess, demo_process
from ttmem.cli.exits import KILLED_BY
from ttmem.cli.ps import write_picture
from ttmem.cli.screen import Screen
from ttmem.cli.workload import KILL, Order, Report
from ttmem.collector import Collector
from ttmem.devices import Pool
from ttmem.snapshot import Snapshot
from ttmem.sources import Places
from ttmem.view import PageOptions, page
from ttmem.view.page import plural
from ttmem.view.units import size_text

_SECONDS = 20.0  # on a terminal
_FRAME_SECONDS = 0.2
_LAST_LOOK_SECONDS = 3.0  # at what is left when the workload has nothing more to do
_SETTLE_SECONDS = 5.0
_LONG_SECONDS = 3600.0
_BANNER = "demo: made-up chips"


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


def _list(context: click.Context, param: click.Parameter, is_asked: bool) -> None:
    if is_asked:
        from ttmem.metal.workloads import WORKLOADS

        for workload in WORKLOADS.values():
            click.echo(f"{workload.name:15} {workload.board:7} {workload.line}")
        context.exit()


@click.command(short_help="Show a workload on made-up chips, live.")
@click.argument("name", required=False)
@click.option("--list", is_flag=True, is_eager=True, expose_value=False, callback=_list, help="Name all workloads.")
@click.option("--board", metavar="NAME", help="Other chips than the workload's own: n150, n300, p150, ...")
@click.option("--speed", metavar="FACTOR", callback=_speed, help="1 is a watchable pace; 0 or max: as fast as it goes.")
@click.option("--seconds", type=click.FloatRange(min=0), help=f"How long ({_SECONDS:g} on a terminal).")
@click.option("--steps", type=click.IntRange(min=1), help="How many tokens, batches, ... (without a terminal: enough).")
@click.option("--slow-dispatch", "is_slow", is_flag=True, help="The host writes into every core itself; no traces.")
@click.option("-U", "--ascii", "--no-unicode", "is_ascii", is_flag=True, help="Bars and marks in ASCII.")
@click.option("-C", "--no-color", "is_colourless", is_flag=True, help="No colours (NO_COLOR does the same).")
@click.option(
    "--picture", "picture_file", type=click.Path(dir_okay=False, path_type=Path), help="Write the last table as SVG."
)
def demo(
    *,
    name: str | None,
    board: str | None,
    speed: float | None,
    seconds: float | None,
    steps: int | None,
    is_slow: bool,
    is_ascii: bool,
    is_colourless: bool,
    picture_file: Path | None,
) -> int:
    """Play workload NAME on the runtime model and show what it holds; no device is needed or touched.

    Without NAME: a Llama model on four chips. What it should hold at most is worked out beside it by plain arithmetic,
    and compared at the end.
    """
    from ttmem.metal.workloads import WORKLOADS

    screen = Screen(sys.stdout, os.environ, has_colour=not is_colourless)
    workload = WORKLOADS[_known(name)]
    is_paced = screen.is_terminal or seconds is not None
    order = Order(
        name=workload.name,
        board=_known_board(board),
        speed=float(is_paced) if speed is None else speed,
        round_count=steps or (None if is_paced else workload.round_count),
        is_slow=is_slow,
    )
    options = PageOptions(screen.width, is_ascii or not screen.is_unicode, banner=_BANNER)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _leave)  # so that the process ends and its directory goes
    with ExitStack() as stack:
        directory = stack.enter_context(_private_directory())
        places = Places.from_environment({"TTMEM_DIR": directory}, uid=os.geteuid())
        collector = stack.enter_context(Collector(places))
        collector.start()
        stack.callback(screen.close)
        with demo_process(order, directory=directory, label=workload.name) as process:
            audience = Audience(collector, screen, options, process)
            report = audience.watch(_SECONDS if seconds is None and screen.is_terminal else seconds)
            if picture_file:
                write_picture(picture_file, audience.last, options)
        click.echo()
        for text in farewell(report, audience.last, _left_bytes(collector)):
            click.echo(textwrap.fill(text, screen.width or 120))
    return 0


class Audience:
    """Whoever watches a workload: frame by frame on a terminal, else once, when it has played."""

    def __init__(self, collector: Collector, screen: Screen, options: PageOptions, process: DemoProcess) -> None:
        self._collector = collector
        self._screen = screen
        self._options = options
        self._process = process
        self.last = collector.snapshot()  # with everything the workload ever did, and still holds

    def watch(self, seconds: float | None) -> Report:
        """Until the workload has nothing more to do, but not longer than that; what it told of itself."""
        deadline = time.monotonic() + seconds if seconds is not None else float("inf")
        report = None
        while report is None and time.monotonic() < deadline:
            if self._screen.is_terminal:
                self._show(self._collector.snapshot())
            wait_seconds = _FRAME_SECONDS if self._screen.is_terminal else deadline - time.monotonic()
            report = self._process.report(min(wait_seconds, _LONG_SECONDS))
        is_early = report is not None
        report = report or self._process.stop()
        while self._collector.tick():
            pass
        self.last = self._collector.snapshot()
        self._show(self.last)
        if is_early and self._screen.is_terminal:
            time.sleep(min(_LAST_LOOK_SECONDS, max(0.0, deadline - time.monotonic())))
        if report.event == KILL:
            self._kill()
        return report

    def _kill(self) -> None:
        """The same table right after: the process is gone, and what it held is given back."""
        self._process.kill()
        _wait_until_nobody_lives(self._collector)
        self._show(self._collector.snapshot(), is_with_ended=True)
        if self._screen.is_terminal:
            time.sleep(_LAST_LOOK_SECONDS)

    def _show(self, snapshot: Snapshot, *, is_with_ended: bool = False) -> None:
        options = self._options._replace(width=self._screen.width, is_with_ended=is_with_ended)
        self._screen.frame(page(snapshot, options))


def farewell(report: Report, last: Snapshot, left_bytes: int) -> Iterator[str]:
    """What became of the workload, whether it held what it should have held, and what is left of it."""
    if report.refusal:
        yield f"The runtime refused: {report.refusal}"
    peaks = _peaks(last)
    pairs = {word: (expected, peaks.get(word, 0)) for word, expected in report.expected.items()}
    figures = ", ".join(f"{word} {size_text(one)} / {size_text(other)}" for word, (one, other) in pairs.items())
    is_equal = all(one == other for one, other in pairs.values())
    chips = plural(report.chip_count, f"{report.board} chip", "s")
    yield (
        f"{report.played} on {chips}. Peak of each, expected / measured: {figures or 'nothing'}; "
        f"{'equal to the byte' if is_equal else 'NOT EQUAL'}."
    )
    end = "was killed (kill -9)" if report.event == KILL else "has ended"
    yield f"The program {end}; {size_text(left_bytes)} of its memory is left on the devices."


def _peaks(last: Snapshot) -> dict[str, int]:
    """Of the first chip, as they are all used alike; circular buffers only ever become more."""
    [device, *_] = last.devices
    peaks = {usage.pool.word: usage.peak_bytes for usage in device.pools}
    footprint = device.activity.footprint
    return peaks if footprint is None else {**peaks, Pool.CB.word: footprint.planned_bytes}


def _known(name: str | None) -> str:
    from ttmem.metal.workloads import DEFAULT_WORKLOAD, WORKLOADS

    if name is not None and name not in WORKLOADS:
        raise click.UsageError(f"no workload {name!r}; there are {', '.join(WORKLOADS)} (--list tells more)")
    return name or DEFAULT_WORKLOAD


def _known_board(name: str | None) -> str | None:
    from ttmem.metal.chips import UnknownHardware, board

    try:
        return name and board(name).name
    except UnknownHardware as error:
        raise click.UsageError(str(error)) from error


def _leave(number: int, frame: object) -> NoReturn:
    sys.exit(KILLED_BY + number)


@contextmanager
def _private_directory() -> Iterator[str]:
    shm = Path("/dev/shm")
    directory = tempfile.mkdtemp(prefix="ttmem-demo-", dir=shm if os.access(shm, os.W_OK) else None)
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _left_bytes(collector: Collector) -> int:
    """What is on the devices when the end of the process has been noticed."""
    _wait_until_nobody_lives(collector)
    return sum(usage.used_bytes for device in collector.snapshot().devices for usage in device.pools)


def _wait_until_nobody_lives(collector: Collector) -> None:
    deadline = time.monotonic() + _SETTLE_SECONDS
    while collector.snapshot().live and time.monotonic() < deadline:
        time.sleep(0.01)
