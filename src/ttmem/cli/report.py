"""`ttmem report`: what a recording says: one page, or the answer to one question."""

import os
import re
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from ttmem.cli.common.growing import GROWING, Growing, growing_options, show_growing
from ttmem.cli.common.moments import highest_peak, moment_ns
from ttmem.cli.common.progress import reading
from ttmem.cli.common.recordings import RecordingName, opened
from ttmem.errors import SelectionError

if TYPE_CHECKING:
    from ttmem.analysis.alive import ByWord, RecordingReport
    from ttmem.cli.recorded_answers import Answered, RecordedRequest
    from ttmem.recording import Recording

__all__ = ["report"]

_PEAK_POOLS = ("dram", "l1", "l1_small", "trace")
_MOST = 5
_ANSWERS = {
    "holes": "Fragmentation over time, and what lies between the holes.",
    "floor": "The lowest L1 buffer over time, and which lives it was.",
    "headroom": "What launches had left below the lowest L1 buffer.",
    "trace_safety": "What was allocated while a trace could be replayed.",
    "advise": "The smallest trace region, L1_SMALL and worker_l1_size.",
}
_TAKES = {  # what a question can be narrowed by, beside --chip; pools of --peak, or all
    "core": ("l1", "by"),
    "holes": (*_PEAK_POOLS, "by"),
    "floor": ("l1", "by"),
    "headroom": ("l1", "by"),
    "trace_safety": ("by",),
    "advise": (),
    "leaks": (*_PEAK_POOLS, "warmups"),
    "growth": (*_PEAK_POOLS, "warmups"),
    "temporary": _PEAK_POOLS,
}
_CORE = re.compile(r"(\d{1,3}),(\d{1,3})")


def _by_words(context: click.Context, param: click.Parameter, value: str | None) -> "tuple[ByWord, ...]":
    from ttmem.analysis.alive import BY_WORDS

    words = tuple(word.strip() for word in value.split(",")) if value is not None else ()
    unknown = [word for word in words if word not in BY_WORDS]
    if unknown:
        raise click.BadParameter(f"{unknown[0]!r} is none of {', '.join(BY_WORDS)}", param=param)
    return words  # type: ignore[return-value]


def _core(context: click.Context, param: click.Parameter, value: str | None) -> tuple[int, int] | str | None:
    """A core by its x and y; "fullest" stays that."""
    if value is None or value == "fullest":
        return value
    match = _CORE.fullmatch(value)
    if match is None:
        raise click.BadParameter(f"{value!r} is no core: give its x and y, such as 3,4, or fullest", param=param)
    return int(match[1]), int(match[2])


def _answers(command: Callable[..., int]) -> Callable[..., int]:
    """A flag for each answer."""
    for name, words in reversed(_ANSWERS.items()):
        command = click.option(f"--{name.replace('_', '-')}", name, is_flag=True, help=words)(command)
    return command


@click.command(short_help="Show what a recording says.")
@click.argument("path", type=RecordingName(), metavar="RECORDING")
@click.option("--peak", "pool_word", type=click.Choice(_PEAK_POOLS), help="Only this pool.")
@click.option("--chip", metavar="CHIP", help="Only this chip, named as for ttmem ps -i.")
@click.option(
    "--at", "moment", metavar="WHEN", help="All pools at 14:03:07, +12.5s, +100ms, peak, incident:PID-N or PHASE."
)
@click.option(
    "--core", "core", callback=_core, metavar="X,Y", help="A core at its highest; fullest: that of each chip."
)
@_answers
@click.option(
    "--by",
    callback=_by_words,
    metavar="WORDS",
    help="Sums by these: site, operation, phase, kind, program, thread, process, tensor, chip, core.",
)
@click.option("--all", "is_whole", is_flag=True, help="All sums, not the largest five.")
@growing_options
@click.option("--json", "is_json", is_flag=True, help="One JSON document (docs/reference/report.md).")
@click.option("-U", "--ascii", "--no-unicode", "is_ascii", is_flag=True, help="Marks in ASCII.")
@click.option("-C", "--no-color", "is_colourless", is_flag=True, help="No colours (NO_COLOR does the same).")
def report(
    *,
    path: Path,
    warmup_count: int | None,
    is_json: bool,
    is_ascii: bool,
    is_colourless: bool,
    **asked: Any,
) -> int:
    """Show what a recording says, on one page: peaks, what was alive then, incidents, holes, advice.

    With --at, all pools at one moment instead; `peak` is the highest of --peak (dram unless said otherwise).
    """
    from ttmem.snapshot.codec import encoded
    from ttmem.view.page import PageOptions
    from ttmem.view.screen import Screen

    growing = [name for name in GROWING if asked[name]]
    if growing:
        _refuse_second(growing[0], asked)
    _refuse_unused({**asked, "warmups": warmup_count})
    recording = opened(path)
    try:
        if growing:
            most = 0 if asked["is_whole"] else _MOST
            looks = {"is_json": is_json, "is_ascii": is_ascii, "is_colourless": is_colourless}
            question = Growing(
                growing[0], asked["pool_word"], asked["chip"], warmup_count if warmup_count is not None else 1
            )
            show_growing(recording, question, most=most, **looks)
            return 0
        with reading(recording):
            found = _answered(recording, **{name: one for name, one in asked.items() if name not in GROWING})
    except SelectionError as error:
        hint = "--core" if str(error).startswith("no core") else "--chip"
        raise click.BadParameter(str(error), param_hint=hint) from error
    screen = Screen(sys.stdout, os.environ, has_colour=not is_colourless)
    if is_json:
        click.echo(encoded(found.figures, is_pretty=screen.is_terminal).decode())
    else:
        screen.show(found.page(PageOptions(screen.width, is_ascii or not screen.is_unicode)))
    return 0


