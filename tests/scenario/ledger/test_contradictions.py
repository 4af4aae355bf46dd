"""What a chip is said to be: contradictions and impossible figures are findings, and nobody is fooled by them."""

import os
from pathlib import Path

import pytest

from tests.support.journals.forgeries import FORGER_UID, VICTIM_UID, needs_two_users, reporting
from tests.support.journals.reporters import Nursery, Reporter
from tests.support.journals.watching import Watch
from tests.support.machine.driver_tree import DriverTree
from ttmem.analysis.fit import Need, candidates
from ttmem.analysis.limits import Amount, Limit, judged
from ttmem.collector import Collector
from ttmem.devices import Pool
from ttmem.snapshot import DeviceUsage, Snapshot
from ttmem.sources import Places
from ttmem.sources.driver import Driver

CHIP = 0x99
GIB = 1 << 30
TRUE = 'arch="wormhole_b0", board="n300", capacities={0: 12 << 30}'
FALSE = 'arch="wormhole_b0", board="FAKE", capacities={0: 1024}'
BLANK = ""
FACTS = (0, "wormhole_b0", "n300", (8, 8), (12, 64), (12 * GIB, *[0] * 9), 0)


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
def test_a_process_that_says_nothing_of_a_chip_contradicts_none(everybodys: Path, watch: Watch) -> None:
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


@pytest.fixture
def driven(journals: Path, tmp_path: Path) -> Watch:
    """A collector on a machine whose driver knows the chip as an n300."""
    tree = DriverTree(tmp_path)
    tree.chip(0, "wormhole", asic_id=f"{CHIP:016X}", card_type="n300")
    watch = Watch(journals)
    watch.collector = Collector(Places(uid=os.geteuid(), directory=str(journals)), driver=Driver(tree.environ))
    return watch


def only(snapshot: Snapshot) -> tuple[DeviceUsage, str]:
    """The chip, and the text of the finding."""
    [usage], [finding] = snapshot.devices, snapshot.findings
    return usage, finding.text


@needs_two_users
def test_who_agrees_with_the_driver_is_believed_before_root(everybodys: Path, driven: Watch) -> None:
    with reporting(everybodys, 0, opening(FALSE)) as root, reporting(everybodys, VICTIM_UID, opening(TRUE)):
        usage, text = only(seen(driven))

        assert (usage.device.board, usage.device.capacity(Pool.DRAM)) == ("n300", 12 * GIB)
        assert usage.doubt == "contradicted"
        assert text.endswith(f": pid {root.pid} (uid 0) says board FAKE, the driver says n300 and is believed")


def test_of_an_opener_whom_the_driver_contradicts_nothing_is_believed(
    nursery: Nursery, journals: Path, driven: Watch
) -> None:
    reporter = nursery.start(journals)
    reporter.call("open_device", CHIP, 0, "blackhole", "p150", (14, 10), (8, 140), (32 * GIB, *[0] * 9), 0)
    usage, text = only(seen(driven))
    reporter.kill()

    assert (usage.device.arch, usage.device.board, usage.device.grid) == ("wormhole", "n300", None)
    assert usage.device.capacity(Pool.DRAM) == 12 * GIB
    assert text.endswith("says architecture blackhole, the driver says wormhole and is believed")


def test_a_card_has_no_more_memory_than_such_cards_have(nursery: Nursery, journals: Path, driven: Watch) -> None:
    """The names are right; only the size is not."""
    reporter = nursery.start(journals)
    chip = reporter.call("open_device", CHIP, *FACTS[:5], (4096 * GIB, *[0] * 9), 0)
    for number in range(40):
        reporter.call("report_buffer_alloc", chip, number, GIB)
    snapshot = seen(driven)
    reporter.kill()

    assert snapshot.devices[0].device.capacity(Pool.DRAM) == 12 * GIB
    said = f"says DRAM {4096 * GIB} bytes, the driver says at most {12 * GIB} bytes and is believed"
    assert [finding.text.partition(": ")[2] for finding in snapshot.findings] == [
        f"pid {reporter.pid} (uid {os.geteuid()}) {said}",
        f"{40 * GIB:,} bytes of dram are reported, it has {12 * GIB:,}",
    ]
    assert candidates(snapshot, Need(dram_bytes=GIB))[0].fits is None


def test_more_than_a_card_has_is_a_finding_though_its_opener_names_no_size(
    nursery: Nursery, journals: Path, driven: Watch
) -> None:
    reporter = nursery.start(journals)
    chip = reporter.open_device(CHIP)
    for number in range(40):
        reporter.call("report_buffer_alloc", chip, number, GIB)
    usage, text = only(seen(driven))
    reporter.kill()

    assert usage.doubt == "over_capacity"
    assert text.endswith(f"{40 * GIB:,} bytes of dram are reported, it has {12 * GIB:,}")


def test_a_true_opener_is_no_finding_and_keeps_its_own_words(nursery: Nursery, journals: Path, driven: Watch) -> None:
    reporter = nursery.start(journals)
    reporter.call("open_device", CHIP, 0, "wormhole_b0", "n300 L", *FACTS[3:])
    snapshot = seen(driven)
    reporter.kill()
    [usage] = snapshot.devices

    assert (usage.device.arch, usage.device.board, usage.device.grid) == ("wormhole_b0", "n300 L", (8, 8))
    assert (snapshot.reason, snapshot.findings) == ("", ())


def test_an_ended_opener_that_the_driver_contradicts_describes_nothing(
    nursery: Nursery, journals: Path, driven: Watch
) -> None:
    reporter = nursery.start(journals)
    reporter.call("open_device", CHIP, 0, "wormhole_b0", "FAKE", *FACTS[3:])
    reporter.kill()

    assert {usage.device.board for usage in seen(driven).devices} == {"n300"}
