"""A second way to a snapshot, from the ledger's flat tables: the judge of the whole rows that the product uses."""
