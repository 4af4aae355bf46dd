"""`ttmem report`: what a recording says: peaks and what was alive then, or everything at one moment."""

import os
import re
import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ttmem.cli.common.growing import growing_options, show_growing
from ttmem.errors import SelectionError

if TYPE_CHECKING:
    from ttmem.analysis.alive import ByWord
    from ttmem.devices import Pool
    from ttmem.recording import Peak, Recording
    from ttmem.snapshot import DeviceUsage

__all__ = ["report"]

_PEAK_POOLS = ("dram", "l1", "l1_small", "trace")
_OFFSET = re.compile(r"\+(\d+(?:\.\d+)?)s?")
_CLOCK = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2})(\.\d{1,9})?)?")
_INCIDENT = re.compile(r"incident:(\d+)-(\d+)")
_MOST = 5


def _by_words(context: click.Context, param: click.Parameter, value: str) -> "tuple[ByWord, ...]":
    from ttmem.analysis.alive import BY_WORDS

    words = tuple(word.strip() for word in value.split(","))
    unknown = [word for word in words if word not in BY_WORDS]
    if unknown:
        raise click.BadParameter(f"{unknown[0]!r} is none of {', '.join(BY_WORDS)}", param=param)
    return words  # type: ignore[return-value]


@click.command(short_help="Show what a recording says.")
@click.argument("path", type=click.Path(path_type=Path), metavar="RECORDING")
@click.option("--peak", "pool_word", type=click.Choice(_PEAK_POOLS), help="Only this pool.")
@click.option("--chip", metavar="CHIP", help="Only this chip, named as for ttmem ps -i.")
@click.option("--at", "moment", metavar="WHEN", help="All pools at a moment: 14:03:07, +12.5s, peak, incident:PID-N.")
@click.option(
    "--by", callback=_by_words, default="site", metavar="WORDS", help="site,operation,phase,kind,program,thread,process"
)
@click.option("--all", "is_whole", is_flag=True, help="All sums, not the largest five.")
@growing_options
@click.option("--json", "is_json", is_flag=True, help="One JSON document (docs/reference/report.md).")
@click.option("-U", "--ascii", "--no-unicode", "is_ascii", is_flag=True, help="Marks in ASCII.")
@click.option("-C", "--no-color", "is_colourless", is_flag=True, help="No colours (NO_COLOR does the same).")
def report(
    *,
    path: Path,
    pool_word: str | None,
    chip: str | None,
    moment: str | None,
    by: "tuple[ByWord, ...]",
    is_whole: bool,
    growing: str | None,
    warmup_count: int,
    is_json: bool,
    is_ascii: bool,
    is_colourless: bool,
) -> int:
    """Show what a recording says: every pool of every chip at its highest, and what was alive then.

    With --at, all pools at one moment instead; `peak` is the highest of --peak (dram unless said otherwise).
    """
    from ttmem.collector.recorded import Moment
    from ttmem.devices import Pool
    from ttmem.figures.recorded import moment_report, peak_report
    from ttmem.recording import Recording
    from ttmem.snapshot.codec import encoded
    from ttmem.view.page import PageOptions
    from ttmem.view.pages.recording import recording_page
    from ttmem.view.screen import Screen

    recording = Recording(path)
    pool = Pool[pool_word.upper()] if pool_word else None
    most = 0 if is_whole else _MOST
    if growing:
        looks = {"is_json": is_json, "is_ascii": is_ascii, "is_colourless": is_colourless}
        show_growing(recording, growing, warmups=warmup_count, most=most, **looks)
        return 0
    try:
        if moment is None:
            found = peak_report(recording, by=by, pool=pool, chip=chip, most=most)
        elif moment == "peak":
            at = Moment(recording, peak=_highest(recording, pool or Pool.DRAM, chip))
            found = moment_report(recording, at, by=by, pool=pool, chip=chip, most=most)
        else:
            at = Moment(recording, at_ns=_moment_ns(recording, moment))
            found = moment_report(recording, at, by=by, pool=pool, chip=chip, most=most)
    except SelectionError as error:
        raise click.BadParameter(str(error), param_hint="--chip") from error
    screen = Screen(sys.stdout, os.environ, has_colour=not is_colourless)
    if is_json:
        click.echo(encoded(found, is_pretty=screen.is_terminal).decode())
    else:
        screen.show(recording_page(found, PageOptions(screen.width, is_ascii or not screen.is_unicode)))
    return 0


