"""The page of `ttmem report` without a question: what was recorded, and the most of each answer."""

from collections.abc import Iterator, Sequence

from ttmem.analysis.alive import AliveSum, ByWord, PoolAlive
from ttmem.analysis.growth import RunSeries
from ttmem.analysis.room.page import CachedPrograms, IncidentLine, RecordedPage
from ttmem.view.page import PageOptions
from ttmem.view.pages.recording import doubts, pool_title
from ttmem.view.pages.room.advice import advice_line
from ttmem.view.pages.room.cores import core_title
from ttmem.view.pages.room.floor import room_title
from ttmem.view.pages.room.holes import hole_title
from ttmem.view.pages.sums import seconds_text
from ttmem.view.table import Line, Role, Span, cell, clean, clipped, wrapped
from ttmem.view.texts import clock_text, devices_word, name_text, plural, share_text, signed_text, size_text

__all__ = ["one_page"]

_SUMS, _INCIDENTS, _PROCESSES, _OPERATIONS, _LEAKS = 3, 5, 3, 3, 3
_KINDS = {"out_of_memory": "out of memory", "clash": "circular buffers clash", "unsafe_replay": "unsafe replay"}


def one_page(page: RecordedPage, options: PageOptions) -> list[Line]:
    """All lines, top to bottom."""
    lines = list(_heading(page))
    for pool in page.pools:
        lines += [(), *_pool(pool, options)]
    parts: tuple[tuple[str, list[Line]], ...] = (
        ("fullest core", [core_title(core) for core in page.cores]),
        ("room for circular buffers", [room_title(one) for one in page.room if one.least_bytes is not None]),
        ("fragmentation", [hole_title(one) for one in page.holes if one.worst.unusable_bytes]),
        ("growth", list(_growth(page))),
        ("programs", [_programs(one) for one in page.programs]),
        ("incidents", list(_incidents(page))),
        ("would have done", [advice_line(one) for one in page.advice if one.needed is not None]),
    )
    for title, part in parts:
        if part:
            lines += [(), cell(title, Role.HEAD), *((Span("  "), *line) for line in part)]
    if not page.is_whole:
        words = f"room, holes, growth, programs and advice go through all {page.event_count:,} events: ask with --all"
        lines += [(), *wrapped([words], Role.DIM, "", options.width)]
    found = list(doubts(page))
    if found:
        lines += [(), *wrapped(found, Role.HIGH, "! ", options.width)]
    return lines


def _heading(page: RecordedPage) -> Iterator[Line]:
    name = " ".join(page.command) or page.label or page.path
    label = f"  {clean(page.label)}" if page.label and page.command else ""
    yield (Span(clean(name), Role.TITLE), Span(label, Role.NOTICE))
    events = f"{plural(page.event_count, 'event', 's')} in {size_text(page.size_bytes)}"
    yield cell(
        f"{seconds_text(page.duration_ns)} from {clock_text(page.began_ns)} on {clean(page.host)}, {events}", Role.DIM
    )
    boards = f" ({', '.join(map(clean, page.boards))})" if page.boards else ""
    chips = f"{plural(len(page.chips), 'chip', 's')} {devices_word(page.chips)}{boards}" if page.chips else "no chip"
    shown = [clean(one) for one in page.processes[:_PROCESSES]]
    more = f" and {len(page.processes) - len(shown)} more" if len(page.processes) > len(shown) else ""
    yield cell(f"{chips}; {', '.join(shown) or 'no process'}{more}", Role.DIM)
    if not page.pools:
        yield cell("no device memory was held", Role.DIM)


def _pool(pool: PoolAlive, options: PageOptions) -> Iterator[Line]:
    yield pool_title(pool, is_of_peaks=True)
    if not pool.sums:
        words = "by the process's own counter: it could not be followed then, so what was alive is not known"
        yield cell(f"  {words}", Role.HIGH)
        return
    views: list[tuple[ByWord, Sequence[AliveSum], int]] = [("site", pool.sums, pool.more_sum_count)]
    views += [(one.by, one.sums, one.more_sum_count) for one in pool.views]
    for word, sums, more in views:
        if len(sums) > 1 or (sums and sums[0].names[0]):
            yield _line(word, sums, more, pool, options)
    if not pool.is_alive_known:
        yield cell("  a process could not be followed then: what it held is not all known", Role.HIGH)


