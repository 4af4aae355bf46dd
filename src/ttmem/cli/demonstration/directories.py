"""Where the processes of a demo report: a directory of its own, in the first place with room, gone when it ends.

Its demo holds a lock on it, so that the next demo of the same user can see what a killed one left behind.
"""

import fcntl
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from ttmem.cli.common.request import DEMO_PREFIX
from ttmem.errors import TtmemError
from ttmem.view.texts import size_text

__all__ = ["JOURNAL_BYTES", "apart_from", "how_to_look", "own_directory", "running_demos", "usual_places"]

JOURNAL_BYTES = 16 << 20  # at most, of one process with the usual bounds
_YOUNG_SECONDS = 60.0  # may not have taken its lock yet


def usual_places() -> list[Path]:
    """Memory first, then disks."""
    return [Path(place) for place in dict.fromkeys(["/dev/shm", os.environ.get("TMPDIR") or "/tmp", "/var/tmp"])]


def apart_from(environ: Mapping[str, str], directory: str) -> dict[str, str]:
    """An environment in which programs, counters and chips of this machine are not seen; a driver's tree that was named
    is."""
    own = {"TTMEM_DIR": directory, "TTMEM_STOCK_SHM_DIR": directory}
    return {"TTMEM_SYSFS_ROOT": directory, **environ, **own}


def how_to_look(directory: str) -> str:
    """What to type in another terminal, for as long as a demo runs."""
    return f"TTMEM_DIR={directory} TTMEM_SYSFS_ROOT={directory} ttmem ps"


def running_demos(places: Sequence[Path]) -> list[str]:
    """Directories of demos of ours that run now."""
    found: list[str] = []
    for place in places:
        with suppress(OSError):
            names = sorted(name for name in os.listdir(place) if name.startswith(DEMO_PREFIX))
            found += [str(place / name) for name in names if _is_held(place / name)]
    return found


def _is_held(directory: Path) -> bool:
    """Whether it is ours, and a demo holds its lock."""
    try:
        lock = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        if os.fstat(lock).st_uid != os.geteuid():
            return False
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(lock)
    return False


@contextmanager
def own_directory(process_count: int, places: Sequence[Path]) -> Iterator[str]:
    """A new directory with room for the journals of `process_count` processes."""
    for place in places:
        _sweep(place)
    directory = tempfile.mkdtemp(prefix=DEMO_PREFIX, dir=_roomy(places, process_count * JOURNAL_BYTES))
    lock = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with suppress(OSError):  # where locks are not to be had, nothing is swept either
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)
        os.close(lock)


def _roomy(places: Sequence[Path], needed_bytes: int) -> Path:
    """The first place with enough room."""
    free = {place: _free_bytes(place) for place in places}
    for place, free_bytes in free.items():
        if free_bytes >= needed_bytes:
            return place
    found = ", ".join(f"{size_text(free_bytes)} in {place}" for place, free_bytes in free.items())
    raise TtmemError(
        f"no room for the journals of a demo: expected {size_text(needed_bytes)}, found {found}; "
        "free some of it, or set TMPDIR to a directory with room"
    )


def _free_bytes(place: Path) -> int:
    """What we may still write there."""
    try:
        facts = os.statvfs(place)
    except OSError:
        return 0
    return facts.f_bavail * facts.f_frsize if os.access(place, os.W_OK | os.X_OK) else 0


def _sweep(place: Path) -> None:
    """Removes what demos of ours left there that live no more."""
    with suppress(OSError):
        for name in os.listdir(place):
            if name.startswith(DEMO_PREFIX):
                _remove_if_dead(place / name)


def _remove_if_dead(directory: Path) -> None:
    """Only a directory itself, only our own, and only if no process holds its lock."""
    with suppress(OSError):
        lock = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            facts = os.fstat(lock)
            is_ours = facts.st_uid == os.geteuid() and stat.S_IMODE(facts.st_mode) == stat.S_IRWXU
            if is_ours and time.time() - facts.st_mtime > _YOUNG_SECONDS:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(directory, ignore_errors=True)
        finally:
            os.close(lock)
