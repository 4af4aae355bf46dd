"""From the ledger's rows to an overview: the fast way to what `overview_of` makes of a whole snapshot.

The ledger has summed every process over its chips, and taken together who holds something on a chip: processes of one
origin and reason are one holder, of which the same is made as of a process.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from ttmem.devices import Device
from ttmem.snapshot.rows import (
    TABLES,
    Parts,
    Rows,
    Surroundings,
    damaged_files,
    findings_of,
    held_from_rows,
    reason_of,
)
from ttmem.snapshot.sights.chips import Holders, device_usages, devices_from_rows, kind_from_row, pool_from_row
from ttmem.snapshot.sights.overview import Overview, ParentOf, ProcessRow, no_parent, row_state
from ttmem.snapshot.sights.regions import SizesOf
from ttmem.snapshot.usage import DeviceUsage, ProcessDevice, first_reason

__all__ = ["overview_from_rows"]


def overview_from_rows(rows: Rows, surroundings: Surroundings, parent_of: ParentOf = no_parent) -> Overview:
    """The overview that the rows of `Ledger.overview()` and their surroundings make."""
    usages = _REMEMBERED.usages(rows, surroundings.sizes_of)
    chips = _Chips([usage.device.number for usage in usages])
    processes = tuple(
        _process(row, figures, chips, surroundings, parent_of)
        for row, figures in zip(rows["processes"], rows["sums"], strict=True)
    )
    doubts = [finding for row in rows["processes"] if row["findings"] for finding in findings_of(row)]
    return Overview(
        time_ns=rows["time_ns"],
        source=surroundings.source,
        places=surroundings.places,
        host=surroundings.host,
        devices=usages,
        processes=processes,
        foreign=surroundings.foreign,
        findings=(*damaged_files(rows), *doubts, *surroundings.findings),
        reason=first_reason(row.reason for row in processes if row.state != "dead"),
    )


class _Remembered:
    """The chips of the last look. Mostly nothing has changed since, and comparing rows is quick."""

    def __init__(self) -> None:
        self._last: tuple[list[Any], SizesOf | None, tuple[DeviceUsage, ...]] = ([], None, ())

    def usages(self, rows: Rows, sizes_of: SizesOf) -> tuple[DeviceUsage, ...]:
        told = [rows[name] for name in sorted(rows.keys() - _NOT_OF_CHIPS)]
        before, same_sizes, usages = self._last  # replaced as one: any thread may look
        if same_sizes is not sizes_of or told != before:
            devices = devices_from_rows(rows)
            usages = device_usages(devices, rows, _holders(rows, devices), sizes_of)
            self._last = (told, sizes_of, usages)
        return usages


_NOT_OF_CHIPS = {"time_ns", "processes", "sums", "whole", "damaged"}
_REMEMBERED = _Remembered()


def _holders(rows: Rows, devices: dict[int, Device]) -> Holders:
    parts = Parts({**dict.fromkeys(TABLES, ()), **rows}, devices)
    on: dict[int, list[ProcessDevice]] = defaultdict(list)
    for key, origin, reason in rows["holders"]:
        launches = dict(parts.of("launches", key))
        pair = ("process_pools", "process_kinds")
        for held in held_from_rows(parts, key, *pair, origin=origin, reason=reason, launches=launches):
            on[held.device.number].append(held)
    return Holders(on, frozenset(rows["spoken_of"]))


class _Chips:
    """The chips that are listed, in their order. Many processes have the same ones: those are put in order once."""

    def __init__(self, numbers: Sequence[int]) -> None:
        self._place = {number: place for place, number in enumerate(numbers)}
        self._known: dict[tuple[int, ...], tuple[int, ...]] = {}

    def listed(self, numbers: tuple[int, ...]) -> tuple[int, ...]:
        if numbers not in self._known:
            there = [number for number in numbers if number in self._place]
            self._known[numbers] = tuple(sorted(there, key=self._place.__getitem__))
        return self._known[numbers]


def _process(
    row: Rows, figures: Sequence[Any], chips: _Chips, surroundings: Surroundings, parent_of: ParentOf
) -> ProcessRow:
    numbers, pools, kinds, launches, cb_planned = figures
    reason, start_ns = reason_of(row), row["started_ns"] or None
    is_here = row["state"] == "live" and row["visible"]
    return ProcessRow(
        key=row["key"],
        pid=row["pid"],
        parent_pid=parent_of(row["pid"], start_ns) if is_here else None,
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
    )
