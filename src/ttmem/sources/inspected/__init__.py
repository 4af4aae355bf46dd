"""What a file is: a journal, a region of the stock runtime's counters, or a daemon's checkpoint; and what it says.

Liveness is not judged and nothing is joined: a file is shown as it stands. What is none of these is a
NothingToRead that says what was expected, what was found, and what to do.
"""

import os
import stat
from collections.abc import Callable
from typing import BinaryIO

from ttmem.errors import NothingToRead, RegionDamaged, WrongFile
from ttmem.events.parts import Document
from ttmem.sources.directories import region_number
from ttmem.sources.inspected.checkpoint import CHECKPOINT_MAGIC, checkpoint_document
from ttmem.sources.inspected.journal import journal_document
from ttmem.sources.inspected.region import region_document
from ttmem.sources.journals import JOURNAL_MAGIC
from ttmem.sources.stock_shm.layouts import LAYOUTS
from ttmem.sources.stock_shm.region import decode_region, region_version
from ttmem.sources.stock_shm.regions import read_region_file

__all__ = ["inspected"]

_HEAD_BYTES = 8
_SHOWN_BYTES = 16
_KINDS: dict[bytes, tuple[str, Callable[[str, BinaryIO, int], Document]]] = {
    JOURNAL_MAGIC: ("journal", journal_document),
    CHECKPOINT_MAGIC: ("checkpoint", checkpoint_document),
}


def inspected(path: str, *, most: int) -> Document:
    """The document of a file: its `kind`, then what is in it. At most `most` of what may be many."""
    try:
        facts = os.stat(path)
        _check_is_file(path, facts)
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            facts = os.fstat(file.fileno())
            kind, document = _decoded(path, file, facts.st_size, most)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        wrong = WrongFile if isinstance(error, FileNotFoundError) else NothingToRead
        raise wrong(f"{path}: cannot be read: {reason}; give a file that is there and may be read") from None
    return {"path": path, "kind": kind, "bytes": facts.st_size, **document}


def _check_is_file(path: str, facts: os.stat_result) -> None:
    if stat.S_ISREG(facts.st_mode):
        return
    found, advice = "something else", "give a file"
    if stat.S_ISDIR(facts.st_mode):
        found, advice = "a directory", "give one of the files in it; ttmem ps reads all of them"
        if os.path.exists(os.path.join(path, "meta.json")):
            found, advice = "a recording", "ttmem report reads it"
    elif stat.S_ISFIFO(facts.st_mode):
        found, advice = "a pipe", "write it to a file first"
    elif stat.S_ISSOCK(facts.st_mode):
        found, advice = "a socket", "ttmem ps asks the daemon behind it"
    raise WrongFile(f"{path}: expected a file, found {found}; {advice}")


def _decoded(path: str, file: BinaryIO, size_bytes: int, most: int) -> tuple[str, Document]:
    head = os.pread(file.fileno(), _SHOWN_BYTES, 0)
    for magic, (kind, document) in _KINDS.items():
        if head.startswith(magic):
            return kind, document(path, file, most)
    sizes = {size for layout in LAYOUTS.values() for size in layout.sizes_bytes}
    has_name = region_number(os.path.basename(path)) is not None
    if has_name or (region_version(head) in LAYOUTS and size_bytes in sizes):
        try:
            return "region", region_document(decode_region(read_region_file(os.path.realpath(path)).data))
        except RegionDamaged as damaged:
            raise NothingToRead(f"{path}: {damaged}") from None
    raise WrongFile(f"{path}: {_unknown(head, size_bytes)}")


def _unknown(head: bytes, size_bytes: int) -> str:
    begins = f"that begin with {head[:_HEAD_BYTES].hex(' ')}" if head else "and nothing in them"
    sizes = " or ".join(f"{size:,}" for size in sorted({size for one in LAYOUTS.values() for size in one.sizes_bytes}))
    return (
        f"neither ttmem nor the stock runtime wrote this: expected a journal (begins with {JOURNAL_MAGIC.decode()}), "
        f"a daemon's checkpoint ({CHECKPOINT_MAGIC.decode()}) or a region of the runtime's counters ({sizes} bytes, "
        f"{min(LAYOUTS)} to {max(LAYOUTS)} in its first word), found {size_bytes:,} bytes {begins}; "
        "journals are $TTMEM_DIR/*.journal, regions /dev/shm/tt_device_*_memory"
    )
