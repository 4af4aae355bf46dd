"""Pictures of the monitor while a demo plays: every view, in the sizes and themes that are asked for.

What is drawn is the own picture of MonitorState, the one a terminal would show.
"""

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ttmem.cli.common.request import BANNER
from ttmem.cli.demonstration.directories import apart_from, own_directory, usual_places
from ttmem.cli.demonstration.player import performed
from ttmem.cli.demonstration.workload import Order
from ttmem.figures.source import FigureSource
from ttmem.monitor.feed import FigureQueries, frame_of
from ttmem.monitor.settings import VIEWS, Settings
from ttmem.monitor.state import MonitorState
from ttmem.sources import Places
from ttmem.view.picture import picture

__all__ = ["LOOKS", "SHOTS", "Shot", "Size", "photographed", "taken", "written"]

# What can be taken, and the keys that lead there from the overview.
SHOTS: dict[str, tuple[str, ...]] = {
    **{view: (str(number),) for number, view in enumerate(VIEWS, 1)},
    "process": ("2", "enter"),
    "help": ("f1",),
}
# Other looks of those, which are taken only if they are asked for.
LOOKS: dict[str, tuple[str, ...]] = {
    "all_figures": ("f",),
    "each_chip": ("g",),
    "compact": ("c",),
    "all_columns": ("f", "2"),
}
_LOOK_COUNT = 4  # until everything that a view asks for has been brought


class Size(NamedTuple):
    """Of a terminal."""

    columns: int
    rows: int

    def __str__(self) -> str:
        return f"{self.columns}x{self.rows}"


class Shot(NamedTuple):
    """One picture: what of, how large, how bright."""

    view: str
    size: Size
    is_light: bool = False
    is_ascii: bool = False

    @property
    def name(self) -> str:
        return "-".join(["monitor", self.view.replace("_", "-"), str(self.size), "light" if self.is_light else "dark"])


def photographed(
    orders: Sequence[Order], shots: Sequence[Shot], environ: Mapping[str, str], *, seconds: float
) -> Iterator[tuple[Shot, str]]:
    """Plays workloads for so long, then takes the pictures while they hold what they hold."""
    with own_directory(len(orders), usual_places()) as directory:
        apart = apart_from(environ, directory)
        places = Places(uid=os.geteuid(), directory=directory)
        with (
            performed(orders, directory, places) as performance,
            FigureSource(apart, uid=os.geteuid(), has_daemon=False, is_following=True) as source,
        ):
            source.overview()  # from now on history is recorded
            time.sleep(seconds)
            performance.finish()
            for shot in shots:
                yield shot, taken(shot, source, apart)


def taken(shot: Shot, source: FigureQueries, environ: Mapping[str, str], *, banner: str = BANNER) -> str:
    """The picture of one view, as an SVG text."""
    settings = Settings(theme="light" if shot.is_light else "dark", ascii=shot.is_ascii)
    state = MonitorState(settings, environ, is_readonly=True, banner=banner)
    state.resize(*shot.size)
    state.take(frame_of(source, state.wanted()))
    for key in SHOTS.get(shot.view) or LOOKS[shot.view]:
        state.press(key)
        for _ in range(_LOOK_COUNT):  # what is asked for next may depend on what has come
            state.take(frame_of(source, state.wanted()))
    return picture(state.picture(), title="ttmem", columns=shot.size.columns, is_light=shot.is_light)


def written(shots: Iterator[tuple[Shot, str]], target: Path, *, is_plain: bool) -> Iterator[Path]:
    """One file, or a directory of them; plainly named where a view has one picture only."""
    for shot, text in shots:
        file = target
        if target.suffix != ".svg":
            target.mkdir(parents=True, exist_ok=True)
            file = target / (f"monitor-{shot.view.replace('_', '-')}.svg" if is_plain else f"{shot.name}.svg")
        file.write_text(text, encoding="utf-8")
        yield file
