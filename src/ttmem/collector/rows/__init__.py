"""From the ledger's plain rows to the structs of a snapshot."""

from ttmem.collector.rows.processes import Surroundings, snapshot_from_rows

__all__ = ["Surroundings", "snapshot_from_rows"]
