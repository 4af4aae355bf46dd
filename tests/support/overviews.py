"""The fast way to an overview, held against what it means: a whole snapshot, summed up."""

from typing import Any

import msgspec

from tests.support.whole_rows import SURROUNDINGS, Expected, WholeRows, expected_rows
from ttmem._native import Ledger
from ttmem.snapshot import PoolUsage, snapshot_from_rows
from ttmem.snapshot.incidents import Incident
from ttmem.snapshot.sights.overview import Overview, ProcessRow, no_parent, overview_of
from ttmem.snapshot.sights.overview_rows import Overviews
from ttmem.snapshot.usage import DeviceUsage

SOME_TIME_NS = 1
LOOKS = 1000
_OVERVIEWS = Overviews()  # one for all: what it remembers must not show


def check_overview(ledger: Ledger) -> Overview:
    """The ledger's overview, which says what its snapshot says; and so do its whole rows.

    Somebody may end while we look: only an overview between two equal snapshots can be held against them.
    """
    whole = WholeRows(ledger)
    before = _told(ledger)
    for _ in range(LOOKS):
        fast = _OVERVIEWS.made(ledger.overview(), SURROUNDINGS, no_parent)
        whole.look()
        after = _told(ledger)
        if before == after:
            assert without_times(fast) == after[0]
            whole.compare(after[1])
            return fast
        before = after
    raise AssertionError(f"the ledger never stood still in {LOOKS} looks")


def _told(ledger: Ledger) -> tuple[Overview, Expected]:
    rows = ledger.snapshot()
    snapshot = snapshot_from_rows(rows, SURROUNDINGS)
    return without_times(overview_of(snapshot)), expected_rows(rows, snapshot)


def without_times(overview: Overview) -> Overview:
    """Wall-clock times are worked out anew at every look, and differ by a few nanoseconds."""
    return overview._replace(
        time_ns=SOME_TIME_NS,
        devices=tuple(map(_device, overview.devices)),
        processes=tuple(map(_process, overview.processes)),
    )


def _device(usage: DeviceUsage) -> DeviceUsage:
    return usage._replace(pools=tuple(map(_pool, usage.pools)))


def _process(row: ProcessRow) -> ProcessRow:
    return row._replace(
        pools=tuple(map(_pool, row.pools)),
        last_event_time_ns=_is_told(row.last_event_time_ns),
        incidents=tuple(map(_incident, row.incidents)),
    )


def _incident(incident: Incident) -> Incident:
    return msgspec.structs.replace(incident, time_ns=SOME_TIME_NS, last_time_ns=None)


def _pool(usage: PoolUsage) -> PoolUsage:
    return usage._replace(peak_time_ns=_is_told(usage.peak_time_ns))


def _is_told(time_ns: int | None) -> Any:
    return time_ns is not None
