"""The page of `ttmem explain`: whose incident it is, its whole story, and which others there are."""

from collections.abc import Iterator, Sequence

from ttmem.analysis import Explanation
from ttmem.snapshot import DeviceUsage, ProcessUsage, Snapshot
from ttmem.snapshot.incidents import Incident, incident_name
from ttmem.snapshot.values import ChipName
from ttmem.view.incidents.room import room_table
from ttmem.view.incidents.story import incident_story
from ttmem.view.incidents.words import incident_title, memory_word
from ttmem.view.page import PageOptions
from ttmem.view.table import Line, Role, Span, clean, fitted, wrapped
from ttmem.view.texts import age_text, clock_text, plural

__all__ = ["explanation_page", "no_incident_page"]

_NAMED_MOST = 8


def explanation_page(
    explanations: Sequence[tuple[ProcessUsage, Explanation]],
    snapshot: Snapshot,
    options: PageOptions,
    *,
    is_whole: bool,
    chosen: Sequence[ProcessUsage],
    path: str = "",
) -> list[Line]:
    """Each incident under its own heading; then which others are known, or were lost. `path`: of the journal or
    recording that was asked for, if one was."""
    lines: list[Line] = []
    devices = devices_of(snapshot)
    for process, explanation in explanations:
        lines += [()] if lines else []
        lines += [_heading(process, explanation, snapshot, options), ()]
        lines += incident_story(explanation, devices, options, most=0 if is_whole else 20)
    notes = [*_journals(chosen), *_others(explanations, snapshot, chosen, path)]
    return [*lines, (), *wrapped(notes, Role.DIM, "", options.width)] if notes else lines


def devices_of(snapshot: Snapshot) -> list[ChipName]:
    """All chips that anybody speaks of."""
    found: list[ChipName] = [usage.device for usage in snapshot.devices]
    found += [held.device for process in snapshot.processes for held in process.devices]
    return list({device.uuid or device.name: device for device in found}.values())


def no_incident_page(
    devices: Sequence[DeviceUsage], chosen: Sequence[ProcessUsage], options: PageOptions
) -> list[Line]:
    """No incident that could be explained: how much room there is instead."""
    lost = sum(max(one.incident_count, one.refusal_count + one.clash_count) for one in chosen)
    whose = f" of pid {chosen[0].pid} ({clean(chosen[0].label)})" if len({one.pid for one in chosen}) == 1 else ""
    said = f"No incidents{whose}." if not lost else f"{plural(lost, 'incident', 's')}{whose}, details not kept."
    lines: list[Line] = [(Span(f" {said}", Role.TITLE if not lost else Role.FULL),)]
    if devices:
        lines += [(), *room_table(devices, width=options.width)]
        lines += [(), *wrapped([_LEGEND], Role.DIM, "", options.width)]
    lines += wrapped([*_journals(chosen), *_refused(devices)], Role.DIM, "", options.width)
    return [fitted(line, options.width) for line in lines] if options.width else lines


_LEGEND = (
    "HEADROOM: lowest L1 buffer less highest end of circular buffers of all loaded programs, on the core with least. "
    "L1 BLOCK: largest L1 buffer that fits, per core. DRAM BLOCK: largest DRAM buffer that fits, in all banks."
)


def _refused(devices: Sequence[DeviceUsage]) -> Iterator[str]:
    """Programs that would be refused if they ran now: a note, no alarm."""
    for usage in devices:
        if usage.headroom_bytes is not None and usage.headroom_bytes < 0 and usage.headroom_programs:
            names = [f"{program} of pid {pid}" for pid, program in usage.headroom_programs[:_NAMED_MOST]]
            yield f"chip {usage.device.index}: would be refused if launched now: program {', '.join(names)}."


def _heading(process: ProcessUsage, explanation: Explanation, snapshot: Snapshot, options: PageOptions) -> Line:
    dot = " | " if options.is_ascii else " · "
    incident = explanation.incident
    age = age_text(max(0, snapshot.time_ns - incident.time_ns))
    state = "still runs" if process.is_live else "ended"
    parts = (
        Span(" ttmem explain", Role.TITLE),
        Span(f"  {explanation.name}", Role.INDEX),
        Span(f"  {clean(process.label)}{dot}{clean(process.user)}{dot}{state}"),
        Span(f"{dot}{clock_text(incident.time_ns)}, {age} ago", Role.DIM),
    )
    return fitted(parts, options.width) if options.width else parts


def _journals(chosen: Sequence[ProcessUsage]) -> Iterator[str]:
    """Several journals of one pid: it was used again, or the process made a new one."""
    by_pid: dict[int, list[ProcessUsage]] = {}
    for process in chosen:
        by_pid.setdefault(process.pid, []).append(process)
    for pid, found in by_pid.items():
        if len(found) > 1 and len(by_pid) == 1:
            yield f"pid {pid} has {len(found)} journals; ttmem explain FILE chooses one:"
            for process in found:
                count = plural(process.incident_count, "incident", "s")
                yield f"{clean(process.path)} ({process.state}, {count}, {clean(process.label)})"


def _others(
    explanations: Sequence[tuple[ProcessUsage, Explanation]],
    snapshot: Snapshot,
    chosen: Sequence[ProcessUsage],
    path: str,
) -> Iterator[str]:
    shown = {(process.key, one.incident.number) for process, one in explanations}
    for process in {process.key: process for process, _ in explanations}.values():
        kept = [one for one in process.incidents if (process.key, one.number) not in shown]
        if kept:
            names = ", ".join(_brief(process, one) for one in kept[-_NAMED_MOST:])
            subject = path or process.pid or clean(process.path)
            yield f"Other incidents of pid {process.pid}: {names} (ttmem explain {subject} --all)."
        lost = process.incident_count - len(process.incidents)
        if lost > 0:
            yield f"{plural(lost, 'earlier incident', 's')} of pid {process.pid}, details not kept."
    keys = {process.key for process, _ in explanations}
    others = [process for process in snapshot.processes if process.incident_count and process.key not in keys]
    if others and len(chosen) == len(snapshot.processes):
        pids = ", ".join(str(process.pid) for process in others[:_NAMED_MOST])
        how = f" (ttmem explain {path} --incident PID-N)" if path else ""
        yield f"Other processes with incidents: pid {pids}{how}."


def _brief(process: ProcessUsage, incident: Incident) -> str:
    kind = incident_title(incident).lower()
    return f"{incident_name(process.pid, incident)} ({kind}, {memory_word(incident.memory)})"
