"""The whole page of `ttmem ps`: what it says, in which order, whatever paints it."""

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ttmem.snapshot import ProcessUsage, Snapshot
from ttmem.snapshot.values import EMBEDDED
from ttmem.view.device_tables import Group, alike, alone, device_table, kernel_table
from ttmem.view.incidents.lines import incident_list, marked_chips, told_incidents
from ttmem.view.page import PageOptions
from ttmem.view.pages.program_tables import cache_table, core_table, footprint_table, program_table, ring_table
from ttmem.view.pages.workload_table import workload_table
from ttmem.view.process_table import ordered, process_table, tree
from ttmem.view.table import Line, Role, Span, clean, clipped, fitted, wrapped
from ttmem.view.texts import (
    clock_text,
    device_word,
    finding_text,
    looked_text,
    plural,
    process_text,
    reason_text,
    size_text,
)


def page(snapshot: Snapshot, options: PageOptions) -> list[Line]:
    """All lines, top to bottom."""
    width = options.width
    processes = shown_processes(snapshot, options)
    blocks = [list(_heading(snapshot, options))]
    groups = alone(snapshot.devices) if width is None else alike(snapshot.devices)
    if options.is_kernels:
        blocks += _programs(groups, processes, options)
    else:
        blocks += _holders(groups, processes, options, snapshot)
    blocks.append(_incidents(snapshot, processes, options))
    blocks.append(wrapped(_doubts(snapshot, processes), Role.HIGH, "! ", width))
    blocks.append(wrapped(_notes(snapshot, processes, options), Role.DIM, "", width))
    lines: list[Line] = []
    for block in filter(None, blocks):
        lines += [(), *block] if lines else block
    return lines


def _holders(
    groups: Sequence[Group], processes: Sequence[ProcessUsage], options: PageOptions, snapshot: Snapshot
) -> Iterator[list[Line]]:
    width, is_ascii = options.width, options.is_ascii
    marks = _marks(processes, snapshot.time_ns)
    if groups:
        yield device_table(groups, width=width, is_ascii=is_ascii, refused=marks.chips)
    if any(usage.kernels or usage.launch_count for group in groups for usage in group):
        yield kernel_table(groups, width=width)
    if processes and options.by:
        yield workload_table(processes, snapshot.devices, width=width, is_ascii=is_ascii)
    elif processes:
        branches = {} if options.parents is None else tree(processes, options.parents, is_ascii=is_ascii)[1]
        has_state = options.is_with_ended
        yield process_table(
            processes, width=width, is_ascii=is_ascii, has_state=has_state, branches=branches, refused=marks.processes
        )


class _Marks(NamedTuple):
    """Who had incidents: chips by their ids, processes by their keys; in red if that is news."""

    chips: Mapping[str, Role]
    processes: Mapping[int, Role]


def _marks(processes: Sequence[ProcessUsage], time_ns: int) -> _Marks:
    refused = [process for process in processes if process.was_refused]
    if not refused:
        return _Marks({}, {})
    found = {process.key: told_incidents([(process, not process.is_live)], time_ns) for process in refused}
    news = {key: Role.FULL if any(one.is_fresh for one in told) else Role.DIM for key, told in found.items()}
    return _Marks(marked_chips(one for told in found.values() for one in told), news)


def _programs(groups: Sequence[Group], processes: Sequence[ProcessUsage], options: PageOptions) -> Iterator[list[Line]]:
    width = options.width
    if any(usage.kernels or usage.launch_count for group in groups for usage in group):
        yield kernel_table(groups, width=width)
    for table in (core_table, footprint_table, ring_table, cache_table):
        yield table(groups, width=width)
    yield program_table(processes, width=width, is_ascii=options.is_ascii)


def shown_processes(snapshot: Snapshot, options: PageOptions) -> list[ProcessUsage]:
    """By a column; else the oldest first. The ended come last, children below their parents if a tree is asked for."""
    chosen = ordered(snapshot.processes if options.is_with_ended else snapshot.live, options.order)
    return chosen if options.parents is None else tree(chosen, options.parents)[0]


