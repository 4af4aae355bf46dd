"""What can go wrong in a way that a caller can act on.

Reporting never raises: what a program reports wrongly is counted and shown. These errors are for those who look at
the figures.
"""

__all__ = ["NothingToRead", "RecordDamaged", "SelectionError", "TtmemError"]


class TtmemError(Exception):
    """The root of all errors of this package; its message is one clear line."""


class NothingToRead(TtmemError):
    """No process reports, or none that may be read."""


class RecordDamaged(TtmemError):
    """Bytes that are no record of a journal."""


class SelectionError(TtmemError):
    """A device, user or process was asked for that is not there."""
