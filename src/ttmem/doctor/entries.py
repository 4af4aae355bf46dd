"""What the preload library says of itself: which functions of the runtime it stands in for, asks, or reads past."""

import ctypes
from typing import Literal, NamedTuple, get_args

from ttmem.errors import TtmemError

__all__ = ["EntryKind", "HookEntry", "hook_entries"]

EntryKind = Literal["hook", "getter", "offset"]
_KINDS: tuple[EntryKind, ...] = get_args(EntryKind)


class HookEntry(NamedTuple):
    """A function it stands in for (hook), one it asks (getter), or a place it reads without asking (offset)."""

    kind: EntryKind
    name: str
    symbol: str  # of an offset: where it reads
    gives: str  # of a getter: what is lost without it


def hook_entries(path: str) -> list[HookEntry]:
    """What the library lists. It is loaded for that, which does nothing else."""
    try:
        names = ctypes.CDLL(path).ttmem_hook_names
    except (OSError, AttributeError) as error:
        raise TtmemError(f"{path}: expected the hook, found something that cannot be asked: {error}") from error
    names.restype = ctypes.c_char_p
    lines = (names() or b"").decode(errors="replace").splitlines()
    return [HookEntry(kind, *rest) for line in lines for kind in _KINDS if (rest := _rest_of(line, kind))]


def _rest_of(line: str, kind: EntryKind) -> list[str]:
    first, *rest = line.split("\t")
    return rest if first == kind and len(rest) == 3 else []
