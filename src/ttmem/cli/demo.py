"""`ttmem demo`: three made-up programs on four made-up chips, watched for a few seconds."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NoReturn

import click

from ttmem.cli.exits import KILLED_BY
from ttmem.cli.ps import write_picture
from ttmem.cli.screen import Screen
from ttmem.cli.workload import WORKLOADS
from ttmem.collector import Collector
from ttmem.errors import TtmemError
from ttmem.sources import Places
from ttmem.view import PageOptions, page
from ttmem.view.units import size_text

_FRAME_SECONDS = 0.2
_END_SECONDS = 5.0
_BANNER = "demo: made-up chips"


@click.command(short_help="Show reporting processes on made-up chips.")
@click.option("--seconds", type=click.FloatRange(min=0), help="How long (6, or 2 without a terminal).")
@click.option("-U", "--ascii", "--no-unicode", "is_ascii", is_flag=True, help="Bars and marks in ASCII.")
@click.option("-C", "--no-color", "is_colourless", is_flag=True, help="No colours (NO_COLOR does the same).")
@click.option(
    "--picture", "picture_file", type=click.Path(dir_okay=False, path_type=Path), help="Write the last table as SVG."
)
def demo(*, seconds: float | None, is_ascii: bool, is_colourless: bool, picture_file: Path | None) -> int:
    """Show three reporting processes on four made-up chips; no device is needed or touched."""
    screen = Screen(sys.stdout, os.environ, has_colour=not is_colourless)
    options = PageOptions(screen.width, is_ascii or not screen.is_unicode, banner=_BANNER)
    if seconds is None:
        seconds = 6.0 if screen.is_terminal else 2.0
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _leave)  # so that the programs end and their directory goes
    with ExitStack() as stack:
        directory = stack.enter_context(_private_directory())
        places = Places.from_environment({"TTMEM_DIR": directory}, uid=os.geteuid())
        collector = stack.enter_context(Collector(places))
        stack.callback(screen.close)
        with _programs(directory) as programs:
            collector.wait_settled()
            collector.start()
            _watch(collector, screen, options, seconds)
            if picture_file:
                write_picture(picture_file, collector.snapshot(), options)
        click.echo(_farewell(collector, len(programs)))
    return 0


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


@contextmanager
def _programs(directory: str) -> Iterator[list[subprocess.Popen[str]]]:
    """The made-up programs, all reporting; ended when left, however that comes about."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("TTMEM")}
    environ |= {"TTMEM": "1", "TTMEM_DIR": directory}
    programs: list[subprocess.Popen[str]] = []
    try:
        for name in WORKLOADS:
            program = subprocess.Popen(
                [sys.executable, "-m", "ttmem.cli.workload", name],
                env=environ,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                start_new_session=True,  # what the terminal's keys interrupt is us; they end with their input
            )
            programs.append(program)
            if program.stdout is None or program.stdout.readline() != "ready\n":
                raise TtmemError(f"the made-up program `{name}` ended before it reported anything")
        yield programs
    finally:
        for program in programs:
            _end(program)


def _end(program: subprocess.Popen[str]) -> None:
    try:
        program.communicate(timeout=_END_SECONDS)
    except subprocess.TimeoutExpired:
        program.kill()
        program.communicate()


def _watch(collector: Collector, screen: Screen, options: PageOptions, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    if not screen.is_terminal:
        time.sleep(seconds)
    screen.frame(page(collector.snapshot(), options))
    while time.monotonic() < deadline:
        time.sleep(_FRAME_SECONDS)
        screen.frame(page(collector.snapshot(), options._replace(width=screen.width)))


def _farewell(collector: Collector, program_count: int) -> str:
    """Waits until the programs' end has been noticed, and says what is left of them on the devices."""
    deadline = time.monotonic() + _END_SECONDS
    while collector.snapshot().live and time.monotonic() < deadline:
        time.sleep(0.01)
    left = sum(usage.used_bytes for device in collector.snapshot().devices for usage in device.pools)
    return f"\nThe {program_count} programs have ended; {size_text(left)} of theirs is left on the devices."
