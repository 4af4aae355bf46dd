"""`ttmem report` without a question: everything on one page, from one walk through the recording."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

import msgspec

from ttmem.analysis.alive import AliveSum
from ttmem.analysis.room.page import CachedPrograms, IncidentLine, RecordedPage
from ttmem.devices import Kind
from ttmem.figures.growing import leaks
from ttmem.figures.recorded import peak_report, process_word
from ttmem.figures.room import RoomRun, advice_report, cores_report, headroom_report, holes_report
from ttmem.figures.room.run import site_line
from ttmem.recording import Recording
from ttmem.snapshot.incidents import Incident
from ttmem.snapshot.usage import ProcessUsage
from ttmem.snapshot.values import ChipName, replace

__all__ = ["recorded_page"]

_QUARTERS = 4
_MOST_EVENTS = 1_000_000  # that a page goes through unasked: a second or two


def recorded_page(recording: Recording, *, chip: str | None, most: int) -> RecordedPage:
    """What was recorded of some chips; none of that name is a SelectionError. Without `most` nothing is left out."""
    run = RoomRun(recording, chip=chip)
    devices = [usage.device for usage in run.usages.values()]
    peaks = peak_report(recording, by=("site",), chip=chip, most=most, views=("operation", "phase", "kind"))
    is_whole = not most or recording.row_count <= _MOST_EVENTS
    return RecordedPage(
        **msgspec.structs.asdict(peaks),
        is_whole=is_whole,
        chips=tuple(device.as_name() for device in devices),
        boards=tuple(sorted({device.board or device.arch for device in devices} - {""})),
        cores=cores_report(run, by=("site",), asked=None, most=most).cores,
        incidents=tuple(_line(run, process, one) for process, one in run.incidents),
        **(_walked(run, most) if is_whole else {}),
    )


def _walked(run: RoomRun, most: int) -> dict[str, Any]:
    """What has to go through all events."""
    grown = leaks(run.recording)
    holes = holes_report(run, by=("site",), pool=None, most=most)
    return {
        "room": tuple(replace(one, planned=()) for one in headroom_report(run, by=("site",)).chips),
        "holes": tuple(replace(one, course=()) for one in holes.pools),
        "compared": grown.series,
        "leaks": tuple(one for one in grown.leaks if _is_of(one.chips, run))[: most or None],
        "programs": tuple(_programs(run, most)),
        "advice": advice_report(run).advice,
    }


def _is_of(chips: Iterable[ChipName], run: RoomRun) -> bool:
    return any(chip.unique_id in run.usages for chip in chips)


def _line(run: RoomRun, process: ProcessUsage, incident: Incident) -> IncidentLine:
    return IncidentLine(
        name=f"{process.pid}-{incident.number}",
        kind=incident.kind,
        memory=incident.memory,
        when=run.when(run.recording.monotonic_ns(incident.time_ns)),
        chip_ids=incident.device_ids,
        requested_bytes=incident.requested_bytes,
        largest_free_bytes=incident.largest_free_bytes,
        repeat_count=incident.repeat_count,
        site=site_line(incident.site),
    )


def _programs(run: RoomRun, most: int) -> list[CachedPrograms]:
    """By process, of all programs whose beginning was recorded."""
    reader = run.lives(events=())
    late_ns = run.recording.last_ns - (run.recording.last_ns - run.recording.first_ns) // _QUARTERS
    counts: Counter[tuple[int, int]] = Counter()
    sizes: Counter[tuple[int, int]] = Counter()
    late: Counter[int] = Counter()
    for batch in reader.batches():
        columns = batch.lives
        for at, kind in enumerate(columns["kind"]):
            if kind != Kind.PROGRAM_BINARY.number:
                continue
            name = (columns["process"][at], columns["operation"][at])
            counts[name] += 1
            sizes[name] += columns["bytes"][at]
            late[name[0]] += columns["begin_ns"][at] >= late_ns
    processes, texts = reader.processes, reader.texts
    found = []
    for number in dict.fromkeys(process for process, _ in counts):
        sums = [AliveSum((texts[name[1]],), sizes[name], count) for name, count in counts.items() if name[0] == number]
        sums.sort(key=lambda one: (-one.count, one.names))
        process = processes[number]
        found.append(
            CachedPrograms(
                process=process_word(process.pid, process.label or process.command),
                made_count=sum(one.count for one in sums),
                last_quarter_count=late[number],
                size_bytes=sum(one.size_bytes for one in sums),
                sums=tuple(sums[: most or None]),
                more_sum_count=max(0, len(sums) - most) if most else 0,
            )
        )
    return found
