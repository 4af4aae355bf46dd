"""From the ledger's rows to the structs of a snapshot."""

from ttmem.collector.rows.snapshots import SnapshotContext, Snapshots

__all__ = ["SnapshotContext", "Snapshots"]
