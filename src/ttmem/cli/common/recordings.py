"""Recordings by the names under which they were made: `record -o run` makes run.ttmem, so `report run` reads it."""

import os
from pathlib import Path
from typing import Any

import click

__all__ = ["SUFFIX", "RecordingName", "named_recording"]

SUFFIX = ".ttmem"


def named_recording(path: Path) -> Path:
    """With the suffix, where only that is there."""
    longer = path.with_name(path.name + SUFFIX) if path.name else path
    return longer if not _is_recording(path) and _is_recording(longer) else path


def _is_recording(path: Path) -> bool:
    """False also where this user may not look."""
    return os.path.isfile(path / "meta.json")


class RecordingName(click.Path):
    """A recording that is to be read."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, context: click.Context | None) -> Any:
        """Its path."""
        return named_recording(Path(os.fsdecode(super().convert(value, param, context))))
