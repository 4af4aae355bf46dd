"""What was alive at a moment, summed up by line, operation, phase, kind, program, thread, process, chip or core.

From rows of `Ledger.allocations` and phases of a recording. A sum is of one pool of one chip: what lies on a mesh
counts once on each of its chips, as the chip's own figure has it.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, get_args

from ttmem.devices import Kind, Pool
from ttmem.snapshot.values import Answer, ChipId, ChipName, Count, Struct, TimeNs

__all__ = [
    "BY_WORDS",
    "AliveSum",
    "AliveView",
    "ByWord",
    "Entry",
    "GapPeak",
    "PhaseSpan",
    "Phases",
    "PoolAlive",
    "RecordingReport",
    "Row",
    "Sums",
    "chip_word",
    "names_of",
    "summed",
    "sums_by_device",
    "sums_of",
]

ByWord = Literal["site", "operation", "phase", "kind", "program", "thread", "process", "tensor", "chip", "core"]
BY_WORDS: tuple[ByWord, ...] = get_args(ByWord)
_FRAMES = 2  # of a stack: the line that asked, and the one that called it

Row = Sequence[Any]  # of `Ledger.allocations`


class AliveSum(Struct, frozen=True):
    """All that one line, or operation, or ... had alive in one pool of one chip."""

    names: tuple[str, ...]  # what it is summed by, in the order asked for; empty text: not known
    size_bytes: Count
    count: Count


class AliveView(Struct, frozen=True):
    """The same allocations, summed up by another word."""

    by: ByWord
    sums: tuple[AliveSum, ...]  # the largest first
    more_sum_count: Count


class PoolAlive(Struct, frozen=True, kw_only=True):
    """One pool of some chips that had the same at a moment."""

    chips: tuple[ChipName, ...]
    pool: Pool
    size_bytes: Count  # of each chip
    capacity_bytes: Count | None  # None: not known
    time_ns: TimeNs  # of the moment
    since_start_ns: TimeNs  # since the first event of the recording
    is_alive_known: bool  # False: some process could not be followed then; the figure is right, `sums` have less
    listed_bytes: Count  # what all of `sums` are together, before the smallest were left out
    sums: tuple[AliveSum, ...]  # the largest first
    more_sum_count: Count
    views: tuple[AliveView, ...] = ()


class GapPeak(Struct, frozen=True, kw_only=True):
    """What a process's own counter says of a time in which it could not be followed."""

    process: str
    chip_ids: tuple[ChipId, ...]
    pool: Pool
    size_bytes: Count
    time_ns: TimeNs


class RecordingReport(Answer, frozen=True, kw_only=True):
    """What a recording says, or what it says of one moment."""

    path: str
    label: str
    command: tuple[str, ...]
    host: str
    began_ns: TimeNs  # the first event
    duration_ns: TimeNs
    event_count: Count
    lost_record_count: Count  # records that came too late: history only, no balance is wrong for it
    size_bytes: Count
    troubles: tuple[str, ...]  # what of it cannot be read
    by: tuple[ByWord, ...]
    is_of_peaks: bool  # every pool at its own highest; else all of them at one moment
    pools: tuple[PoolAlive, ...]
    gaps: tuple[GapPeak, ...] = ()  # peaks that some process had while it could not be followed
    processes: tuple[str, ...] = ()  # "pid 4711 (model.py)", in the order in which they came


class PhaseSpan(NamedTuple):
    """One run of a phase; times since 1970, `ended_ns` 0 while it goes on."""

    name: str
    began_ns: int
    ended_ns: int
    thread: int


class Phases:
    """The phases of one process: which was open when something was made."""

    def __init__(self, spans: Iterable[tuple[str, int, int, int]]) -> None:
        self._spans = sorted((PhaseSpan(*one) for one in spans), key=lambda span: span.began_ns)
        self._began = [span.began_ns for span in self._spans]

    def name_at(self, time_ns: int) -> str:
        """The innermost that was open, "" if none was. A phase belongs to the process, whichever thread opened it."""
        for span in reversed(self._spans[: bisect_right(self._began, time_ns)]):
            if not span.ended_ns or span.ended_ns >= time_ns:
                return span.name
        return ""


class Entry(NamedTuple):
    """One allocation, whose it is, and how much of it counts."""

    row: Row
    process: str
    phases: Phases
    size_bytes: int
    chip: str = ""
    core: str = ""  # empty: as the row says


