"""An overview joined with what the stock runtime's own counters say: the same as that of a joined snapshot.

Only of processes that both tell about are all figures needed, chip by chip; their rows and those of the chips are then
what `RuntimeCounters` makes of them.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ttmem.snapshot import ProcessUsage, Readings, Snapshot, Surroundings
from ttmem.snapshot.sights.overview import Overview, ParentOf, process_row_of
from ttmem.snapshot.usage import first_reason

if TYPE_CHECKING:
    from ttmem.collector.runtime_counters import RuntimeCounters

__all__ = ["joined_overview", "joined_processes", "surrounding"]


def surrounding(surroundings: Surroundings, readings: Readings) -> Surroundings:
    """What an overview says besides, when no region tells of any chip."""
    more = tuple(place for place in readings.places if place not in surroundings.places)
    return surroundings._replace(
        places=(*surroundings.places, *more),
        foreign=(*surroundings.foreign, *readings.foreign),
        findings=(*surroundings.findings, *readings.findings),
    )


def joined_overview(
    runtime: "RuntimeCounters",
    overview: Overview,
    told_twice: Sequence[ProcessUsage],
    readings: Readings,
    parent_of: ParentOf,
) -> Overview:
    """`told_twice`: what was counted of the processes that the readings tell of."""
    joined = runtime.joined(_snapshot(overview, told_twice), readings)
    noted = {process.key: process for process in joined.processes[: len(told_twice)]}
    listed = {usage.device.number for usage in joined.devices}
    plain = [process_row_of(process, listed, parent_of) for process in joined.processes[len(told_twice) :]]
    return overview._replace(
        places=joined.places,
        devices=joined.devices,
        processes=(
            *(
                row._replace(finding_count=sum(finding.count for finding in noted[row.key].findings))
                if row.key in noted
                else row
                for row in overview.processes
            ),
            *plain,
        ),
        foreign=joined.foreign,
        findings=joined.findings,
        reason=first_reason([overview.reason, *(row.reason for row in plain)]),
    )


def joined_processes(
    runtime: "RuntimeCounters", overview: Overview, told_twice: Sequence[ProcessUsage], readings: Readings
) -> tuple[ProcessUsage, ...]:
    """All processes that the readings tell of: those that were counted too, then the others."""
    return runtime.joined(_snapshot(overview, told_twice), readings).processes


def _snapshot(overview: Overview, told_twice: Sequence[ProcessUsage]) -> Snapshot:
    return Snapshot(
        time_ns=overview.time_ns,
        source=overview.source,
        places=overview.places,
        host=overview.host,
        devices=overview.devices,
        processes=tuple(told_twice),
        foreign=overview.foreign,
        damaged=(),
        findings=overview.findings,
    )
