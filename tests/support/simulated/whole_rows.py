"""Whole rows of a ledger, held against what a snapshot made of its flat tables says, figure by figure."""

from collections.abc import Iterable

from tests.support.flat_rows.processes import FlatContext, snapshot_from_rows
from tests.support.simulated.figures import HOST
from tests.support.simulated.timeless import timeless
from ttmem._native import Ledger, testing
from ttmem.collector.chips import BANK_SIZES
from ttmem.collector.rows import SnapshotContext, Snapshots
from ttmem.collector.rows.sums import overview_of
from ttmem.snapshot import PoolUsage, Snapshot, replace

FLAT_CONTEXT = FlatContext(source="a test", places=("/here",), host=HOST, user_of=str, sizes_of=BANK_SIZES.get)
CONTEXT = SnapshotContext(source="a test", places=("/here",), host=HOST, user_of=str)
ARCHITECTURES = ("wormhole_b0", "blackhole")
TRIES = 1000


class WholeRows:
    """One viewer of a ledger, who keeps what has the same version."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._snapshots = Snapshots(ledger)
        for arch in ARCHITECTURES:
            sizes = BANK_SIZES.get(arch)
            assert sizes is not None
            ledger.set_bank_sizes(arch, *sizes)

    def check(self) -> None:
        """Looks, and compares. A process may end meanwhile: only a snapshot between two equal snapshots counts."""
        before = self._expected()
        for _ in range(TRIES):
            found = _without_fullest(timeless(self._snapshots.snapshot(CONTEXT)))
            after = self._expected()
            if before == after:
                assert found == after
                return
            before = after
        raise AssertionError(f"the ledger never stood still in {TRIES} tries")

    def _expected(self) -> Snapshot:
        return _without_holes(timeless(snapshot_from_rows(testing.flat_rows(self._ledger), FLAT_CONTEXT)))


def _without_fullest(snapshot: Snapshot) -> Snapshot:
    """Flat tables have no figure of the fullest core now; what is resident is planned."""
    for chip in snapshot.devices:
        assert chip.fullest_core_bytes is None or chip.fullest_core_bytes <= (chip.planned_core_bytes or 0)
    chips = (replace(chip, fullest_core_bytes=None, fullest_core=None) for chip in snapshot.devices)
    findings = tuple(finding for finding in snapshot.findings if " of its fullest core " not in finding.text)
    return _without_holes(replace(snapshot, devices=tuple(chips), findings=findings))


def _without_holes(snapshot: Snapshot) -> Snapshot:
    """Nor have they holes, or bytes freed."""
    chips = tuple(replace(chip, pools=_flat_pools(chip.pools)) for chip in snapshot.devices)
    processes = tuple(
        replace(
            process,
            pools=_flat_pools(process.pools),
            devices=tuple(replace(held, pools=_flat_pools(held.pools)) for held in process.devices),
        )
        for process in snapshot.processes
    )
    return replace(snapshot, devices=chips, processes=processes)


def _flat_pools(pools: Iterable[PoolUsage]) -> tuple[PoolUsage, ...]:
    return tuple(replace(pool, hole_count=None, freed_bytes=None) for pool in pools)


def check_whole_rows(ledger: Ledger) -> None:
    """As somebody who looks for the first time."""
    WholeRows(ledger).check()


def check_overview(ledger: Ledger) -> Snapshot:
    """What the ledger knows, without the details of processes, after its whole rows were checked."""
    check_whole_rows(ledger)
    return overview_of(snapshot_from_rows(testing.flat_rows(ledger), FLAT_CONTEXT))
