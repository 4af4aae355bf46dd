"""`ttmem.record`: what a stretch of a program does with device memory, into a recording.

with ttmem.record("step.ttmem"):
    train_step()
"""

import os
from os import PathLike
from types import TracebackType

from ttmem import _native
from ttmem.client.notices import warn
from ttmem.client.recorder_child import RecorderChild, RecorderGone

__all__ = ["RecordedStretch", "record"]


class RecordedStretch:
    """A stretch to be recorded, as a `with` block. What is wrong with the recording is a line on stderr, never an
    exception: the program comes first."""

    def __init__(self, path: str, *, is_forced: bool) -> None:
        self._path = path
        self._options = ["--force"] if is_forced else []
        self._child: RecorderChild | None = None

    def __enter__(self) -> "RecordedStretch":
        if self._child is not None:
            warn(f"{self._path}: not recorded twice at once")
            return self
        try:
            self._child = RecorderChild(self._path, self._options)
        except RecorderGone as error:
            warn(f"nothing is recorded: {_without_name(error)}")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        child, self._child = self._child, None
        if child is not None and child.owner_pid != os.getpid():
            child.forget_in_fork()
        elif child is not None:
            self._end(child)

    def _end(self, child: RecorderChild) -> None:
        try:
            answer = child.end()
        except RecorderGone as trouble:
            warn(f"{self._path}: what was recorded may lack its end: {_without_name(trouble)}")
            return
        if answer.get("trouble"):
            warn(f"{self._path}: {answer['trouble']}")
        elif not answer.get("events") and not _native.client.is_enabled():
            warn(f"{self._path}: nothing was recorded, for tracking is off: set TTMEM=1 or call ttmem.enable()")


def record(path: "str | PathLike[str]", *, force: bool = False) -> RecordedStretch:
    """Records what this process does with device memory in a `with` block; `force` replaces an older recording."""
    return RecordedStretch(os.fspath(path), is_forced=force)


def _without_name(error: RecorderGone) -> str:
    return str(error).removeprefix("ttmem: ").replace("--force", "force=True")
