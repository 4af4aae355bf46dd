"""What `ttmem ps` says of each chip after every step: its own functions, given few rows at a time.

They are pure, and every figure follows from few rows: what a pool shows from its own, whatever lies in others and on
other chips, and whenever its peak was. That is not believed: `test_comparison` holds it for made-up rows, and every
whole page that a workload looks at is compared with what its parts say. So the same rows are shown once, however many
chips have them and however often they come again.
"""

from collections.abc import Iterator
from typing import Any

from tests.support.flat_rows.processes import FlatContext, snapshot_from_rows
from tests.support.tracked import shown
from tests.support.tracked.agreement import Figures
from tests.support.tracked.chip_rows import ACTIVITY, ChipKey, ChipTables, Reading, Row, Rows
from ttmem.devices import Pool
from ttmem.snapshot import Host, Snapshot

KNOWN_MOST = 20_000  # that are remembered
TABLE = "table"  # the USED column by pool, beside the figures of the document
Part = tuple[tuple[str, tuple[Row, ...]], ...]  # some rows of some tables
NOTHING: Figures = {"used": {}, "kernel_types": {}, "core_types": {}, "footprint": (0, 0, 0, 0), TABLE: {}}
IDLE: Figures = {"rings": {}, "images": (0, 0), "grown": {}}
_CONTEXT = FlatContext(source="", places=(), host=Host("", "", "", "", "", ""), user_of=str)


class ShownSteps:
    """Shows what a reading holds. Answers and launches are those of the journal's whole life."""

    def __init__(self, tables: ChipTables) -> None:
        self._tables = tables
        self._held: dict[tuple[int, ...], Figures] = {}
        self._active: dict[tuple[int, ...], Figures] = {}
        self._parts: dict[tuple[object, ...], Figures] = {}
        self.made_count = 0  # documents

    def figures(self, reading: Reading) -> dict[int, Figures]:
        """By unique id; chips with the same rows share what is said of them."""
        shared: dict[ChipKey, Figures] = {}
        found = {}
        for chip, device in reading.chips.items():
            key = reading.keys[device]
            if key not in shared:
                shared[key] = self._chip(reading, device, key)
            found[chip] = shared[key]
        return found

    def _chip(self, reading: Reading, device: int, key: ChipKey) -> Figures:
        if key.holdings not in self._held:
            _forget(self._held)
            self._held[key.holdings] = self._joined(NOTHING, reading, device, held_parts(reading, device))
        if key.activity not in self._active:
            _forget(self._active)
            self._active[key.activity] = self._joined(IDLE, reading, device, active_parts(reading, device))
        return self._held[key.holdings] | self._active[key.activity]

    def _joined(self, nothing: Figures, reading: Reading, device: int, parts: Iterator[Part]) -> Figures:
        """All that the parts say."""
        joined = {name: dict(figure) if isinstance(figure, dict) else figure for name, figure in nothing.items()}
        for part in parts:
            for name, figure in self._shown(reading, device, part).items():
                if isinstance(figure, dict):
                    joined[name].update(figure)
                else:
                    joined[name] = figure
        return joined

    def _shown(self, reading: Reading, device: int, part: Part) -> Figures:
        *_, chip, process = reading.keys[device].holdings
        key = (chip, process, part)
        if key not in self._parts:
            _forget(self._parts)
            self.made_count += 1
            self._parts[key] = shown_of(self._alone(reading.rows, device, part))
        return self._parts[key]

    def _alone(self, rows: Rows, device: int, part: Part) -> Rows:
        """The rows as they would be if there were nothing else on this host."""
        bare = {name: [] if isinstance(one, list) else one for name, one in rows.items()}
        [process] = rows["processes"]
        devices = [row for row in rows["devices"] if row["number"] == device]
        own = {
            name: [self._tables.all[name].whole(figures, device=device, process=process["key"]) for figures in some]
            for name, some in part
        }
        return {**bare, "devices": devices, "processes": [{**process, "incidents": []}], **own}  # of other chips, too


def held_parts(reading: Reading, device: int) -> Iterator[Part]:
    """Pool by pool, kind by kind, and the rest table by table."""
    footprints = ("footprints", reading.own("footprints", device))
    yield (footprints,)
    yield tuple((name, reading.own(name, device)) for name in ("device_cores", "process_cores"))
    for one in ("pools", "kinds"):
        by_process = {row[0]: (row,) for row in reading.own(f"process_{one}", device)}
        for row in reading.own(f"device_{one}", device):
            part = (f"device_{one}", (row,)), (f"process_{one}", by_process.get(row[0], ()))
            yield (*part, footprints) if one == "pools" and row[0] == Pool.CB else part


def active_parts(reading: Reading, device: int) -> Iterator[Part]:
    """A launch changes most of it: all at once."""
    yield tuple((name, reading.own(name, device)) for name in ACTIVITY)


def shown_of(rows: Rows) -> Figures:
    """What these rows of a single chip make the document and the table say; what is nothing is left out."""
    snapshot = snapshot_of(rows)
    [figures] = shown.in_document(snapshot).values()
    if rows["device_pools"]:
        [figures[TABLE]] = shown.in_table(snapshot)
    nothing = NOTHING | IDLE
    return {name: figure for name, figure in figures.items() if figure != nothing[name]}


def snapshot_of(rows: Rows) -> Snapshot:
    """As a collector makes it of the rows of its ledger."""
    return snapshot_from_rows(rows, _CONTEXT)


def _forget(known: dict[Any, Figures]) -> None:
    if len(known) >= KNOWN_MOST:
        known.clear()
