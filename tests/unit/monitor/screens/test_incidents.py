"""Incidents on the monitor's first screen, in its footer and among alerts."""

from typing import Any

import pytest

from tests.support.simulated.figures import NOON_NS, a_device, a_process, a_snapshot, an_incident
from ttmem.collector.rows.sums import overview_of
from ttmem.monitor.panels.page import alert_lines
from ttmem.monitor.parts.drawing import DrawArea, MonitorFrame
from ttmem.monitor.screens.overview import OverviewState, chip_marks, draw, fresh_count, incident_lines
from ttmem.view import plain
from ttmem.view.table import Role

AREA = DrawArea(width=80, height=22)


def a_frame(*incidents: dict[str, Any], **changes: Any) -> MonitorFrame:
    process = a_process(1, incidents=list(incidents), incident_count=len(incidents), **changes)
    snapshot = a_snapshot(devices=[a_device(0), a_device(1)], processes=[process])
    return MonitorFrame(overview=overview_of(snapshot))


def test_the_first_screen_names_kind_chips_pid_asked_and_the_line() -> None:
    text = plain(list(draw(a_frame(an_incident()), AREA, OverviewState()).lines))

    for part in ("1 incident", "OUT OF MEMORY", "chips 0-1", "4001-1", "asked 512 KiB/core", "model.py:118"):
        assert part in text
    assert "ttmem explain 4001-1 says why" in text


def test_nothing_is_said_where_nothing_was() -> None:
    frame = a_frame()

    assert (incident_lines(frame, AREA), chip_marks(frame), fresh_count(frame)) == ((), {}, 0)
    assert plain(alert_lines(frame, AREA)).strip() == "No incidents, no findings."


def test_only_the_newest_of_those_that_are_no_news_has_a_line() -> None:
    old = [an_incident(number, time_ns=NOON_NS - (99 - number) * 60 * 10**9) for number in (1, 2, 3)]

    first, second = (plain([line]).strip() for line in incident_lines(a_frame(*old), AREA))

    assert "4001-3" in first
    assert second == "ttmem explain 4001-3 says why and what to free. 2 more incidents: A lists them."
    assert fresh_count(a_frame(*old)) == 0


def test_chips_of_an_incident_are_marked_in_red_while_it_is_news() -> None:
    old = an_incident(time_ns=NOON_NS - 3600 * 10**9)

    assert set(chip_marks(a_frame(an_incident())).values()) == {Role.FULL}
    assert set(chip_marks(a_frame(old)).values()) == {Role.DIM}
    assert len(chip_marks(a_frame(old))) == 2


@pytest.mark.parametrize("height", [1, 2, 3, 8, 22])
def test_the_height_of_the_screen_stays(height: int) -> None:
    drawn = draw(a_frame(an_incident()), AREA._replace(height=height), OverviewState())

    assert len(drawn.lines) <= height


def test_alerts_show_all_figures_and_what_to_do() -> None:
    text = " ".join(plain(alert_lines(a_frame(an_incident()), AREA)).split())

    assert "OUT OF MEMORY pid 4001-1 job-1" in text
    assert "asked 512 KiB per core on 64 cores, free 485 KiB, largest block 301 KiB per core" in text
    assert "Asked by model.py:118 forward < demo.py:201 main, phase decode" in text
    assert "ttmem explain 4001-1" in text
