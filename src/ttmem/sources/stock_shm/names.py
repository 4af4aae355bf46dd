"""How the files of the stock runtime's counters are called: whether there are any is known before anything is loaded
that reads them."""

import os

__all__ = ["RUNTIME_DIRECTORY", "region_names", "region_number"]

RUNTIME_DIRECTORY = "/dev/shm"
_BEFORE, _BEHIND = "tt_device_", "_memory"
_MOST_DIGITS = 20


def region_number(name: str) -> int | None:
    """The number in the name of a region; None if that is no region's."""
    digits = name.removeprefix(_BEFORE).removesuffix(_BEHIND)
    is_region = digits.isdecimal() and len(digits) <= _MOST_DIGITS and name == f"{_BEFORE}{digits}{_BEHIND}"
    return int(digits) if is_region else None


def region_names(directory: str) -> list[str]:
    """The regions in a directory, in order."""
    try:
        return sorted(name for name in os.listdir(directory) if region_number(name) is not None)
    except OSError:  # not there, or not ours to read
        return []
