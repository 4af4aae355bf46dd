"""From the ledger's rows to an overview: the fast way to what `overview_of` makes of a whole snapshot.

The ledger has summed every process over its chips, and taken together who holds something on a chip: processes of one
origin and reason are one holder, of which the same is made as of a process.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ttmem.devices import Device
from ttmem.snapshot.activity import NO_ACTIVITY
from ttmem.snapshot.rows import (
    Rows,
    Surroundings,
    activities_on,
    damaged_files,
    explained,
    findings_of,
    incidents_of,
    reason_of,
)
from ttmem.snapshot.sights.chips import (
    Holder,
    Holders,
    Share,
    device_usages,
    devices_from_rows,
    kind_from_row,
    place_of,
    pool_from_row,
)
from ttmem.snapshot.sights.overview import Overview, ParentOf, ProcessRow, no_parent, row_state
from ttmem.snapshot.sights.regions import SizesOf
from ttmem.snapshot.sights.twins import alike, only
from ttmem.snapshot.usage import DeviceUsage, first_reason
from ttmem.snapshot.verdicts.contradictions import chip_findings

__all__ = ["Overviews", "overview_from_rows"]

_ORDERS_MOST = 4096  # of chips: processes come and go


def overview_from_rows(rows: Rows, surroundings: Surroundings, parent_of: ParentOf = no_parent) -> Overview:
    """The overview that the rows of `Ledger.overview()` and their surroundings make."""
    return Overviews().made(rows, surroundings, parent_of)


class Overviews:
    """Makes one after the other. The ledger hands out the very rows again of what has not changed: of those the same is
    made once. Any thread may ask."""

    def __init__(self) -> None:
        self._usages: tuple[list[Any], SizesOf | None, tuple[DeviceUsage, ...]] = ([], None, ())
        self._devices: tuple[list[Any], dict[int, Device]] = ([], {})
        self._chips = _Chips(())
        self._processes: dict[int, _Kept] = {}

    def made(self, rows: Rows, surroundings: Surroundings, parent_of: ParentOf) -> Overview:
        """As `overview_from_rows`."""
        usages = self._usages_of(rows, surroundings.sizes_of)
        processes = tuple(self._rows_of(rows, usages, surroundings, parent_of))
        doubtful = [row for row in rows["processes"] if row["findings"]]
        devices = self._devices_of(rows) if doubtful else {}
        doubts = [explained(finding, row["uid"]) for row in doubtful for finding in findings_of(row, devices)]
        return Overview(
            time_ns=rows["time_ns"],
            source=surroundings.source,
            places=surroundings.places,
            host=surroundings.host,
            devices=usages,
            processes=processes,
            foreign=surroundings.foreign,
            findings=(
                *damaged_files(rows),
                *doubts,
                *chip_findings(rows, self._devices_of(rows), usages),
                *surroundings.findings,
            ),
            reason=first_reason(
                [*(row.reason for row in processes if row.state != "dead"), *(usage.doubt for usage in usages)]
            ),
        )

    def _usages_of(self, rows: Rows, sizes_of: SizesOf) -> tuple[DeviceUsage, ...]:
        told = [rows[name] for name in sorted(rows.keys() - _NOT_OF_CHIPS)]
        before, same_sizes, usages = self._usages  # replaced as one: others may look at the same time
        if same_sizes is not sizes_of or told != before:
            usages = _usages_from_rows(rows, self._devices_of(rows), sizes_of)
            self._usages = (told, sizes_of, usages)
        return usages

    def _devices_of(self, rows: Rows) -> dict[int, Device]:
        before, devices = self._devices
        if before != rows["devices"]:
            devices = devices_from_rows(rows)
            self._devices = (rows["devices"], devices)
        return devices

    def _rows_of(
        self, rows: Rows, usages: Sequence[DeviceUsage], surroundings: Surroundings, parent_of: ParentOf
    ) -> Iterator[ProcessRow]:
        chips = self._chips.like([usage.device.number for usage in usages])
        devices = self._devices_of(rows)
        known, self._processes, self._chips = self._processes, {}, chips
        kept = self._processes
        for row, figures in zip(rows["processes"], rows["sums"], strict=True):
            parent = parent_of(row["pid"], row["started_ns"] or None) if _is_here(row) else None
            before = known.get(row["key"])
            if before is None or before.row is not row or before.figures is not figures or before.chips is not chips:
                made = _process(row, figures, chips, surroundings, parent)
                before = _Kept(row, figures, chips, made._replace(incidents=incidents_of(row, devices)))
            elif before.made.parent_pid != parent:
                before = before._replace(made=before.made._replace(parent_pid=parent))
            kept[row["key"]] = before
            yield before.made


_NOT_OF_CHIPS = {"time_ns", "processes", "sums", "whole", "damaged"}


def _usages_from_rows(rows: Rows, devices: dict[int, Device], sizes_of: SizesOf) -> tuple[DeviceUsage, ...]:
    """Every chip. Those that are alike are worked out once."""
    first_of = alike(rows, devices)
    numbers = frozenset(first_of.values())
    if len(numbers) == len(devices):
        return device_usages(devices, rows, _holders(rows), sizes_of)
    firsts, told = {number: devices[number] for number in numbers}, only(rows, numbers)
    made = {usage.device.number: usage for usage in device_usages(firsts, told, _holders(told), sizes_of)}
    found = ((device, made.get(first_of[device.number])) for device in sorted(devices.values(), key=place_of))
    return tuple(usage if usage.device is device else usage._replace(device=device) for device, usage in found if usage)


def _holders(rows: Rows) -> Holders:
    """As the ledger took them together: the same as is made of processes, without what only those are asked for."""
    by_key = {name: _by_holder(rows[name]) for name in _OF_HOLDERS}
    on: dict[int, list[Holder]] = defaultdict(list)
    for key, origin, reason in rows["holders"]:
        shares: dict[int, dict[int, Share]] = defaultdict(dict)
        for row in by_key["process_pools"].get(key, ()):
            shares[row[0]][row[1]] = (row[2], origin, reason)
        launches = dict(by_key["launches"].get(key, ()))
        activities = activities_on([(), *(by_key[name].get(key, ()) for name in _ACTIVITIES)])
        for number in {*shares, *launches, *activities}:
            there = (shares.get(number, {}), launches.get(number, 0), activities.get(number, NO_ACTIVITY))
            on[number].append(Holder(*there))
    return Holders(on, frozenset(rows["spoken_of"]))


def _by_holder(table: Sequence[tuple[Any, ...]]) -> dict[int, list[Any]]:
    found: dict[int, list[Any]] = defaultdict(list)
    for row in table:
        found[row[0]].append(row[1:])
    return found


_ACTIVITIES = ("footprints", "rings", "stalls", "caches")
_OF_HOLDERS = ("process_pools", "launches", *_ACTIVITIES)


class _Chips:
    """The chips that are listed, in their order. Many processes have the same ones: those are put in order once."""

    def __init__(self, numbers: Sequence[int]) -> None:
        self._numbers = tuple(numbers)
        self._place = {number: place for place, number in enumerate(numbers)}
        self._known: dict[tuple[int, ...], tuple[int, ...]] = {}

    def like(self, numbers: Sequence[int]) -> "_Chips":
        """These, if they are the same."""
        return self if self._numbers == tuple(numbers) and len(self._known) < _ORDERS_MOST else _Chips(numbers)

    def listed(self, numbers: tuple[int, ...]) -> tuple[int, ...]:
        if numbers not in self._known:
            there = [number for number in numbers if number in self._place]
            self._known[numbers] = tuple(sorted(there, key=self._place.__getitem__))
        return self._known[numbers]


class _Kept(NamedTuple):
    """A process as it was last made, and of what."""

    row: Rows
    figures: Sequence[Any]
    chips: _Chips
    made: ProcessRow


def _is_here(row: Rows) -> bool:
    return row["state"] == "live" and bool(row["visible"])


def _process(
    row: Rows, figures: Sequence[Any], chips: _Chips, surroundings: Surroundings, parent_pid: int | None
) -> ProcessRow:
    numbers, pools, kinds, launches, cb_planned = figures
    reason, start_ns = reason_of(row), row["started_ns"] or None
    return ProcessRow(
        key=row["key"],
        pid=row["pid"],
        parent_pid=parent_pid,
        is_visible=row["visible"],
        source=row["source"],
        uid=row["uid"],
        user=surroundings.user_of(row["uid"]),
        label=row["label"] or row["command"],
        command=row["command"],
        container=surroundings.container_of(row),
        state=row_state(row["state"], reason),
        origin=row["origin"],
        reason=reason,
        start_time_ns=start_ns,
        live_count=row["live_count"],
        devices=chips.listed(numbers),
        pools=tuple(pool_from_row(pool, row["origin"], reason) for pool in pools),
        kinds=tuple(map(kind_from_row, kinds)),
        launch_count=launches,
        finding_count=sum(row["findings"].values()),
        cb_planned_bytes=cb_planned,
        last_event_time_ns=row["last_event_ns"] or None,
        start_ticks=row["start_ticks"] or None,
        incident_count=row["incident_count"],
        refusal_count=row["refusals"],
        clash_count=row["clashes"],
        sites_off=row["sites_off"],
    )
