"""From the ledger's rows to the structs of a snapshot."""

from ttmem.collector.rows.looks import Looks, Surroundings

__all__ = ["Looks", "Surroundings"]
