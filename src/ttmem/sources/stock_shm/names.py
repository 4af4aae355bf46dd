"""How the files of the stock runtime's counters are called: whether there are any is known before anything is loaded
that reads them."""

import os
import re

__all__ = ["FILE_NAME", "RUNTIME_DIRECTORY", "region_names"]

FILE_NAME = re.compile(r"tt_device_(\d{1,20})_memory")
RUNTIME_DIRECTORY = "/dev/shm"


def region_names(directory: str) -> list[str]:
    """The regions in a directory, in order."""
    try:
        return sorted(filter(FILE_NAME.fullmatch, os.listdir(directory)))
    except OSError:  # not there, or not ours to read
        return []
