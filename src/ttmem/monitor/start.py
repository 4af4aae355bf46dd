"""Starts the monitor: the first figures, then textual with a picture of them."""

import gc
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import NoReturn

from ttmem.errors import SelectionError, TtmemError
from ttmem.figures.source import FigureSource
from ttmem.monitor import settings as kept
from ttmem.monitor.desk.desk import Desk
from ttmem.monitor.feed import Sights, asked
from ttmem.monitor.narrowing import NarrowLooking
from ttmem.monitor.options import Options
from ttmem.monitor.screens.frame import Frame
from ttmem.monitor.steadiness import Steadiness
from ttmem.view.colours import Depth, depth_for

__all__ = ["run_monitor"]

_KILLED_BY = 128
_SYSTEMS = {Depth.NONE: "standard", Depth.SIXTEEN: "standard", Depth.INDEXED: "256", Depth.TRUE: "truecolor"}


def run_monitor(
    options: Options, environ: Mapping[str, str], *, opened: Callable[[], AbstractContextManager[Sights]] | None = None
) -> int:
    """Shows it until the user leaves; the exit code. `opened` gives other figures than those of this machine."""
    try:
        steadiness = Steadiness()  # outlives a look that failed
        return _shown(options, environ, opened or (lambda: _looking(options, environ, steadiness)))
    except TtmemError:
        raise
    except Exception as error:  # noqa: BLE001 the terminal is given back, and one line says what broke
        sys.stderr.write(_crash_line(error))
        return 1


def _shown(options: Options, environ: Mapping[str, str], opening: Callable[[], AbstractContextManager[Sights]]) -> int:
    found, notices = kept.load(environ)
    desk = Desk(options.over(found), environ, is_readonly=options.is_readonly, banner=options.banner)
    desk.note = "; ".join(notices)
    depth = depth_for(environ, options.colours, is_terminal=True)
    with _Source(opening) as source, _leaving():
        first = _first_frame(source, desk)
        desk.resize(*shutil.get_terminal_size())
        desk.take(first)
        return _run(desk, source, first, depth=depth, seconds=options.seconds)


def _run(desk: Desk, source: "_Source", first: Frame, *, depth: Depth, seconds: float | None) -> int:
    os.environ["TEXTUAL_COLOR_SYSTEM"] = _SYSTEMS[depth]
    os.environ["TEXTUAL_ANIMATIONS"] = "none"
    gc.disable()  # while textual is loaded: 5 to 10 % of the promise "first frame" (`./run bench monitor`)
    from ttmem.monitor.terminal.app import Monitor
    from ttmem.monitor.terminal.driver import drawn_on_stdout

    gc.freeze()
    gc.enable()
    app = Monitor(desk, source.opened, has_colour=depth is not Depth.NONE, first=first, seconds=seconds)
    with drawn_on_stdout():
        app.run()
    if app.crash is not None:
        raise app.crash
    return app.return_code or 0


class _Source:
    """Figures that are already there for the first who asks, and opened anew for whoever asks again."""

    def __init__(self, opening: Callable[[], AbstractContextManager[Sights]]) -> None:
        self._opening = opening
        self._manager: AbstractContextManager[Sights] | None = None
        self.sights: Sights | None = None

    def __enter__(self) -> "_Source":
        self._manager = self._opening()
        self.sights = self._manager.__enter__()
        return self

    def __exit__(self, *reason: object) -> None:
        self.close()

    def close(self) -> None:
        manager, self._manager = self._manager, None
        if manager is not None:
            manager.__exit__(None, None, None)

    @contextmanager
    def opened(self) -> Iterator[Sights]:
        if self._manager is None:
            self.__enter__()
        assert self.sights is not None
        try:
            yield self.sights
        finally:
            self.close()


def _looking(options: Options, environ: Mapping[str, str], steadiness: Steadiness) -> FigureSource:
    looking = NarrowLooking(environ, uid=os.geteuid(), has_daemon=options.has_daemon, is_following=True)
    looking.selection, looking.words_of, looking.steadiness = options.selection, options.words_of, steadiness
    return looking


def _first_frame(source: _Source, desk: Desk) -> Frame:
    """Before anything is painted, so that a device that is not there is said on a terminal that can be read."""
    assert source.sights is not None
    try:
        return asked(source.sights, desk.wanted())
    except SelectionError:
        raise
    except (TtmemError, OSError) as error:
        return Frame(trouble=str(error))


def _crash_line(error: Exception) -> str:
    """One line that says what broke and where; all of it for those who ask."""
    import traceback  # here, since only crashes pay for it

    if os.environ.get("TTMEM_TRACEBACK"):
        return "".join(traceback.format_exception(error))
    last = traceback.extract_tb(error.__traceback__)[-1:]
    where = "".join(f" at {os.path.basename(frame.filename)}:{frame.lineno}" for frame in last)
    words = " ".join(str(error).split())
    return f"ttmem: the monitor failed{where}: {type(error).__name__}: {words} (TTMEM_TRACEBACK=1 tells more)\n"


@contextmanager
def _leaving() -> Iterator[None]:
    """Until the toolkit hears signals itself, they end us in order."""
    before = {number: signal.signal(number, _leave) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _leave(number: int, frame: object) -> NoReturn:
    sys.exit(_KILLED_BY + number)
