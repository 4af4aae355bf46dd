"""What a viewer keeps of the last overview: every chip and process whose bytes are the same is the same object."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.simulated.overviews import an_overview
from tests.support.simulated.random_rows import snapshots
from ttmem.collector.rows.sums import overview_of
from ttmem.errors import VersionMismatch
from ttmem.figures.last_overview import LastOverview
from ttmem.snapshot import Snapshot, TimeNs, replace
from ttmem.snapshot.codec import decoded, encoded

LATER = TimeNs(1_700_000_001_000_000_000)


def test_what_has_not_changed_is_the_same_object() -> None:
    last, overview = LastOverview(), an_overview()
    [row, *rows], [usage, *usages] = overview.processes, overview.devices
    changed = replace(
        overview,
        time_ns=LATER,
        processes=(replace(row, live_count=12345), *rows),
        devices=(replace(usage, launch_count=54321), *usages),
    )

    first = last.decoded(encoded(overview), '"1"')
    second = last.decoded(encoded(changed), '"2"')

    assert (first, second) == (overview, changed)
    assert [one is other for one, other in zip(first.processes, second.processes, strict=True)] == [
        False,
        *[True] * len(rows),
    ]
    assert [one is other for one, other in zip(first.devices, second.devices, strict=True)] == [
        False,
        *[True] * len(usages),
    ]


def test_rows_may_come_go_and_change_places() -> None:
    last, overview = LastOverview(), an_overview()
    first = last.decoded(encoded(overview), "")
    turned = last.decoded(encoded(replace(overview, processes=overview.processes[::-1], devices=())), "")
    again = last.decoded(encoded(overview), "")

    assert all(one is other for one, other in zip(first.processes, turned.processes[::-1], strict=True))
    assert all(one is other for one, other in zip(first.processes, again.processes, strict=True))
    assert (turned.devices, again.devices) == ((), overview.devices)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(snapshots(), max_size=3))
def test_it_decodes_as_one_who_remembers_nothing(answers: list[Snapshot]) -> None:
    last = LastOverview()
    for snapshot in answers:
        for shown in (snapshot, overview_of(snapshot)):
            text = encoded(shown)
            assert last.decoded(text, "") == decoded(text, Snapshot) == shown


def test_an_answer_that_is_equal_as_a_whole_is_the_last_one_at_another_moment() -> None:
    last, overview = LastOverview(), an_overview()
    assert last.headers == {}
    first = last.decoded(encoded(overview), '"7"')
    again = last.again('"7"', str(LATER))

    assert last.headers == {"If-None-Match": '"7"'}
    assert again == replace(overview, time_ns=LATER)
    assert again is not None
    assert (again.devices is first.devices, again.processes is first.processes) == (True, True)


@pytest.mark.parametrize(("tag", "time_ns"), [('"8"', "5"), ('"7"', ""), ('"7"', "-5"), ('"7"', "9" * 5000)])
def test_of_another_one_or_at_no_moment_it_is_asked_for_again(tag: str, time_ns: str) -> None:
    last = LastOverview()
    last.decoded(encoded(an_overview()), '"7"')

    assert last.again(tag, time_ns) is None


def test_without_a_tag_nothing_is_asked_for_by_tag() -> None:
    last = LastOverview()
    last.decoded(encoded(an_overview()), "")

    assert (last.headers, last.again("", "5")) == ({}, None)


def test_a_row_that_makes_no_sense_is_refused_and_the_last_overview_stays() -> None:
    last, text = LastOverview(), encoded(an_overview())
    first = last.decoded(text, '"7"')
    with pytest.raises(VersionMismatch, match="Invalid enum value 'asleep'"):
        last.decoded(text.replace(b'"state":"live"', b'"state":"asleep"', 1), '"8"')

    assert last.headers == {"If-None-Match": '"7"'}
    assert last.decoded(text, '"7"').processes[0] is first.processes[0]
