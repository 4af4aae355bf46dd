"""What a screen is given, and what it gives back.

A screen is a function `draw(frame, look, state) -> Drawing`: from the newest sights, the size and style to draw in, and
what the user chose on that screen. It keeps nothing, asks nobody and is called again whenever one of the three changes.

A screen's module has, besides, what the app needs to know of it:

    class State                                           frozen, `State()` is how it opens
    draw(frame, look, state) -> Drawing
    acted(action, state, frame, look) -> State            what a key does; the same state if it does nothing here
    pointed(hit, state) -> State                          what a click on a row does: `hit` is a value of Drawing.hits
    wanted(frame, state) -> Wanted                        what has to be asked for
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple

from ttmem.view.spans import Line

if TYPE_CHECKING:  # the first picture does not wait for sights that are not on it
    from ttmem.snapshot.chip_map import ChipMap
    from ttmem.snapshot.history import History
    from ttmem.snapshot.kernel_table import KernelTable
    from ttmem.snapshot.process_detail import ProcessDetail
    from ttmem.snapshot.telemetry import ChipTelemetry
    from ttmem.snapshot.usage import Snapshot

__all__ = ["Drawing", "Frame", "Layout", "Look", "Spot", "Wanted"]

Layout = Literal["auto", "full", "compact"]


class Frame(NamedTuple):
    """The newest of everything that was asked for; what nobody looks at is None."""

    overview: "Snapshot | None" = None
    chip: "ChipMap | None" = None
    kernels: "KernelTable | None" = None
    detail: "ProcessDetail | None" = None
    history: "History | None" = None
    telemetry: "tuple[ChipTelemetry, ...] | None" = None
    trouble: str = ""  # why the figures are old; empty while they come


class Wanted(NamedTuple):
    """What a screen needs to be asked for: exactly what is on it. Devices by a word as `ps -i` takes them."""

    has_overview: bool = True
    chip: str | None = None
    kernels: str | None = None
    kernel_most: int = 200
    detail: int | None = None  # key of a process
    history_seconds: int | None = None
    has_telemetry: bool = False


class Look(NamedTuple):
    """How to draw: exactly so many columns, at most so many rows."""

    width: int
    height: int
    is_ascii: bool = False
    layout: Layout = "auto"


class Spot(NamedTuple):
    """A part of a row that stands for a chip, where several share one: columns from `begin` up to `end`."""

    row: int
    begin: int
    end: int
    number: int  # of the device


class Drawing(NamedTuple):
    """Lines from top to bottom, and what lies where: row of the drawing -> key of a process, number of a device."""

    lines: tuple[Line, ...]
    hits: Mapping[int, int] = MappingProxyType({})
    spots: tuple[Spot, ...] = ()  # chips, on a screen that shows several in a row
    hidden_count: int = 0  # rows that are there and do not fit, below or above