def nothing_to_show(snapshot: Snapshot, demos: Sequence[str] = ()) -> list[Line]:
    """What to say when no program reports, and what to do about it; `demos`: how to look at those that run."""
    looked = looked_text(snapshot.source, snapshot.places)
    is_served = snapshot.source.startswith("daemon ")
    ended = len(snapshot.ended)
    history = f"; {ended} ended, shown by --all" if ended else ""
    lines = [
        (Span(" Nothing reports device memory now", Role.TITLE), Span(f" ({looked}{history}).")),
        (),
    ]
    for command, meaning in (
        ("ttmem run -- python model.py", "runs a program and counts what it allocates"),
        ("TTMEM=1 ./app", "switches on what the program reports by the ttmem client itself"),
        (
            "TT_ALLOC_TRACKING_ENABLED=1 ./app",
            f"reports by socket to ttmem serve{'' if is_served else ', if that runs'}",
        ),
        ("ttmem doctor", "finds out why a program is not shown"),
        ("ttmem demo", "shows simulated chips"),
    ):
        lines.append((Span(f"   {command:35}", Role.INDEX), Span(meaning, Role.DIM)))
    if demos:
        lines += [(), (Span(" A demo runs. To look at it:"),), *((Span(f"   {demo}", Role.INDEX),) for demo in demos)]
    notes = [*_stale_notes(snapshot), *_foreign(snapshot), *_doubts(snapshot, [])]
    if notes:
        lines += [(), *((Span(f" {note}", Role.DIM),) for note in notes)]
    incidents = _incidents(snapshot, [], PageOptions())
    return [*lines, (), *incidents] if incidents else lines


def _heading(snapshot: Snapshot, options: PageOptions) -> Iterator[Line]:
    dot = " | " if options.is_ascii else " · "
    counts = f"{plural(len(snapshot.live), 'process', 'es')} on {plural(len(snapshot.devices), 'device', 's')}"
    state = Span("complete", Role.GOOD) if snapshot.is_complete else Span(f"incomplete: {snapshot.reason}", Role.HIGH)
    parts: list[Span] = [Span(" ttmem ps", Role.TITLE), Span(f"  {counts}{dot}"), state]
    parts.append(Span(f"{dot}{clock_text(snapshot.time_ns)}", Role.DIM))
    if options.banner:
        parts.append(Span(f"{dot}{options.banner}", Role.NOTICE))
    yield fitted(tuple(parts), options.width) if options.width else tuple(parts)
    yield source_line(snapshot.source, snapshot.places, options)


def source_line(source: str, places: Sequence[str], options: PageOptions) -> Line:
    """Who counted, and where it looked."""
    if source.startswith("recording "):
        who = "as it was recorded in"
    else:
        who = "read directly from" if source == EMBEDDED else f"{clean(source)}, reading"
    text = f" {who} {', '.join(map(clean, places))}"
    return (Span(clipped(text, options.width, is_ascii=options.is_ascii) if options.width else text, Role.DIM),)


def _incidents(snapshot: Snapshot, processes: Sequence[ProcessUsage], options: PageOptions) -> list[Line]:
    """A line for each incident of the processes shown, the newest first; those of ended ones are counted."""
    shown = {process.key for process in processes}
    hidden = [process for process in snapshot.ended if process.key not in shown and process.was_refused]
    refused = [process for process in processes if process.was_refused]
    if not refused and not hidden:
        return []
    devices = [usage.device for usage in snapshot.devices]
    told = [(process, not process.is_live) for process in refused]
    lines, notes = incident_list(told, devices, snapshot.time_ns, options)
    if hidden:
        newest = max(hidden, key=lambda process: max((one.time_ns for one in process.incidents), default=0))
        notes.append(f"{_ended_text(hidden)}: ttmem ps --all, {options.explaining.format(newest.pid)}")
    return lines + wrapped(notes, Role.DIM, "", options.width)


def _ended_text(hidden: Sequence[ProcessUsage]) -> str:
    """1 ended process had 2 incidents."""
    count = sum(max(process.incident_count, 1) for process in hidden)
    return f"{plural(len(hidden), 'ended process', 'es')} had {plural(count, 'incident', 's')}"


