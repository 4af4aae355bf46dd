"""Journals that another version of ttmem wrote: they are refused by readers, and a doctor says whose they are."""

import os
import stat
import struct

from ttmem import _native
from ttmem.sources.journals import JOURNAL_MAGIC

__all__ = ["JOURNAL_VERSION", "other_versions"]

JOURNAL_VERSION: int = _native.own.JOURNAL_VERSION
_FIRST_WORDS = struct.Struct(f"<{len(JOURNAL_MAGIC)}sxI")  # in journals of every version


def other_versions(directory: str) -> dict[int, list[int]]:
    """Version -> pids of the programs that wrote such journals here; none where the directory cannot be read."""
    try:
        names = sorted(os.listdir(directory))
    except OSError:
        return {}
    found: dict[int, list[int]] = {}
    for name in names:
        pid = name.partition("-")[0]
        version = _version_of(os.path.join(directory, name)) if name.endswith(".journal") and pid.isdecimal() else None
        if version not in (None, JOURNAL_VERSION):
            found.setdefault(version, []).append(int(pid))
    return dict(sorted(found.items()))


def _version_of(path: str) -> int | None:
    """What a journal's first words say; None for what is none."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        magic, version = _FIRST_WORDS.unpack(os.pread(descriptor, _FIRST_WORDS.size, 0))
        return int(version) if magic == JOURNAL_MAGIC else None
    except (OSError, struct.error):
        return None
    finally:
        os.close(descriptor)
