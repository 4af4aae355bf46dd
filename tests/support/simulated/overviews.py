"""An overview: a snapshot without the details of its processes, held against the ledger's whole rows."""

from tests.support.flat_rows.processes import snapshot_from_rows
from tests.support.simulated.whole_rows import SURROUNDINGS, check_whole_rows
from ttmem._native import Ledger
from ttmem.collector.rows.sums import overview_of
from ttmem.snapshot import Snapshot


def check_overview(ledger: Ledger) -> Snapshot:
    """What the ledger knows, without details."""
    check_whole_rows(ledger)
    return overview_of(snapshot_from_rows(ledger.snapshot(), SURROUNDINGS))