def _doubts(snapshot: Snapshot, processes: Sequence[ProcessUsage]) -> list[str]:
    doubts = []
    for process in processes:
        if not process.is_verified:
            continue  # its finding names the file
        texts = [reason_text(process.reason)] if process.reason else []
        texts += [finding_text(finding) for finding in process.findings]
        doubts += [f"{process_text(process.pid, clean(process.label))}: {text}" for text in texts]
    for finding in (finding for finding in snapshot.findings if finding.pid is None):
        doubts.append(clean((finding.path and f"{finding.path}: ") + finding_text(finding)))
    return doubts


def _notes(snapshot: Snapshot, processes: Sequence[ProcessUsage], options: PageOptions) -> Iterator[str]:
    pools = () if options.is_kernels else [usage for device in snapshot.devices for usage in device.pools]
    if any(usage.is_planned for usage in pools):
        yield "* planned: of all loaded programs, which share that memory."
    if len(snapshot.devices) > 1:
        yield "A row for several devices shows what each of them holds."
    if any(kernel.is_estimated for device in snapshot.devices for kernel in device.kernels):
        yield "~ kernels of unknown exact size are counted as binary size x cores."
    caches = [usage.cache for device in snapshot.devices for usage in device.activity.caches]
    if options.is_kernels and any(cache.is_estimate for cache in caches):
        yield "~ hits and misses of traces follow the plan made when they were captured: an estimate."
    if any(usage.is_lower_bound for usage in pools):
        yield (
            "A peak marked " + (">=" if options.is_ascii else "≥") + " may have been higher before this viewer came."
        )
    for device in snapshot.devices:
        for usage in device.pools:
            if usage.unattributed_bytes:
                where = f"device {device_word(device.device)} {usage.pool.word}"
                yield f"{where}: {size_text(usage.unattributed_bytes)} belong to no process shown."
    yield from _read_notes(snapshot, options)
    if any(not process.is_visible and process.is_verified for process in processes):
        yield "A pid with ? counts in a pid namespace that cannot be seen from here."
    if any(not process.is_verified and not process.is_live for process in processes):
        yield "An ended process with ? for its pid: another process has the pid that its journal names."
    if snapshot.ended and not options.is_with_ended:
        yield f"{plural(len(snapshot.ended), 'ended process', 'es')} not shown (--all)."
    yield from _foreign(snapshot)


def _read_notes(snapshot: Snapshot, options: PageOptions) -> Iterator[str]:
    """About figures of the stock runtime's own counters."""
    pools = [] if options.is_kernels else [usage for device in snapshot.devices for usage in device.pools]
    if any(usage.is_read or usage.read_bytes is not None for usage in pools):
        yield (
            "read: from the runtime's own counters, which see one thread of a process and bytes of tensors; "
            "ttmem run counts everything. Never added to what was counted."
        )
    if any(usage.origin == "sample" for usage in pools):
        yield "~ circular buffers that were read are a sample: up to 100 ms old, without dataflow buffers."
    if not options.is_kernels:
        yield from _stale_notes(snapshot)


def _stale_notes(snapshot: Snapshot) -> Iterator[str]:
    for device in snapshot.devices:
        stale = [f"{usage.pool.word} {size_text(usage.stale_bytes)}" for usage in device.pools if usage.stale_bytes]
        if stale:
            where = f"device {device_word(device.device)}"
            yield f"{where}: the runtime's counters still hold {', '.join(stale)} of ended processes; left out."


def _foreign(snapshot: Snapshot) -> Iterator[str]:
    counters: dict[tuple[str, int, str], int] = {}
    for row in snapshot.foreign:
        if row.what == "counters":
            place = os.path.dirname(row.path), row.uid, row.user
            counters[place] = counters.get(place, 0) + 1
        else:
            yield f"foreign: {clean(row.user)} (uid {row.uid}) has journals in {clean(row.path)} that may not be read."
    for (directory, uid, user), count in counters.items():
        chips = plural(count, "chip", "s")
        yield (
            f"foreign: {clean(user)} (uid {uid}) has the runtime's counters of {chips} in {clean(directory)} "
            "that may not be read."
        )
