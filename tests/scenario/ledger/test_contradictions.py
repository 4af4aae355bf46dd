"""What a chip is said to be: contradictions and impossible figures are findings, and nobody is fooled by them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.driver_chips import a_driver_chip
from tests.support.forgeries import FORGER_UID, VICTIM_UID, needs_two_users, reporting
from tests.support.reporters import Nursery, Reporter, a_nursery
from tests.support.watching import Watch
from ttmem.devices import Pool
from ttmem.snapshot import Snapshot
from ttmem.snapshot.identity import checked_by_driver
from ttmem.snapshot.verdicts.fit import Need, candidates
from ttmem.snapshot.verdicts.limits import Amount, Limit, judged

CHIP = 0x99
GIB = 1 << 30
TRUE = 'arch="wormhole_b0", board="n300", capacities={0: 12 << 30}'
FALSE = 'arch="wormhole_b0", board="FAKE", capacities={0: 1024}'
BLANK = ""
FACTS = (0, "wormhole_b0", "n300", (8, 8), (12, 64), (12 * GIB, *[0] * 9), 0)


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    with a_nursery() as nursery:
        yield nursery


@pytest.fixture
def everybodys(journals: Path) -> Path:
    """A directory in which every user may report."""
    journals.chmod(0o777)
    return journals


def opening(facts: str) -> str:
    return f"ttmem.open_device({CHIP}, {facts})"


def seen(watch: Watch) -> Snapshot:
    watch.come_to_rest()
    snapshot = watch.collector.snapshot()
    overview = watch.collector.overview()
    assert (overview.reason, overview.findings) == (snapshot.reason, snapshot.findings)
    return snapshot


@needs_two_users
@pytest.mark.parametrize("is_root_first", [True, False])
def test_of_two_descriptions_of_a_chip_roots_is_believed_and_the_other_a_finding(
    everybodys: Path, watch: Watch, is_root_first: bool
) -> None:
    said = [(0, TRUE), (FORGER_UID, FALSE)]
    first, second = said if is_root_first else reversed(said)
    with reporting(everybodys, first[0], opening(first[1])), reporting(everybodys, second[0], opening(second[1])):
        snapshot = seen(watch)
        [usage] = snapshot.devices

        assert (usage.device.board, usage.device.capacity(Pool.DRAM)) == ("n300", 12 * GIB)
        assert (snapshot.reason, usage.doubt) == ("contradicted", "contradicted")
        [finding] = snapshot.findings
        assert finding.name == "contradicted"
        assert f"(uid {FORGER_UID}) says board FAKE" in finding.text
        assert "(uid 0) says n300 and is believed" in finding.text


@needs_two_users
def test_among_equals_who_came_first_is_believed_and_who_stays_takes_over(everybodys: Path, watch: Watch) -> None:
    with reporting(everybodys, VICTIM_UID, opening(TRUE)) as first:
        assert seen(watch).devices[0].device.board == "n300"
        with reporting(everybodys, FORGER_UID, opening(FALSE)):
            before = seen(watch)
            first.kill()
            first.wait()
            after = seen(watch)

    assert (before.devices[0].device.board, before.reason) == ("n300", "contradicted")
    assert (after.devices[0].device.board, after.reason) == ("FAKE", "")


@needs_two_users
def test_who_says_nothing_of_a_chip_contradicts_nobody(everybodys: Path, watch: Watch) -> None:
    with reporting(everybodys, FORGER_UID, opening(TRUE)), reporting(everybodys, 0, opening(BLANK)):
        snapshot = seen(watch)

        assert (snapshot.devices[0].device.board, snapshot.reason, snapshot.findings) == ("n300", "", ())


def a_full_chip(nursery: Nursery, journals: Path, used_bytes: int) -> Reporter:
    reporter = nursery.start(journals)
    chip = reporter.call("open_device", CHIP, *FACTS)
    for number in range(used_bytes // GIB):
        reporter.call("report_buffer_alloc", chip, number, GIB)
    return reporter


def test_more_than_a_chip_has_is_a_finding_and_decides_nothing(nursery: Nursery, journals: Path, watch: Watch) -> None:
    reporter = a_full_chip(nursery, journals, 40 * GIB)
    snapshot = seen(watch)
    reporter.kill()
    [finding] = snapshot.findings
    [candidate] = candidates(snapshot, Need(dram_bytes=GIB))
    [verdict] = judged([Limit("dram", Amount(fraction=0.9))], [snapshot])

    assert (snapshot.reason, snapshot.is_complete) == ("over_capacity", False)
    assert finding.text == f"device 0: {40 * GIB:,} bytes of dram are reported, it has {12 * GIB:,}"
    assert (candidate.fits, candidate.doubt) == (None, "figures are over_capacity")
    assert verdict.is_crossed is None


def test_a_full_chip_is_no_finding(nursery: Nursery, journals: Path, watch: Watch) -> None:
    reporter = a_full_chip(nursery, journals, 12 * GIB)
    snapshot = seen(watch)
    reporter.kill()
    [verdict] = judged([Limit("dram", Amount(fraction=0.9))], [snapshot])

    assert (snapshot.reason, snapshot.findings, verdict.is_crossed) == ("", (), True)


def test_the_driver_is_believed_before_an_opener(nursery: Nursery, journals: Path, watch: Watch) -> None:
    reporter = nursery.start(journals)
    reporter.call("open_device", CHIP, 0, "wormhole_b0", "FAKE", *FACTS[3:])
    snapshot = checked_by_driver(seen(watch), [a_driver_chip(asic_id=CHIP, card_type="n300", arch="wormhole_b0")])
    reporter.kill()
    [finding] = snapshot.findings

    assert (snapshot.reason, finding.name) == ("contradicted", "contradicted")
    assert finding.text == "device 0: its opener says board FAKE, the driver says n300 and is believed"
