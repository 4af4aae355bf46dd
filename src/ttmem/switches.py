"""Which words in the environment turn something on.

A variable that is not set, or is empty, 0, off, false or no (in any case), is off; every other word is on. The native
client reads them in the same way (`native/src/journal/environment.cpp`), and a test compares the two.
"""

from collections.abc import Mapping

__all__ = ["is_off", "is_tracking_asked_for"]

_OFF_WORDS = frozenset({"", "0", "off", "false", "no"})


def is_off(word: str) -> bool:
    """Whether this value of a variable means off."""
    return word.lower() in _OFF_WORDS


def is_tracking_asked_for(environ: Mapping[str, str]) -> bool:
    """Whether an environment turns tracking on.

    `TTMEM` decides if it is set and not empty; else `TT_ALLOC_TRACKING_ENABLED`, which is on for 1 alone, as in the
    allocation server's own client.
    """
    word = environ.get("TTMEM", "")
    return not is_off(word) if word else environ.get("TT_ALLOC_TRACKING_ENABLED") == "1"
