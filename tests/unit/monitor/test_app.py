"""The monitor in its toolkit, without a terminal: every key arrives by its name, the mouse points, figures come."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
from textual.geometry import Region
from textual.pilot import Pilot

from tests.support.simulated.figure_queries import SimulatedQueries
from tests.support.timing.waiting import PATIENCE_SECONDS
from tests.unit.monitor.test_every_key import text_of
from ttmem.monitor import app as app_module
from ttmem.monitor import feed as feed_module
from ttmem.monitor.app import Monitor
from ttmem.monitor.panels.keys import KEYS
from ttmem.monitor.settings import Settings
from ttmem.monitor.state import MonitorState
from ttmem.view.table import Role


@asynccontextmanager
async def shown(
    tmp_path: Path, queries: SimulatedQueries | None = None, *, interval: float = 1000.0, view: str = "overview"
) -> "AsyncIterator[tuple[Monitor, Pilot[None]]]":
    state = MonitorState(
        Settings(view=view, interval=interval),
        {"XDG_CONFIG_HOME": str(tmp_path)},
        is_readonly=False,
        banner="simulated",
    )
    app = Monitor(state, (queries or SimulatedQueries()).opened)
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: app.monitor_state.frame.overview is not None)
        yield app, pilot


async def until(pilot: "Pilot[None]", is_so: Callable[[], object]) -> None:
    """Lets the toolkit work until something is so."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not is_so():
        assert time.monotonic() < deadline, "it did not become so"
        await pilot.pause(0.001)


def on_screen(app: Monitor) -> str:
    """What the canvas really paints."""
    canvas = app.canvas
    return "\n".join(canvas.render_line(row).text.rstrip() for row in range(canvas.size.height))


@pytest.mark.parametrize("part", range(3))
def test_every_key_arrives_by_its_name_in_the_table(tmp_path: Path, part: int) -> None:
    names = [name for key in KEYS for name in key.names][part::3]

    async def story() -> list[str]:
        arrived: list[str] = []
        async with shown(tmp_path) as (app, pilot):
            app.monitor_state.press = arrived.append  # type: ignore[method-assign, assignment]
            for name in names:
                await pilot.press(name)
        return arrived

    assert asyncio.run(story()) == names


def test_the_picture_is_on_screen_and_follows_keys_clicks_and_the_wheel(tmp_path: Path) -> None:
    async def story() -> None:
        async with shown(tmp_path) as (app, pilot):
            await pilot.pause()
            assert on_screen(app) == text_of(app.monitor_state.picture())
            assert "simulated" in on_screen(app)
            await pilot.click(offset=(23, 0))
            assert app.monitor_state.view == "processes"
            await pilot.press("down", "down")
            assert "4004" in selected(app)
            await pilot.click(offset=(10, 3))
            assert "4006" in selected(app)
            app.monitor_state.wheel(1)
            assert "4003" in selected(app)
            await pilot.click(offset=(10, 4), times=2)
            await until(pilot, lambda: app.monitor_state.frame.detail is not None)
            assert app.monitor_state.views.state("processes").opened is not None
            await pilot.pause()
            assert on_screen(app) == text_of(app.monitor_state.picture())

    asyncio.run(story())


def selected(app: Monitor) -> str:
    """The row under the cursor."""
    return next(
        "".join(span.text for span in line)
        for line in app.monitor_state.picture()[1:]
        if any(span.role is Role.SELECTED for span in line)
    )


def has_rows(app: Monitor, count: int) -> bool:
    return len(on_screen(app).split("\n")) == count


def test_another_size_is_drawn_at_once(tmp_path: Path) -> None:
    async def story() -> None:
        async with shown(tmp_path) as (app, pilot):
            for size in ((80, 24), (200, 60), (20, 5), (1, 1)):
                await pilot.resize_terminal(*size)
                await until(pilot, partial(has_rows, app, size[1]))
                await until(pilot, lambda: on_screen(app) == text_of(app.monitor_state.picture()))

    asyncio.run(story())


def test_lost_figures_are_grey_and_come_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed_module, "_LEAST_RETRY_SECONDS", 0.01)

    async def story() -> None:
        queries = SimulatedQueries()
        async with shown(tmp_path, queries, interval=0.1) as (app, pilot):
            queries.is_gone = True
            await until(pilot, lambda: app.monitor_state.frame.trouble)
            body = app.monitor_state.picture()[1:-1]
            assert {span.role for line in body for span in line} == {Role.LOST}
            assert "no new figures, trying again: no answer there" in on_screen(app)
            assert "4006" in on_screen(app)  # the figures are still to be read
            queries.is_gone = False
            await until(pilot, lambda: not app.monitor_state.frame.trouble)
            await pilot.pause()
            assert "no new figures" not in on_screen(app)

    asyncio.run(story())


def test_keys_are_obeyed_while_figures_hang_and_that_they_do_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app_module, "_PATIENCE_SECONDS", 0.1)

    async def story() -> None:
        queries, may_answer = SimulatedQueries(), threading.Event()
        async with shown(tmp_path, queries, interval=0.1) as (app, pilot):
            answer = queries.overview
            monkeypatch.setattr(queries, "overview", lambda: may_answer.wait() and answer())
            try:
                await until(pilot, lambda: app.monitor_state.frame.trouble)
                await pilot.press("2", "down")
                assert app.monitor_state.view == "processes"
                await pilot.pause()
                assert "no answer for 0 s" in on_screen(app)
            finally:
                may_answer.set()
            await until(pilot, lambda: not app.monitor_state.frame.trouble)

    asyncio.run(story())


def test_text_that_is_pasted_is_typed_into_a_prompt_only(tmp_path: Path) -> None:
    async def story() -> None:
        from textual.events import Paste

        async with shown(tmp_path, view="processes") as (app, pilot):
            app.post_message(Paste("qq"))
            await pilot.press("/")
            app.post_message(Paste("res net\x1b"))
            await pilot.pause()
            assert app.monitor_state.views.state("processes").query == "res net"

    asyncio.run(story())


@pytest.mark.parametrize(("key", "code"), [("q", 0), ("f10", 0), ("ctrl+c", 0)])
def test_leaving_ends_with_zero(tmp_path: Path, key: str, code: int) -> None:
    async def story() -> int | None:
        async with shown(tmp_path) as (app, pilot):
            await pilot.press(key)
        return app.return_code

    assert asyncio.run(story()) == code


def test_a_line_that_did_not_change_is_not_painted_again(tmp_path: Path) -> None:
    async def story() -> None:
        async with shown(tmp_path, view="processes") as (app, pilot):
            await pilot.pause()
            painted: list[Region] = []
            app.canvas.refresh = lambda *regions: painted.extend(regions)  # type: ignore[method-assign, assignment]
            await pilot.press("down")
            rows = [on_screen(app).split("\n")[region.y] for region in painted]
            assert 0 < len(rows) <= 5
            assert any("4006" in row for row in rows)  # the row the cursor is on now
            assert all(region.height == 1 and region.width == 100 for region in painted)

    asyncio.run(story())


def test_an_error_of_ours_ends_it_and_is_reported_in_one_line(tmp_path: Path) -> None:
    def broken(name: str) -> None:
        raise RuntimeError("a fault for the test")

    async def story() -> Monitor:
        async with shown(tmp_path) as (app, pilot):
            app.monitor_state.press = broken  # type: ignore[method-assign, assignment]
            await pilot.press("x")
        return app

    app = asyncio.run(story())
    assert isinstance(app.crash, RuntimeError)
    assert app.return_code == 1
