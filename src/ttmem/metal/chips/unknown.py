"""The refusal of hardware that does not exist or cannot do what is asked of it."""

from ttmem.errors import TtmemError

__all__ = ["UnknownHardware"]


class UnknownHardware(TtmemError):
    """A board, architecture, build or dispatch path that there is not; the message names those there are."""
