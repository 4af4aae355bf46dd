"""What can go wrong in a way that a caller can act on.

Reporting never raises: what a program reports wrongly is counted and shown. These errors are for those who look at
the figures.
"""

__all__ = [
    "CannotExport",
    "CannotRecord",
    "CannotServe",
    "DaemonBusy",
    "DaemonGone",
    "MessageMalformed",
    "NameTaken",
    "NoRecording",
    "NothingToRead",
    "PlaceBlocked",
    "RecordDamaged",
    "RecordingDamaged",
    "RegionDamaged",
    "SelectionError",
    "TtmemError",
    "VersionMismatch",
    "WrongFile",
]


class TtmemError(Exception):
    """The root of all errors of this package; its message is one clear line."""


class DaemonGone(TtmemError):
    """A daemon that is there by name does not answer, or is not to be trusted."""


class DaemonBusy(DaemonGone):
    """A daemon that runs, but gave no answer in time or refused to."""


class CannotServe(TtmemError):
    """A socket that is somebody else's, or a place where none can be."""


class PlaceBlocked(CannotServe):
    """Something of another user, or a full file system, is in the way: another place may do."""


class MessageMalformed(TtmemError):
    """Bytes or figures that are no message of the older socket protocol."""


class NothingToRead(TtmemError):
    """No process reports, or none that may be read."""


class WrongFile(NothingToRead):
    """A path that is not there, or not what is read: another has to be named."""


class RecordDamaged(TtmemError):
    """Bytes that are no record of a journal."""


class CannotExport(TtmemError):
    """A recording cannot be written in another format, or not there."""


class NameTaken(CannotExport):
    """Something of that name is there already, and is not to be replaced."""


class CannotRecord(TtmemError):
    """No recording can be written there."""


class RecordingDamaged(TtmemError):
    """A recording of which something, or nothing, can be read."""


class NoRecording(RecordingDamaged, WrongFile):
    """A path that is no recording, or one of another version."""


class RegionDamaged(TtmemError):
    """Bytes that are no region of the stock runtime's counters."""


class SelectionError(TtmemError):
    """A device, user or process was asked for that is not there."""


class VersionMismatch(TtmemError):
    """A document of another version: the two sides do not speak the same language."""
