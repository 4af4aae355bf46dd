"""Incidents: red where they happened while they are news, a grey count afterwards; and the view that explains them."""

import re
from typing import Any

import pytest

from tests.support.simulated.figures import NOON_NS, a_device, a_process, a_snapshot, an_incident
from ttmem.analysis import explain
from ttmem.collector.rows.sums import overview_of
from ttmem.monitor.parts.chips.figures import chip_views
from ttmem.monitor.parts.drawing import DrawArea, MonitorFrame, seen_name
from ttmem.monitor.screens import incidents, overview
from ttmem.snapshot.incidents import without_copy
from ttmem.view import plain
from ttmem.view.table import Role

AREAS = (DrawArea(80, 22), DrawArea(120, 38), DrawArea(200, 58))
HOUR_NS = 3600 * 10**9


def a_frame(*told: dict[str, Any], **changes: Any) -> MonitorFrame:
    """Two chips and one process with these incidents, each explained by its own figures."""
    process = a_process(1, incidents=list(told), incident_count=changes.pop("incident_count", len(told)), **changes)
    frame = MonitorFrame(overview=overview_of(a_snapshot(devices=[a_device(0), a_device(1)], processes=[process])))
    explained = {
        (one.pid, one.incident.number): explain(without_copy(one.pid, one.incident)) for one in frame.incidents
    }
    return frame._replace(explanations=explained)


def text_of(frame: MonitorFrame, area: DrawArea) -> str:
    return plain(list(incidents.draw(frame, area, incidents.INITIAL).lines))


@pytest.mark.parametrize("area", AREAS)
def test_an_incident_is_red_on_its_chip_and_its_process_while_it_is_news(area: DrawArea) -> None:
    lines = overview.draw(a_frame(an_incident()), area, overview.INITIAL).lines
    red = " ".join(span.text for line in lines for span in line if span.role in (Role.BADGE, Role.FULL))

    assert "out of memory" in red
    assert "✖ 1 incident" in red
    assert "job-1" in red


@pytest.mark.parametrize("area", [*AREAS, DrawArea(100, 28), DrawArea(120, 24), DrawArea(80, 40)])
@pytest.mark.parametrize(("chips", "processes"), [(2, 1), (5, 2), (6, 9), (8, 3), (32, 12)])
def test_the_first_screen_names_kind_chips_process_amount_and_line_however_full_it_is(
    area: DrawArea, chips: int, processes: int
) -> None:
    refused = a_process(1, incidents=[an_incident()], incident_count=1)
    others = [a_process(n) for n in range(2, processes + 1)]
    snapshot = a_snapshot(devices=[a_device(n) for n in range(chips)], processes=[refused, *others])

    lines = overview.draw(MonitorFrame(overview=overview_of(snapshot)), area, overview.INITIAL).lines

    name = f"{MonitorFrame(overview=overview_of(snapshot)).incidents[0].pid}-1"
    texts = [plain([line]) for line in lines]
    at = next(at for at, text in enumerate(texts) if name in text)
    told = " ".join(texts[at : at + 5])
    assert re.search("out of memory", told, re.I)
    assert re.search("chips 0-1", told)
    assert re.search(r"asked (512 KiB|32.0 MiB)", told)
    assert "model.py:118" in told


@pytest.mark.parametrize("area", AREAS)
@pytest.mark.parametrize("is_seen", [False, True])
def test_afterwards_or_once_it_was_seen_it_is_a_grey_count(area: DrawArea, is_seen: bool) -> None:
    frame = a_frame(an_incident() if is_seen else an_incident(time_ns=NOON_NS - HOUR_NS))
    if is_seen:
        frame = frame._replace(seen=frozenset(seen_name(one) for one in frame.incidents))

    lines = overview.draw(frame, area, overview.INITIAL).lines

    assert not any(span.role in (Role.BADGE, Role.FULL) for line in lines for span in line)
    assert "1 incident" in plain(list(lines))
    assert frame.fresh_count == 0


def test_an_incident_that_happens_again_is_news_again() -> None:
    before = a_frame(an_incident(time_ns=NOON_NS - 5 * 10**9))
    seen = frozenset(seen_name(one) for one in before.incidents)

    again = a_frame(an_incident(time_ns=NOON_NS - 5 * 10**9, last_time_ns=NOON_NS, repeat_count=1))

    assert before._replace(seen=seen).fresh_count == 0
    assert again._replace(seen=seen).fresh_count == 1


def test_the_card_of_a_chip_without_incidents_says_so() -> None:
    frame = a_frame()

    assert frame.incidents == []
    assert [chip.news for chip in chip_views(frame, is_ascii=False)] == [None, None]
    assert "no incidents" in plain(list(overview.draw(frame, AREAS[1], overview.INITIAL).lines))


@pytest.mark.parametrize("area", AREAS)
def test_the_view_says_in_a_sentence_why_and_who_asked_and_what_to_do(area: DrawArea) -> None:
    text = " ".join(text_of(a_frame(an_incident()), area).split())

    for part in ("Out of memory in L1", "was refused", "asked by", "model.py:118 forward", "chips 0-1", "job-1"):
        assert part in text
    assert "what to do" in text


def test_what_was_lost_is_said_and_never_nothing() -> None:
    frame = a_frame(an_incident(), incident_count=4)

    assert frame.incident_count - len(frame.incidents) == 3
    assert "3 earlier incidents, details not kept" in text_of(frame, AREAS[1])
    assert text_of(a_frame(), AREAS[1]).startswith(" No incidents")


def test_the_cursor_goes_from_incident_to_incident_and_only_those_shown_are_asked_for() -> None:
    old = [an_incident(number, time_ns=NOON_NS - (99 - number) * 60 * 10**9) for number in range(1, 9)]
    frame = a_frame(*old)
    state = incidents.INITIAL

    assert incidents.wanted(frame, state).incidents == ((4001, 8), (4001, 7), (4001, 6))
    state = incidents.acted("down", state, frame, AREAS[1])
    assert incidents.wanted(frame, state).incidents[0] == (4001, 7)
    assert incidents.acted("end", state, frame, AREAS[1]).at == 7
    assert incidents.draw(frame, AREAS[1], state).hidden_count > 0
    assert incidents.pointed(2, state).at == 2


def test_an_incident_can_be_copied_as_plain_text() -> None:
    text = incidents.copied(incidents.INITIAL, a_frame(an_incident()))

    assert text.isascii()
    assert text.startswith("Out of memory in L1")
    assert incidents.copied(incidents.INITIAL, a_frame()) == ""


@pytest.mark.parametrize("height", [1, 2, 3, 8, 22])
def test_the_height_of_the_screen_stays(height: int) -> None:
    for width in (80, 120):
        area = DrawArea(width, height)
        frame = a_frame(an_incident(), an_incident(2))
        for drawn in (overview.draw(frame, area, overview.INITIAL), incidents.draw(frame, area, incidents.INITIAL)):
            assert len(drawn.lines) <= height
            assert max(sum(span.width for span in line) for line in drawn.lines) <= width
