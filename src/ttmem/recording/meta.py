"""What a recording says of itself, in `meta.json` beside its segments: who made it, when, on which machine."""

import json
import os
from pathlib import Path

import msgspec

from ttmem.errors import NoRecording, RecordingDamaged

__all__ = ["FORMAT", "META", "SEALED", "SEGMENT", "Meta", "read_meta", "write_meta"]

FORMAT = 2
META = "meta.json"
SEGMENT, SEALED = ".blocks", ".sealed"


class Meta(msgspec.Struct, frozen=True, kw_only=True):
    """Times are nanoseconds; a recording that goes on after a restart has the first beginning."""

    format: int = FORMAT
    version: str = ""  # of ttmem
    host: str = ""
    boot_id: str = ""
    label: str = ""
    command: tuple[str, ...] = ()  # empty if the recording is redacted, or of no program of its own
    began_ns: int = 0  # since 1970
    is_redacted: bool = False


class _MetaVersion(msgspec.Struct):
    format: int


def write_meta(directory: Path, meta: Meta) -> None:
    """Whole or not at all."""
    fresh = directory / f".{META}"
    fresh.write_text(json.dumps(msgspec.to_builtins(meta), indent=2) + "\n")
    os.chmod(fresh, 0o600)
    fresh.replace(directory / META)


def read_meta(directory: Path) -> Meta:
    """What is no recording, or one of another version, is a NoRecording."""
    path = directory / META
    try:
        text = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        raise NoRecording(
            f"{directory}: not a recording: expected a directory with {META}, found {_found(directory)}; "
            "make one with `ttmem record -o NAME -- COMMAND`"
        ) from None
    except OSError as error:
        raise RecordingDamaged(f"{path}: {error.strerror}") from None
    try:
        found = msgspec.json.decode(text, type=_MetaVersion).format
        if found == FORMAT:
            return msgspec.json.decode(text, type=Meta)
    except msgspec.DecodeError as error:
        raise NoRecording(
            f"{path}: expected what describes a recording, found something else ({error}); record again"
        ) from None
    raise NoRecording(
        f"{path}: this recording has version {found} of the format, this ttmem reads version {FORMAT}; "
        "use the ttmem that made it"
    )


def _found(directory: Path) -> str:
    return "none in it" if directory.is_dir() else "a file" if directory.exists() else "nothing of that name"
