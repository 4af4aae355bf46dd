"""What was alive at each peak, by line, as a file for speedscope (speedscope.app): a profile for each pool and chip.

A profile has samples and weights: a sample is the stack of a line that asked, outermost first, its weight the bytes it
had alive at the peak. Frames are named once and meant by their place.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from ttmem.collector.recorded import Moment
from ttmem.devices import Kind, Pool
from ttmem.errors import CannotExport
from ttmem.recording import Peak, Recording
from ttmem.recording.timeline import FULLEST_CORE, Timeline
from ttmem.snapshot.values import Device

__all__ = ["write_speedscope"]

_SCHEMA = "https://www.speedscope.app/file-format-schema.json"
_POOLS = (Pool.DRAM, Pool.L1, Pool.L1_SMALL, Pool.TRACE)
_NO_LINE = "no line recorded"

Row = Sequence[Any]  # of `Ledger.allocations`


class _Alive(NamedTuple):
    """A pool of chips that had the same at the same moment."""

    moment: Moment
    pool: Pool
    chips: tuple[Device, ...]
    size_bytes: int


class _Frames:
    """Frames by their places."""

    def __init__(self) -> None:
        self.listed: list[dict[str, Any]] = []
        self._places: dict[str, int] = {}

    def place(self, line: str) -> int:
        """Of one line of a site: `model.py:12 forward`."""
        if line not in self._places:
            self._places[line] = len(self.listed)
            self.listed.append(_frame(line))
        return self._places[line]


def write_speedscope(
    recording: Recording,
    write: Callable[[bytes], object],
    *,
    from_ns: int | None = None,
    until_ns: int | None = None,
) -> int:
    """Writes the profiles of a recording, or of a time of it; returns how many there are."""
    frames = _Frames()
    has_window = from_ns is not None or until_ns is not None
    found = _peaks_within(recording, from_ns, until_ns) if has_window else _peaks(recording)
    profiles = [_profile(recording, one, frames) for one in sorted((one for one in found if one.chips), key=_order)]
    if not profiles:
        raise CannotExport(f"{recording.path}: no pool of any chip held anything then, so there is nothing to show")
    document = {
        "$schema": _SCHEMA,
        "exporter": "ttmem",
        "name": recording.meta.label or recording.path.name,
        "activeProfileIndex": 0,
        "shared": {"frames": frames.listed},
        "profiles": profiles,
    }
    write(json.dumps(document, ensure_ascii=False, indent=1).encode() + b"\n")
    return len(profiles)


def _order(alive: _Alive) -> tuple[int, int, int]:
    first = alive.chips[0]
    return (first.index if first.index is not None else 1 << 32, first.unique_id, _POOLS.index(alive.pool))


def _peaks(recording: Recording) -> list[_Alive]:
    """Of every pool; chips of a mesh, whose peaks are the same in the same block, have one together."""
    groups: dict[tuple[int, ...], list[Peak]] = defaultdict(list)
    for peak in recording.peaks():
        if peak.is_known and not peak.is_of_gap and Pool.numbered(peak.pool) in _POOLS:
            groups[peak.pool, peak.size_bytes, peak.segment, peak.block].append(peak)
    return [
        _alive(Moment(recording, peak=group[0]), Pool.numbered(group[0].pool), {one.chip for one in group}, size)
        for (_, size, *_), group in groups.items()
    ]


def _peaks_within(recording: Recording, from_ns: int | None, until_ns: int | None) -> list[_Alive]:
    groups: dict[tuple[int, ...], set[int]] = defaultdict(set)
    for one in Timeline(recording, from_ns=from_ns, until_ns=until_ns).series:
        if one.pool != FULLEST_CORE and one.highest_bytes and not one.name:
            groups[one.pool, one.highest_bytes, one.highest_ns].add(one.chip)
    return [
        _alive(Moment(recording, at_ns=at_ns), Pool.numbered(pool), chips, size)
        for (pool, size, at_ns), chips in groups.items()
    ]


def _alive(moment: Moment, pool: Pool, chips: set[int], size_bytes: int) -> _Alive:
    devices = [usage.device for usage in moment.snapshot.devices if usage.device.unique_id in chips]
    return _Alive(moment, pool, tuple(devices), size_bytes)


def _profile(recording: Recording, alive: _Alive, frames: _Frames) -> dict[str, Any]:
    sums: dict[tuple[int, ...], int] = defaultdict(int)
    number = alive.chips[0].number
    for process in alive.moment.snapshot.processes:
        if not process.is_live:
            continue
        for row in alive.moment.allocations(process.key):
            if row[3] == alive.pool.number and number in row[0] and row[5]:
                sums[tuple(frames.place(line) for line in _stack(row))] += row[5]
    listed = sorted(sums.items(), key=lambda one: -one[1])
    seconds = (alive.moment.monotonic_ns - recording.first_ns) / 1e9
    return {
        "type": "sampled",
        "name": f"{alive.pool.word} of {_names(alive.chips)} at its peak, +{seconds:.3f}s",
        "unit": "bytes",
        "startValue": 0,
        "endValue": sum(sums.values()),
        "samples": [list(stack) for stack, _ in listed],
        "weights": [size_bytes for _, size_bytes in listed],
    }


def _names(chips: Iterable[Device]) -> str:
    names = [f"chip {one.index}" if one.index is not None else f"chip {one.unique_id:#x}" for one in chips]
    return ", ".join(names) if len(names) <= 4 else f"{len(names)} chips from {names[0]} on"


def _stack(row: Row) -> list[str]:
    """Outermost first, and innermost what it is: the operation, or its kind."""
    what = row[-5] or Kind.numbered(row[1]).word.replace("_", " ")
    return [*reversed([line.strip() for line in (row[-2] or "").split("\n") if line.strip()] or [_NO_LINE]), what]


def _frame(line: str) -> dict[str, Any]:
    place, _, function = line.partition(" ")
    file, colon, number = place.rpartition(":")
    if not colon or not number.isdecimal():
        return {"name": line}
    return {"name": function or place, "file": file, "line": int(number)}
