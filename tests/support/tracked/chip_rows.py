"""The ledger's rows chip by chip, cheap enough to be asked for after every step.

Equal rows get equal numbers, whichever chip they are of and at whichever step they were seen. So what follows from the
rows of a chip is worked out once, and 32 chips on which the same lies are compared once:

    rows of all chips -> for each table and chip its rows, without chip, process and clocks -> one number
"""

from collections import defaultdict
from collections.abc import Iterable
from itertools import count
from operator import itemgetter
from typing import Any, NamedTuple

from tests.support.tracked.own_journal import OwnJournal

Row = tuple[Any, ...]
Rows = dict[str, Any]
KNOWN_MOST = 20_000  # contents that are remembered, of each table

# Of each table the column of the device, those of the figures, and those of clocks: when a peak was, and since when
# peaks are known, is nothing that the model could know. What holds memory, and what programs do:
HOLDINGS = {
    "device_pools": (0, (1, 2, 3, 4, 5, 8), (6, 7)),
    "device_kinds": (0, (1, 2, 3, 4), ()),
    "device_cores": (0, (1, 2, 3, 4), ()),
    "process_pools": (1, (2, 3, 4, 5, 6, 8), (7,)),
    "process_kinds": (1, (2, 3, 4, 5), ()),
    "process_cores": (1, (2, 3, 4, 5), ()),
    "footprints": (1, (2, 3, 4, 5, 6, 7), ()),
}
ACTIVITY = {
    "launches": (1, (2,), ()),
    "rings": (1, (2, 3, 4, 5, 6, 7), ()),
    "stalls": (1, (2, 3), ()),
    "caches": (1, (2, 3, 4, 5, 6, 7, 8, 9, 10), ()),
}
_PROCESS = itemgetter("key", "state", "visible", "complete", "reason", "origin", "source")
_CHIP = itemgetter("board", "capacities", "known", "open_count")


class Contents:
    """Gives equal contents the same number, and no number to two of them."""

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}
        self._fresh = count()

    def number(self, content: Any) -> int:
        number = self._numbers.get(content)
        if number is None:
            if len(self._numbers) >= KNOWN_MOST:
                self._numbers.clear()  # what comes again gets a new number, and is worked out again
            number = self._numbers[content] = next(self._fresh)
        return number


class Table:
    """One table of the rows; as long as it stays the same, so do its numbers."""

    def __init__(self, device_at: int, figures_at: tuple[int, ...], clocks_at: tuple[int, ...]) -> None:
        self._device_at = device_at
        self._figures_at = figures_at
        self._width = 1 + device_at + len(figures_at) + len(clocks_at)
        self._device = itemgetter(device_at)
        self._figures = itemgetter(*figures_at, figures_at[-1])  # always a tuple; the last is there twice
        self._contents = Contents()
        self._rows: list[Row] = []
        self.by_device: dict[int, tuple[Row, ...]] = {}
        self.numbers: dict[int, int] = {}

    def read(self, rows: list[Row]) -> None:
        if rows == self._rows:
            return
        assert not rows or len(rows[0]) == self._width, "columns that nobody compares"
        self._rows = rows
        by_device: dict[int, list[Row]] = defaultdict(list)
        for device, figures in zip(map(self._device, rows), map(self._figures, rows), strict=True):
            by_device[device].append(figures)
        self.by_device = {device: tuple(own) for device, own in by_device.items()}
        self.numbers = {device: self._contents.number(own) for device, own in self.by_device.items()}

    def whole(self, figures: Row, *, device: int, process: int) -> Row:
        """A row again, with clocks that stand still."""
        row: list[Any] = [0] * self._width
        row[0] = process
        row[self._device_at] = device
        for at, figure in zip(self._figures_at, figures, strict=False):
            row[at] = figure
        return tuple(row)


class ChipKey(NamedTuple):
    """Numbers for all that is known of a chip; equal numbers, equal rows."""

    holdings: tuple[int, ...]  # and for the tally, for what the chip is, and for the process
    activity: tuple[int, ...]


class Reading:
    """The rows of one instant: of all chips, or of one for all that are alike."""

    def __init__(self, rows: Rows, tally: list[Row], chips: dict[int, int], tables: "ChipTables") -> None:
        [process] = rows["processes"]
        assert process["live_count"] == sum(row[-1] for row in tally), "all is of one instant"
        self.rows = rows
        self.tally = tally
        self.chips = chips  # by unique id: the number of the device whose rows are those of the chip, too
        self.keys = tables.keys(rows, tally)
        self._by_table = {name: table.by_device for name, table in tables.all.items()}

    def own(self, table: str, device: int) -> tuple[Row, ...]:
        """The figures of one device: what stands behind it in the rows, without clocks."""
        return self._by_table[table].get(device, ())


class ChipTables:
    """All tables that tell of single chips, as they were last read."""

    def __init__(self) -> None:
        self.all = {name: Table(*columns) for name, columns in (HOLDINGS | ACTIVITY).items()}
        self._tallies, self._others = Contents(), Contents()
        self._unique_ids: dict[int, int | None] = {}  # None for what is no known chip

    def read_all(self, journal: OwnJournal) -> Reading:
        """The rows of every chip."""
        rows = journal.rows()
        for row in rows["devices"]:
            self._unique_ids[row["number"]] = row["unique_id"] if row["known"] else None
        chips = {row["unique_id"]: row["number"] for row in rows["devices"] if row["known"]}
        return Reading(rows, journal.tables.tally(journal.key), chips, self)

    def read(self, journal: OwnJournal) -> Reading:
        """The rows of one of those chips of which the ledger itself says that it has the same of all of them."""
        journal.read()
        groups = journal.tables.alike()
        if any(self._unique_ids.get(number) is None for numbers in groups for number in numbers):
            return self.read_all(journal)  # somebody new
        chips = {self._unique_ids[number] or 0: numbers[0] for numbers in groups for number in numbers}
        rows = journal.rows([numbers[0] for numbers in groups])
        return Reading(rows, journal.tables.tally(journal.key), chips, self)

    def keys(self, rows: Rows, tally: Iterable[Row]) -> dict[int, ChipKey]:
        """By the number of the device."""
        for name, table in self.all.items():
            table.read(rows[name])
        tallies = self._tallied(tally, [row["number"] for row in rows["devices"]])
        process = self._others.number(tuple(map(_PROCESS, rows["processes"])))
        chips = {row["number"]: self._others.number(_CHIP(row)) for row in rows["devices"]}
        holdings = [self.all[name].numbers for name in HOLDINGS]
        activity = [self.all[name].numbers for name in ACTIVITY]
        return {
            device: ChipKey(
                (*[numbers.get(device, -1) for numbers in holdings], tallies.get(device, -1), chip, process),
                (*[numbers.get(device, -1) for numbers in activity], process),
            )
            for device, chip in chips.items()
        }

    def _tallied(self, tally: Iterable[Row], devices: list[int]) -> dict[int, int]:
        by_device: dict[int, list[Row]] = {device: [] for device in devices}
        for row in tally:
            counted = row[1:]
            for device in devices:
                if device in row[0]:
                    by_device[device].append(counted)
        return {device: self._tallies.number(tuple(sorted(own))) for device, own in by_device.items()}