def _refuse_second(first: str, asked: dict[str, Any]) -> None:
    """One question at a time."""
    questions = [name for name in (*GROWING, *_ANSWERS, "core") if name != first and asked.get(name)]
    others = questions + (["at"] if asked["moment"] else [])
    flag = f"--{first.replace('_', '-')}"
    if others:
        other = f"--{others[0].replace('_', '-')}"
        raise click.BadParameter(f"{flag} and {other} are two questions: ask one", param_hint=other)
    if first in GROWING and asked["by"]:
        raise click.BadParameter(f"{flag} is by line: leave out --by", param_hint="--by")


def _refuse_unused(asked: dict[str, Any]) -> None:
    """What a question would pass by is refused."""
    question = next((name for name in _TAKES if asked[name]), None)
    takes = _TAKES[question] if question else (*_PEAK_POOLS, "by")
    flag = f"--{question.replace('_', '-')}" if question else "without --leaks or --growth a report"
    if asked["warmups"] is not None and "warmups" not in takes:
        raise click.BadParameter(f"{flag} leaves out no runs: leave out --warmups", param_hint="--warmups")
    if asked["by"] and "by" not in takes:
        raise click.BadParameter(f"{flag} is not made of sums: leave out --by", param_hint="--by")
    if asked["pool_word"] and asked["pool_word"] not in takes:
        pools = ", ".join(word for word in takes if word in _PEAK_POOLS)
        only = f"looks at {pools} only" if pools else "is not of one pool"
        raise click.BadParameter(f"{flag} {only}: leave out --peak", param_hint="--peak")


def _answered(
    recording: "Recording",
    *,
    pool_word: str | None,
    chip: str | None,
    moment: str | None,
    core: tuple[int, int] | str | None,
    by: "tuple[ByWord, ...]",
    is_whole: bool,
    **flags: bool,
) -> "Answered":
    from ttmem.cli.recorded_answers import RecordedRequest, answered
    from ttmem.devices import Pool

    pool = Pool[pool_word.upper()] if pool_word else None
    asked = RecordedRequest(recording, by or ("site",), pool, chip, 0 if is_whole else _MOST)
    names = [name for name, is_wanted in flags.items() if is_wanted] + (["core"] if core is not None else [])
    if names:
        others = flags | {"core": core is not None, "moment": moment is not None, names[0]: False}
        _refuse_second(names[0], others)
        return answered(names[0], asked._replace(core=core if isinstance(core, tuple) else None))
    if moment is not None or pool is not None or by:
        return _pools(asked, moment)
    return answered("page", asked)


def _pools(asked: "RecordedRequest", moment: str | None) -> "Answered":
    """Pools at their highest, or all at one moment."""
    from ttmem.cli.recorded_answers import Answered
    from ttmem.cli.recorded_answers.pools import at_moment, at_peaks
    from ttmem.collector.recorded import Moment
    from ttmem.view.pages.recording import recording_page

    if moment is None:
        found = at_peaks(asked)
    elif moment == "peak":
        found = at_moment(asked, Moment(asked.recording, peak=highest_peak(asked.recording, asked.pool, asked.chip)))
    else:
        at_ns = moment_ns(asked.recording, moment, pool=asked.pool, chip=asked.chip)
        found = at_moment(asked, Moment(asked.recording, at_ns=at_ns))
    figures = cast("RecordingReport", found.figures)
    return Answered(figures, partial(recording_page, figures, asked=asked.pool))