_NO_PHASES = Phases(())


def sums_of(
    rows: Mapping[int, Iterable[Row]],
    phases: Mapping[int, Phases],
    labels: Mapping[int, str],
    *,
    device: int,
    pool: int,
    by: Sequence[ByWord],
    chip: str = "",
) -> list[AliveSum]:
    """The largest first. `rows`, `phases` and `labels` by process key; `device` by its number, with its name."""
    return sums_by_device(rows, phases, labels, devices={device: chip}, pool=pool, ways=(by,))[device][0]


def sums_by_device(
    rows: Mapping[int, Iterable[Row]],
    phases: Mapping[int, Phases],
    labels: Mapping[int, str],
    *,
    devices: Mapping[int, str],
    pool: int,
    ways: Sequence[Sequence[ByWord]],
) -> dict[int, list[list[AliveSum]]]:
    """Of several devices, with their names, by each list of words: rows are gone through once."""
    sums = {device: [Sums() for _ in ways] for device in devices}
    for key, listed in rows.items():
        label, its_phases = labels.get(key, ""), phases.get(key, _NO_PHASES)
        for row in listed:
            if row[3] != pool or not (row[5] or row[1] == Kind.BUFFER.number):
                continue
            for device in row[0]:
                if device not in sums:
                    continue
                entry = Entry(row, label, its_phases, row[5], devices[device])
                for one, by in zip(sums[device], ways, strict=True):
                    one.add(entry, by)
    return {device: [one.largest_first() for one in its] for device, its in sums.items()}


def summed(entries: Iterable[Entry], by: Sequence[ByWord]) -> list[AliveSum]:
    """The largest first."""
    sums = Sums()
    for entry in entries:
        sums.add(entry, by)
    return sums.largest_first()


class Sums:
    """Bytes and numbers of allocations that have the same names."""

    def __init__(self) -> None:
        self._sums: dict[tuple[str, ...], list[int]] = defaultdict(lambda: [0, 0])

    def add(self, entry: Entry, by: Sequence[ByWord]) -> None:
        one = self._sums[names_of(entry, by)]
        one[0] += entry.size_bytes
        one[1] += 1

    def largest_first(self) -> list[AliveSum]:
        found = [AliveSum(names, *figures) for names, figures in self._sums.items()]
        return sorted(found, key=lambda one: (-one.size_bytes, one.names))


def names_of(entry: Entry, by: Sequence[ByWord]) -> tuple[str, ...]:
    """What an allocation is called by each of these words; empty text: not known."""
    return tuple(_NAMES[word](entry) for word in by)


def chip_word(chip: ChipName) -> str:
    """What a chip is called in sums."""
    if chip.index is not None and not chip.is_server_chip:
        return f"chip {chip.index}"
    return chip.name or chip.uuid or ""


def _site(entry: Entry) -> str:
    if Kind.numbered(entry.row[1]).is_kernel:
        return ""
    return "\n".join(entry.row[-2].split("\n")[:_FRAMES])


def _program(entry: Entry) -> str:
    return "" if entry.row[17] is None else f"program {entry.row[17]}"


def _thread(entry: Entry) -> str:
    return f"thread {entry.row[10]}" if entry.row[10] else ""


def _core(entry: Entry) -> str:
    """Lockstep buffers take the same addresses of every core, circular buffers and kernels lie on some of them."""
    parts = entry.row[-1]
    if parts:
        return ";".join(dict.fromkeys(str(part[-1]) for part in parts))
    if Pool.numbered(entry.row[3]) in (Pool.L1, Pool.L1_SMALL):
        return "every core"
    return f"{entry.row[9]} cores" if entry.row[9] else ""


_NAMES: dict[ByWord, Callable[[Entry], str]] = {
    "site": _site,
    "operation": lambda entry: entry.row[-5],
    "phase": lambda entry: entry.phases.name_at(entry.row[12]),
    "kind": lambda entry: Kind.numbered(entry.row[1]).word.replace("_", " "),
    "program": _program,
    "thread": _thread,
    "process": lambda entry: entry.process,
    "tensor": lambda entry: entry.row[-4],
    "chip": lambda entry: entry.chip,
    "core": lambda entry: entry.core or _core(entry),
}
