"""Directories that are full of files which are no journals, and directories that never stand still."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SOMEBODY = 65_534  # another user


def junk(directory: Path, count: int, *, uid: int | None = None) -> None:
    """Empty files with names of journals."""
    for at in range(count):
        path = directory / f"{at}-1-0000abcd.journal"
        path.touch()
        if uid is not None:
            os.chown(path, uid, uid)


@contextmanager
def always_changing(directory: Path) -> Iterator[None]:
    """A file that comes and goes there, a hundred times a second."""
    is_over = threading.Event()

    def change() -> None:
        while not is_over.wait(0.01):
            (directory / "x.journal").touch()
            (directory / "x.journal").unlink()

    thread = threading.Thread(target=change)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
