"""A snapshot as it is sent: it says what the snapshot says, and its tag changes with everything but the moment."""

from tests.support.simulated.figures import a_busy_snapshot
from tests.support.simulated.overviews import an_overview
from ttmem.daemon.queries.frames import encoded_frame
from ttmem.snapshot import Snapshot, TimeNs, replace
from ttmem.snapshot.codec import decoded


def test_it_says_what_the_snapshot_says() -> None:
    overview = an_overview()
    for shown in (overview, replace(overview, processes=()), a_busy_snapshot()):
        assert decoded(encoded_frame(shown).body, Snapshot) == shown


def test_the_version_comes_first_and_then_the_moment() -> None:
    overview = an_overview()

    assert encoded_frame(overview).body.startswith(b'{"schema":2,"time_ns":"%d",' % overview.time_ns)


def test_the_tag_stays_as_long_as_only_time_passes() -> None:
    overview = an_overview()
    first = encoded_frame(overview)
    later = encoded_frame(replace(overview, time_ns=TimeNs(overview.time_ns + 1_000_000_000)))

    assert later.tag == first.tag
    assert later.time_ns == first.time_ns + 1_000_000_000
    assert decoded(later.body, Snapshot).time_ns == later.time_ns


def test_the_tag_changes_with_a_process_a_chip_or_a_place() -> None:
    overview = an_overview()
    [row, *rows] = overview.processes
    [usage, *usages] = overview.devices
    tags = [
        encoded_frame(shown).tag
        for shown in (
            overview,
            replace(overview, processes=(replace(row, live_count=12345), *rows)),
            replace(overview, devices=(replace(usage, launch_count=54321), *usages)),
            replace(overview, places=("/elsewhere",)),
        )
    ]

    assert len(set(tags)) == len(tags)
    assert encoded_frame(overview).tag == tags[0]
