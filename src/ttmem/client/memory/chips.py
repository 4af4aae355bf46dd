"""Which chips a program means by a device: an index, a unique id, or an object of its runtime.

A chip stands under one target of its own and under every mesh it is part of; what it holds is the sum of them.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ttmem import _native
from ttmem.client.notices import warn_once
from ttmem.devices import Pool

__all__ = ["OwnChip", "chips", "chips_meant", "foreign_journal", "pool_meant"]

_POOLS: dict[Pool | str, Pool] = {name: pool for pool in Pool for name in (pool.word, pool)}
_WORDS = ", ".join(pool.word for pool in Pool)

_NO_DEVICE = "{!r} is no device: give an index, a unique id, or a device or mesh of the runtime"


@dataclass(frozen=True, slots=True)
class OwnChip:
    """One chip that this process has opened."""

    unique_id: int
    index: int  # -1 if nobody said
    arch: str
    board: str
    capacities: tuple[int, ...]
    is_open: bool  # itself, or as part of a mesh
    targets: tuple[int, ...]

    def capacity_bytes(self, pool: Pool) -> int:
        return self.capacities[pool] if pool.number < len(self.capacities) else 0


class _Known:
    """The chips as they were when last looked at, and what devices meant then. Replaced as a whole; only meanings are
    added to it, which threads may do at once."""

    def __init__(self, version: int, found: tuple[OwnChip, ...]) -> None:
        self.version = version
        self.found = found
        self.meanings: dict[object, tuple[OwnChip, ...]] = {}


_known = _Known(0, ())


def chips() -> tuple[OwnChip, ...]:
    """All chips that this process has opened so far, by index."""
    return _now().found


def _now() -> _Known:
    global _known
    known = _known
    version = _native.own.version()
    if version != known.version:
        known = _known = _Known(version, _read())
    return known


def foreign_journal() -> str:
    """Why nothing is known here though the process reports: its journal is another ttmem's. Else empty."""
    version = _native.own.other_version()
    if not version:
        return ""
    return (
        f"another ttmem was loaded into this program first (by `ttmem run`) and writes journals of version {version}; "
        f"the one imported here reads version {_native.own.JOURNAL_VERSION}: reports arrive, questions have no answer; "
        "install the same ttmem in both environments"
    )


def _read() -> tuple[OwnChip, ...]:
    if reason := foreign_journal():
        warn_once("foreign journal", reason)
    rows = _native.own.targets()
    targets: dict[int, list[int]] = {}
    is_open: dict[int, bool] = {}
    for number, is_target_open, unique_id, facts, mesh in rows:
        for chip in (unique_id,) if facts else mesh:
            targets.setdefault(chip, []).append(number)
            is_open[chip] = is_open.get(chip, False) or is_target_open
    found = []
    for _, _, unique_id, facts, _ in rows:
        if facts:
            index, arch, board, capacities = facts
            places = tuple(targets[unique_id])
            found.append(OwnChip(unique_id, index, arch, board, capacities, is_open[unique_id], places))
    return tuple(sorted(found, key=lambda chip: (chip.index < 0, chip.index, chip.unique_id)))


def chips_meant(device: Any) -> tuple[OwnChip, ...]:
    """The chips that `device` stands for; none if this process has not opened it.

    None is the first open chip. An integer is an index or a unique id, a text the same in digits, a list several of
    them. An object is asked for `get_device_ids()` (a mesh: its chips) or `id()`.
    """
    known = _known if _native.own.version() == _known.version else _now()
    is_plain = device is None or type(device) in (int, str)
    if is_plain:
        meant = known.meanings.get(device)
        if meant is not None:
            return meant
    meant = _first(known.found) if device is None else tuple(_by_words(_words_of(device), known.found))
    if is_plain and len(known.meanings) < len(known.found) + 64:
        known.meanings[device] = meant
    return meant


def _first(found: tuple[OwnChip, ...]) -> tuple[OwnChip, ...]:
    return tuple(chip for chip in found if chip.is_open)[:1] or found[:1]


def _by_words(words: Iterable[int], found: tuple[OwnChip, ...]) -> Iterable[OwnChip]:
    for word in words:
        named = [chip for chip in found if word >= 0 and chip.index == word]
        yield from named or [chip for chip in found if chip.unique_id == word]


def _number_in(text: str) -> int:
    try:
        return int(text, 0)
    except ValueError:
        raise TypeError(_NO_DEVICE.format(text)) from None


def _words_of(device: Any) -> tuple[int, ...]:
    if isinstance(device, int):
        return (int(device),)
    if isinstance(device, str):
        return (_number_in(device),)
    if isinstance(device, list | tuple):
        return tuple(word for part in device for word in _words_of(part))
    for name in ("get_device_ids", "id"):  # a mesh's own id is not a chip's
        answer = getattr(device, name, None)
        if answer is not None:
            answer = answer() if callable(answer) else answer
            return (int(answer),) if name == "id" else tuple(int(word) for word in answer)
    raise TypeError(_NO_DEVICE.format(device))


def pool_meant(pool: "Pool | str") -> Pool:
    """The pool of a word such as dram or l1."""
    found = _POOLS.get(pool)
    if found is None:
        raise ValueError(f"{pool!r} is no pool: known are {_WORDS}")
    return found
