"""Starts the monitor: the first figures, then textual with a picture of them."""

import gc
import os
import shutil
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import NoReturn

from ttmem.errors import SelectionError, TtmemError
from ttmem.figures.source import FigureSource
from ttmem.monitor.app import Monitor, drawn_on_stdout
from ttmem.monitor.feed import DaemonLossCheck, FigureQueries, SelectedFigures, frame_of
from ttmem.monitor.options import Options
from ttmem.monitor.parts.drawing import MonitorFrame
from ttmem.monitor.settings import load
from ttmem.monitor.state import MonitorState
from ttmem.view.screen import Depth, depth_for

__all__ = ["run_monitor"]

_KILLED_BY = 128


def run_monitor(
    options: Options,
    environ: Mapping[str, str],
    *,
    opened: Callable[[], AbstractContextManager[FigureQueries]] | None = None,
) -> int:
    """Shows it until the user leaves; the exit code. `opened` gives other figures than those of this machine."""
    try:
        loss_check = DaemonLossCheck()  # outlives a query that failed
        return _shown(options, environ, opened or (lambda: _selected_figures(options, environ, loss_check)))
    except TtmemError:
        raise
    except Exception as error:  # noqa: BLE001 the terminal is given back, and one line says what broke
        sys.stderr.write(_crash_line(error))
        return 1


def _shown(
    options: Options, environ: Mapping[str, str], opening: Callable[[], AbstractContextManager[FigureQueries]]
) -> int:
    found, notices = load(environ)
    depth = depth_for(environ, options.colours, is_terminal=True)
    state = MonitorState(
        options.over(found),
        environ,
        is_readonly=options.is_readonly,
        banner=options.banner,
        replay=options.replay,
        is_colourless=depth is Depth.NONE,
    )
    state.note = "; ".join(notices)
    with _OpenFigures(opening) as source, _leaving():
        first = _first_frame(source, state)
        state.resize(*shutil.get_terminal_size())
        state.take(first)
        return _run(state, source, first, depth=depth, seconds=options.seconds)


def _run(
    state: MonitorState, source: "_OpenFigures", first: MonitorFrame, *, depth: Depth, seconds: float | None
) -> int:
    gc.freeze()  # the toolkit's own objects are not visited again
    app = Monitor(state, source.opened, depth=depth, first=first, seconds=seconds)
    with drawn_on_stdout():
        app.run()
    if app.crash is not None:
        raise app.crash
    return app.return_code or 0


class _OpenFigures:
    """A source of figures that is open for the first query, and opened again after an error."""

    def __init__(self, opening: Callable[[], AbstractContextManager[FigureQueries]]) -> None:
        self._opening = opening
        self._manager: AbstractContextManager[FigureQueries] | None = None
        self.queries: FigureQueries | None = None

    def __enter__(self) -> "_OpenFigures":
        self._manager = self._opening()
        self.queries = self._manager.__enter__()
        return self

    def __exit__(self, *reason: object) -> None:
        self.close()

    def close(self) -> None:
        manager, self._manager = self._manager, None
        if manager is not None:
            manager.__exit__(None, None, None)

    @contextmanager
    def opened(self) -> Iterator[FigureQueries]:
        if self._manager is None:
            self.__enter__()
        assert self.queries is not None
        try:
            yield self.queries
        finally:
            self.close()


def _selected_figures(options: Options, environ: Mapping[str, str], loss_check: DaemonLossCheck) -> FigureSource:
    source = SelectedFigures(environ, uid=os.geteuid(), has_daemon=options.has_daemon, is_following=True)
    source.selection, source.words_of, source.loss_check = options.selection, options.words_of, loss_check
    return source


def _first_frame(source: _OpenFigures, state: MonitorState) -> MonitorFrame:
    """Before anything is painted, so that a device that is not there is reported on a readable terminal."""
    assert source.queries is not None
    try:
        return frame_of(source.queries, state.wanted())
    except SelectionError:
        raise
    except (TtmemError, OSError) as error:
        return MonitorFrame(trouble=str(error))


def _crash_line(error: Exception) -> str:
    """One line that says what broke and where; with TTMEM_TRACEBACK the whole traceback."""
    if os.environ.get("TTMEM_TRACEBACK"):
        return "".join(traceback.format_exception(error))
    last = traceback.extract_tb(error.__traceback__)[-1:]
    where = "".join(f" at {os.path.basename(frame.filename)}:{frame.lineno}" for frame in last)
    words = " ".join(str(error).split())
    return f"ttmem: the monitor failed{where}: {type(error).__name__}: {words} (TTMEM_TRACEBACK=1 shows more)\n"


@contextmanager
def _leaving() -> Iterator[None]:
    """Until the toolkit handles signals itself, they end the monitor in order."""
    before = {number: signal.signal(number, _leave) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _leave(number: int, frame: object) -> NoReturn:
    sys.exit(_KILLED_BY + number)
