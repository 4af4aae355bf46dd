"""Recordings by the names under which they were made: `record -o run` makes run.ttmem, so `report run` reads it."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ttmem.errors import NothingToRead, RecordingDamaged

if TYPE_CHECKING:
    from ttmem.recording import Recording

__all__ = ["SUFFIX", "RecordingName", "named_recording", "opened"]

SUFFIX = ".ttmem"


def named_recording(path: Path) -> Path:
    """With the suffix, where only that is there."""
    longer = path.with_name(path.name + SUFFIX) if path.name else path
    return longer if not _is_recording(path) and _is_recording(longer) else path


def _is_recording(path: Path) -> bool:
    """False also where this user may not look."""
    return os.path.isfile(path / "meta.json")


def opened(path: Path) -> "Recording":
    """A recording that says something; one in which nothing happened and nothing was held is a NothingToRead."""
    from ttmem.recording import Recording

    found = Recording(path)
    if found.row_count or any(peak.size_bytes for peak in found.peaks()):
        return found
    if found.troubles:
        raise RecordingDamaged(f"{path}: nothing of it can be read: {found.troubles[0]}; record again")
    raise NothingToRead(
        f"{path}: nothing has happened in it: expected a program that uses a device, found none; "
        "record one with `ttmem record -o NAME -- COMMAND`"
    )


class RecordingName(click.Path):
    """A recording that is to be read."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, context: click.Context | None) -> Any:
        """Its path."""
        return named_recording(Path(os.fsdecode(super().convert(value, param, context))))
