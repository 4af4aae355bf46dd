"""How many incidents there may be, for `ttmem check --max-incidents`."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from ttmem.snapshot import ProcessUsage, Snapshot
from ttmem.snapshot.device import ChipName
from ttmem.view.words import plural

__all__ = ["IncidentLimit"]

_MOST = 5  # incidents that are listed, the newest


class IncidentLimit(NamedTuple):
    """Incidents of processes that run, and of those that ended within a time."""

    most: int
    total: int
    process_count: int
    refused: tuple[ProcessUsage, ...]
    devices: tuple[ChipName, ...]
    time_ns: int

    @classmethod
    def judged(cls, snapshot: Snapshot, most: int, since: float | None) -> "IncidentLimit":
        begin_ns = 0 if since is None else snapshot.time_ns - int(since * 1e9)
        processes = [one for one in snapshot.processes if one.is_live or (one.last_event_time_ns or 0) >= begin_ns]
        refused = tuple(process for process in processes if process.was_refused)
        count = sum(process.incident_count or process.refusal_count + process.clash_count for process in refused)
        devices = tuple(usage.device for usage in snapshot.devices)
        return cls(most, count, len(processes), refused, devices, snapshot.time_ns)

    @property
    def is_crossed(self) -> bool:
        return self.total > self.most

    def texts(self) -> Iterator[str]:
        """The newest incidents where there are too many, else how many there are."""
        if not self.is_crossed:
            yield f"{plural(self.total, 'incident', 's')} in {plural(self.process_count, 'process', 'es')}"
            return
        from ttmem.view.incidents.lines import lines_of, told_incidents, unkept_texts

        yield f"{plural(self.total, 'incident', 's')} > {self.most}"
        told = told_incidents([(process, not process.is_live) for process in self.refused], self.time_ns)
        for line in lines_of(told[:_MOST], self.devices, None, is_ascii=True):
            yield "".join(span.text for span in line)
        yield from (f" {text}" for text in unkept_texts(self.refused))

    def document(self) -> dict[str, Any]:
        return {
            "limit": self.most,
            "count": self.total,
            "crossed": self.is_crossed,
            "incidents": [
                {"pid": process.pid, "number": incident.number, "kind": incident.kind, "memory": incident.memory}
                for process in self.refused
                for incident in process.incidents
            ],
        }
