"""The text of an overview says what its document says, and its tag changes with everything but the moment."""

import json

from tests.support.simulated.sights import an_overview
from ttmem.daemon.answering.overview_text import OverviewText
from ttmem.snapshot.sights.documents.overview import overview_document


def test_the_text_is_the_document() -> None:
    text, overview = OverviewText(), an_overview()
    for shown in (overview, overview._replace(processes=()), overview):
        assert json.loads(text.written(shown).body) == overview_document(shown)


def test_the_tag_stays_as_long_as_only_time_passes() -> None:
    text, overview = OverviewText(), an_overview()
    first = text.written(overview)
    later = text.written(overview._replace(time_ns=overview.time_ns + 1_000_000_000))

    assert later.tag == first.tag
    assert later.time_ns == first.time_ns + 1_000_000_000
    assert json.loads(later.body)["time_ns"] == later.time_ns


def test_the_tag_changes_with_a_process_a_chip_or_a_finding() -> None:
    text, overview = OverviewText(), an_overview()
    [row, *rows] = overview.processes
    [usage, *usages] = overview.devices
    tags = [
        text.written(shown).tag
        for shown in (
            overview,
            overview._replace(processes=(row._replace(live_count=12345), *rows)),
            overview._replace(devices=(usage._replace(launch_count=54321), *usages)),
            overview._replace(places=("/elsewhere",)),
        )
    ]
    assert len(set(tags)) == len(tags)
    assert OverviewText().written(overview).tag not in tags