def _highest(recording: "Recording", pool: "Pool", chip: str | None) -> "Peak":
    from ttmem.snapshot.selection import device_test
    from ttmem.snapshot.values import Device

    is_meant = device_test(chip) if chip is not None else None
    end: dict[int, Device] = {usage.device.unique_id: usage.device for usage in _devices(recording)}
    peaks = [
        peak
        for peak in recording.peaks()
        if peak.pool == pool.number
        and peak.is_known
        and (is_meant is None or is_meant(end.get(peak.chip, Device.bare(0, peak.chip, index=None, name=""))))
    ]
    if not peaks:
        raise click.BadParameter(f"nothing was ever held in {pool.word} there", param_hint="--at")
    return max(peaks, key=lambda peak: peak.size_bytes)


def _devices(recording: "Recording") -> "tuple[DeviceUsage, ...]":
    from ttmem.collector.recorded import Moment

    return Moment(recording).snapshot.devices


def _moment_ns(recording: "Recording", text: str) -> int:
    """CLOCK_MONOTONIC of what was asked for; a moment outside the recording is refused."""
    if match := _OFFSET.fullmatch(text):
        at = recording.first_ns + round(float(match[1]) * 1e9)
    elif match := _INCIDENT.fullmatch(text):
        told = recording.monotonic_ns(_incident_ns(recording, int(match[1]), int(match[2])))
        at = min(max(told, recording.first_ns), recording.last_ns)  # it may be the last event, and clocks are rounded
    elif match := _CLOCK.fullmatch(text):
        at = _clock_ns(recording, match)
    else:
        raise click.BadParameter(f"{text!r} is no moment: 14:03:07, +12.5s, peak or incident:4711-1", param_hint="--at")
    if recording.first_ns <= at <= recording.last_ns:
        return at
    from ttmem.view.texts import clock_text

    first, last = (clock_text(recording.wall_ns(one)) for one in (recording.first_ns, recording.last_ns))
    length = (recording.last_ns - recording.first_ns) / 1e9
    raise click.BadParameter(
        f"{text} is outside of the recording, which goes from {first} to {last}: +0s to +{length:.3f}s",
        param_hint="--at",
    )


def _clock_ns(recording: "Recording", match: "re.Match[str]") -> int:
    """The first such time of day in the recording; the whole second or minute counts, up to its end."""
    hour, minute, second = int(match[1]), int(match[2]), int(match[3] or 0)
    if hour > 23 or minute > 59 or second > 59:
        raise click.BadParameter(f"{match[0]} is no time of day", param_hint="--at")
    began = recording.wall_ns(recording.first_ns)
    day = datetime.fromtimestamp(began / 1e9)
    asked = day.replace(hour=hour, minute=minute, second=second, microsecond=0)
    length = 1_000_000_000 if match[3] else 60_000_000_000
    fraction = round(float(match[4]) * 1e9) if match[4] else length - 1
    at = round(asked.timestamp()) * 1_000_000_000 + fraction
    if at < began:
        at = round((asked + timedelta(days=1)).timestamp()) * 1_000_000_000 + fraction
    last = recording.wall_ns(recording.last_ns)
    return recording.monotonic_ns(last if not match[4] and last < at < last + length else at)


def _incident_ns(recording: "Recording", pid: int, number: int) -> int:
    from ttmem.collector.recorded import KeptIncidents

    snapshot = KeptIncidents(recording.path).snapshot()
    known = [(process.pid, one) for process in snapshot.processes for one in process.incidents]
    for its_pid, incident in known:
        if (its_pid, incident.number) == (pid, number):
            return int(incident.time_ns)
    names = ", ".join(f"{its_pid}-{one.number}" for its_pid, one in known)
    raise click.BadParameter(f"no incident {pid}-{number} was recorded; there are {names or 'none'}", param_hint="--at")
