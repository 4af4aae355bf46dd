"""The line of a replay: where one is, and what happened where in the recording."""

import pytest

from ttmem.figures.replay_clock import ReplayClock, ReplayMark
from ttmem.monitor.parts.drawing import DrawArea, MonitorFrame
from ttmem.monitor.parts.replay_line import replay_line
from ttmem.view.table import Role

SECOND = 1_000_000_000


def a_clock(at_s: float, *marks: ReplayMark) -> ReplayClock:
    clock = ReplayClock(100 * SECOND, 200 * SECOND, clock=lambda: 0.0)
    clock.grow(200 * SECOND, marks, has_grown=False)
    clock.step(at_s)
    clock.take()
    return clock


def shown(clock: ReplayClock, width: int = 120, *, is_ascii: bool = True) -> str:
    line = replay_line(clock.shown(), MonitorFrame(), DrawArea(width, 30, is_ascii=is_ascii))
    return "".join(span.text for span in line)


def a_mark(at_s: int, what: str = "phase") -> ReplayMark:
    return ReplayMark((100 + at_s) * SECOND, what, f"at {at_s}")  # type: ignore[arg-type]


@pytest.mark.parametrize(("at_s", "column"), [(0, 0), (50, 0.5), (100, 1)])
def test_the_place_on_the_bar_is_that_in_the_recording(at_s: int, column: float) -> None:
    text = shown(a_clock(at_s))
    bar = text.split()[-1]

    assert f"+{at_s}.000 s of 100.0 s" in text
    assert bar.index("O") == min(len(bar) - 1, int(column * len(bar)))
    assert set(bar) <= {"=", "O", "-"}


def test_incidents_and_phases_stand_where_they_happened_and_the_newest_in_words() -> None:
    clock = a_clock(60, a_mark(0), a_mark(25, "incident"), a_mark(100, "incident"), a_mark(99))
    text = shown(clock)
    bar = text.split("s  ")[1].split()[0]

    assert (bar[0], bar[len(bar) // 4], bar[-1]) == (":", "!", "!")
    assert text.rstrip().endswith("incident at 25")
    assert Role.BADGE in {span.role for span in replay_line(clock.shown(), MonitorFrame(), DrawArea(120, 30))}


def test_an_incident_is_seen_also_where_one_stands_on_it() -> None:
    assert "!" in shown(a_clock(50, a_mark(50, "incident")))


@pytest.mark.parametrize("width", [1, 20, 40, 79, 80, 99, 100, 220])
def test_it_is_never_wider_than_the_screen(width: int) -> None:
    assert len(shown(a_clock(33.3, a_mark(10)), width, is_ascii=False)) <= width
