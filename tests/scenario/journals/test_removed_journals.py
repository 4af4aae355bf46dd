"""A journal that is removed while its process lives is still shown, with a finding; and it costs next to nothing."""

import os
from pathlib import Path

from tests.support.journals.reporters import Nursery, Reporter
from tests.support.journals.watching import Watch
from tests.support.timing.waiting import wait_until
from ttmem.sources import Places
from ttmem.sources.journals import UnlistedJournals

CHIP = 0x5EED


def a_reporter(nursery: Nursery, journals: Path) -> Reporter:
    reporter = nursery.start(journals)
    reporter.call("report_buffer_alloc", reporter.open_device(CHIP), 1, 4096)
    return reporter


def test_a_journal_removed_before_a_viewer_came_is_shown_with_a_finding(nursery: Nursery, journals: Path) -> None:
    reporter = a_reporter(nursery, journals)
    os.unlink(reporter.journal)
    with Watch(journals) as watch:
        row = watch.process(reporter.pid)
        used = watch.device_used(CHIP)
        reporter.call("report_buffer_alloc", 1, 2, 100)

        assert (used, row["findings"], row["reason"]) == (4096, {"file_removed": 1}, "")
        assert wait_until(lambda: watch.device_used(CHIP) == 4196)
        reporter.kill()
        watch.ended(reporter.pid)
        assert watch.device_used(CHIP) == 0


def test_a_journal_removed_while_it_is_followed_stays_and_says_so(
    nursery: Nursery, journals: Path, watch: Watch
) -> None:
    reporter = a_reporter(nursery, journals)
    key = watch.process(reporter.pid)["key"]
    os.unlink(reporter.journal)
    row = watch.process(reporter.pid, lambda row: row["findings"])

    assert (row["key"], row["findings"], watch.device_used(CHIP)) == (key, {"file_removed": 1}, 4096)
    reporter.kill()


def test_one_that_was_made_elsewhere_is_not_looked_for(nursery: Nursery, journals: Path, tmp_path: Path) -> None:
    reporter = a_reporter(nursery, journals)
    os.unlink(reporter.journal)
    elsewhere = UnlistedJournals(Places(uid=os.geteuid(), directory=str(tmp_path)))
    here = UnlistedJournals(Places(uid=os.geteuid(), directory=str(journals)))

    assert (len(elsewhere.scan(())), len(here.scan(()))) == (0, 1)
    reporter.kill()


def test_each_is_handed_out_once_and_known_ones_not_at_all(nursery: Nursery, journals: Path) -> None:
    reporter = a_reporter(nursery, journals)
    facts = os.stat(reporter.journal)
    ticks = iter(range(0, 100_000, 1000))  # however long a scan takes, its rest is over
    removed = UnlistedJournals(Places(uid=os.geteuid(), directory=str(journals)), clock=lambda: float(next(ticks)))

    assert removed.scan({(facts.st_dev, facts.st_ino)}) == []
    os.unlink(reporter.journal)
    [found] = removed.scan(())
    assert (found.device, found.inode) == (facts.st_dev, facts.st_ino)
    assert removed.scan(()) == []
    reporter.kill()
