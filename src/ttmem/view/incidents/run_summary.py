"""What a finished run says of its incidents: the block of the newest if it failed, one line if it went well.

No program handles an unsafe replay, of which the runtime says nothing: it has its block in any case.
"""

from collections.abc import Callable, Hashable, Sequence

from ttmem.analysis import Explanation
from ttmem.snapshot import ProcessUsage
from ttmem.snapshot.incidents import Incident
from ttmem.snapshot.values import ChipName
from ttmem.view.incidents.block import incident_block
from ttmem.view.incidents.lines import unkept_texts
from ttmem.view.incidents.rows import labelled
from ttmem.view.incidents.words import headline, incident_title, site_text
from ttmem.view.page import PageOptions
from ttmem.view.table import Line, Role, Span, clean, fitted
from ttmem.view.texts import count_text, plural, ranges_text

__all__ = ["run_incidents"]

_BLOCKS_MOST = 3
_PAGE = "docs/troubleshooting/out-of-memory.md"

Explain = Callable[[ProcessUsage, Incident], Explanation]


def run_incidents(
    processes: Sequence[ProcessUsage],
    explain: Explain,
    options: PageOptions,
    *,
    has_failed: bool,
    devices: Sequence[ChipName] = (),
) -> list[Line]:
    """For processes that had incidents; those of several that are alike (ranks of one run) share what is said.
    `devices`: chips by name, also those of which nothing was held."""
    named = [*devices, *(held.device for process in processes for held in process.devices)]
    groups: dict[Hashable, list[ProcessUsage]] = {}
    for process in processes:
        if process.incidents:
            groups.setdefault(_likeness(process.incidents[-1]), []).append(process)
    by_age = sorted(groups.values(), key=lambda group: -group[0].incidents[-1].time_ns)
    lines: list[Line] = []
    for number, group in enumerate(by_age):
        lines += [()] if lines else []
        is_silent = group[0].incidents[-1].kind == "unsafe_replay"
        if (has_failed or is_silent) and number < _BLOCKS_MOST:
            lines += _block(group, explain, named, options)
        else:
            lines += _brief(group, explain, named, options, has_failed=has_failed)
    for text in unkept_texts(process for process in processes if not process.incidents):
        line = (Span(f" {text}", Role.HIGH),)
        lines.append(fitted(line, options.width) if options.width else line)
    return lines


def _likeness(incident: Incident) -> Hashable:
    frames = incident.site.frames if incident.site is not None else ()
    return incident.kind, incident.memory, incident.requested_bytes, incident.requested_per_bank_bytes, frames


def _block(
    group: Sequence[ProcessUsage], explain: Explain, named: Sequence[ChipName], options: PageOptions
) -> list[Line]:
    process = group[0]
    found = explain(process, process.incidents[-1])
    lines = incident_block(found, named, options)
    rows = []
    if len(group) > 1:
        rows.append(("processes", f"{plural(len(group), 'process', 'es')} alike: pid {_pids(group)}", Role.PLAIN))
    if process.incident_count > 1:
        rows.append(
            ("before", f"{plural(process.incident_count - 1, 'other incident', 's')} of pid {process.pid}", Role.DIM)
        )
    rows.append(("next", f"ttmem explain {_subject(process)}   ({_PAGE})", Role.INDEX))
    rows.append(("journal", clean(process.path), Role.DIM))
    return [*lines, *labelled(rows, options.width)]


def _brief(
    group: Sequence[ProcessUsage],
    explain: Explain,
    named: Sequence[ChipName],
    options: PageOptions,
    *,
    has_failed: bool,
) -> list[Line]:
    """One line."""
    process = group[0]
    newest = explain(process, process.incidents[-1]).incident
    times = sum(one.incident_count + sum(each.repeat_count for each in one.incidents) for one in group)
    what = incident_title(newest).lower()
    who = f"pid {_pids(group)}"
    story = headline(newest, named)
    line = (
        Span(f" {who} "),
        Span(f"{count_text(times)} x {what}" if times > 1 else what, Role.HIGH),
        Span(f"{'' if has_failed else ', and went on'}; newest: {story}; {site_text(newest.site, 1)}"),
        Span(f"  (ttmem explain {_subject(process)})", Role.INDEX),
    )
    return [fitted(line, options.width) if options.width else line]


def _subject(process: ProcessUsage) -> str:
    """What `ttmem explain` finds it by: one of which no process is confirmed has its journal alone."""
    return str(process.pid) if process.pid else clean(process.path)


def _pids(group: Sequence[ProcessUsage]) -> str:
    return ranges_text([process.pid for process in group])