def _line(word: ByWord, sums: Sequence[AliveSum], more: int, pool: PoolAlive, options: PageOptions) -> Line:
    """The largest of a view: 1.20 GiB 57% model.py:12, ... and 7 more."""
    parts = []
    for one in sums[:_SUMS]:
        share = share_text(one.size_bytes / pool.size_bytes) if pool.size_bytes else ""
        missing = "no phase" if word == "phase" else "not known"
        parts.append(
            f"{size_text(one.size_bytes)} {share} {name_text(one.names[0].partition(chr(10))[0], word) or missing}"
        )
    rest = more + max(0, len(sums) - _SUMS)
    text = ", ".join(parts) + (f" and {rest:,} more" if rest else "")
    head = f"  {word:<10}"
    width = None if options.width is None else max(10, options.width - len(head))
    return (Span(head, Role.DIM), Span(text if width is None else clipped(text, width, is_ascii=options.is_ascii)))


def _growth(page: RecordedPage) -> Iterator[Line]:
    """Leaks in one line each, or that there are none."""
    for one in page.leaks[:_LEAKS]:
        phase = next((its for its in page.compared if (its.process, its.name) == (one.process, one.phase)), None)
        runs = f" ({plural(len(phase.runs), 'run', 's')}{', inferred' if phase.is_inferred else ''})" if phase else ""
        yield (
            Span(f"{devices_word(one.chips)} {one.pool.word}", Role.INDEX),
            Span(f"  {signed_text(one.bytes_per_run)} more {_when(phase)}", Role.HIGH),
            Span(f" of {clean(one.phase)}{runs}  {name_text(one.line.partition(chr(10))[0], 'site') or 'not known'}"),
        )
    if not page.leaks and page.compared:
        names = ", ".join(dict.fromkeys(clean(one.name) for one in page.compared[:_LEAKS]))
        runs = "after every run" if all(one.is_unbroken for one in page.compared) else "in each compared run"
        yield cell(f"no line is alive more often {runs} of {names}", Role.DIM)


def _when(phase: RunSeries | None) -> str:
    """Of runs that were left out nothing is said."""
    return "after every run" if phase is None or phase.is_unbroken else "a run, in each compared run"


def _programs(cache: CachedPrograms) -> Line:
    late = f", {cache.last_quarter_count:,} of them in the last quarter" if cache.last_quarter_count else ""
    operations = ", ".join(f"{one.count:,} {clean(one.names[0]) or 'not known'}" for one in cache.sums[:_OPERATIONS])
    more = cache.more_sum_count + max(0, len(cache.sums) - _OPERATIONS)
    return (
        Span(clean(cache.process)),
        Span(f"  {plural(cache.made_count, 'program', 's')} of {size_text(cache.size_bytes)}{late}", Role.NOTICE),
        Span(f"  {operations}{f' and {more:,} more' if more else ''}", Role.DIM),
    )


def _incidents(page: RecordedPage) -> Iterator[Line]:
    for one in page.incidents[:_INCIDENTS]:
        yield _incident(one)
    more = len(page.incidents) - _INCIDENTS
    if more > 0:
        yield cell(f"and {more:,} more: --json", Role.DIM)


def _incident(one: IncidentLine) -> Line:
    asked = f"  {size_text(one.requested_bytes)} asked" if one.requested_bytes is not None else ""
    free = f", largest free block {size_text(one.largest_free_bytes)}" if one.largest_free_bytes is not None else ""
    again = f", {plural(one.repeat_count, 'time', 's')} more" if one.repeat_count else ""
    return (
        Span(one.name, Role.INDEX),
        Span(f"  {_KINDS[one.kind]} in {one.memory}", Role.FULL),
        Span(f"{asked}{free}{again}"),
        Span(f"  +{seconds_text(one.when.since_start_ns)}  {name_text(one.site, 'site')}", Role.DIM),
    )
