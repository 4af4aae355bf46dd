"""The page of `ttmem report`: what was recorded, and every pool with what was alive in it at a moment."""

from collections.abc import Iterator

from ttmem.analysis.alive import PoolAlive, RecordingReport
from ttmem.devices import Pool
from ttmem.view.page import PageOptions
from ttmem.view.pages.sums import name_cells, name_columns, seconds_text
from ttmem.view.table import Column, Line, Role, Span, cell, clean, table, wrapped
from ttmem.view.texts import clock_text, count_text, devices_word, plural, share_text, size_text

__all__ = ["doubts", "pool_title", "recording_page"]


def recording_page(report: RecordingReport, options: PageOptions, asked: Pool | None = None) -> list[Line]:
    """All lines, top to bottom; `asked`: only that pool was."""
    lines = [*_heading(report, asked)]
    for pool in report.pools:
        lines += [(), *_pool(pool, report, options)]
    found = list(doubts(report))
    if found:
        lines += [(), *wrapped(found, Role.HIGH, "! ", options.width)]
    return lines


def _heading(report: RecordingReport, asked: Pool | None) -> Iterator[Line]:
    name = " ".join(report.command) or report.label or report.path
    events = plural(report.event_count, "event", "s")
    facts = (
        f"{seconds_text(report.duration_ns)} from {clock_text(report.began_ns)}, "
        f"{events} in {size_text(report.size_bytes)}"
    )
    yield (Span(clean(name), Role.TITLE), Span(f"  {facts}", Role.DIM))
    if not report.pools:
        yield cell(_nothing(report, asked), Role.DIM)


def _nothing(report: RecordingReport, asked: Pool | None) -> str:
    if asked is not None:
        return f"nothing was held in {asked.word}{'' if report.is_of_peaks else ' then'}"
    return "no device memory was held" if report.is_of_peaks else "nothing was alive then"


def pool_title(pool: PoolAlive, *, is_of_peaks: bool) -> Line:
    """How much it was, of how much, and when."""
    share = ""
    if pool.capacity_bytes:
        share = f"  {share_text(pool.size_bytes / pool.capacity_bytes)} of {size_text(pool.capacity_bytes)}"
    what = "highest" if is_of_peaks else "held"
    return (
        Span(f"{devices_word(pool.chips)} {pool.pool.word}", Role.INDEX),
        Span(f"  {what} {size_text(pool.size_bytes)}", Role.NOTICE),
        Span(f"{share}  at {clock_text(pool.time_ns)} (+{seconds_text(pool.since_start_ns)})", Role.DIM),
    )


def _pool(pool: PoolAlive, report: RecordingReport, options: PageOptions) -> list[Line]:
    title = pool_title(pool, is_of_peaks=report.is_of_peaks)
    if not pool.sums:
        words = "by the process's own counter: it could not be followed then, so what was alive is not known"
        return [title, cell(f"  {words}", Role.HIGH)]
    rows = [
        [
            cell(size_text(one.size_bytes)),
            cell(_share(one.size_bytes, pool)),
            cell(count_text(one.count)),
            *name_cells(one.names, report.by, options),
        ]
        for one in pool.sums
    ]
    columns = [Column("SIZE", is_right=True), Column("SHARE", is_right=True), Column("COUNT", is_right=True)]
    columns += name_columns(report.by, options)
    lines = [title, *table(columns, rows, width=options.width)]
    if pool.more_sum_count:
        rest = pool.listed_bytes - sum(one.size_bytes for one in pool.sums)
        lines.append(
            cell(f"  {plural(pool.more_sum_count, 'more sum', 's')} of {size_text(rest)} together: --all", Role.DIM)
        )
    if not pool.is_alive_known:
        lines.append(cell("  a process could not be followed then: what it held is not all known", Role.HIGH))
    return lines


def _share(size_bytes: int, pool: PoolAlive) -> str:
    return share_text(size_bytes / pool.size_bytes) if pool.size_bytes else ""


def doubts(report: RecordingReport) -> Iterator[str]:
    """What is to be said of what is missing."""
    if report.lost_record_count:
        records = plural(report.lost_record_count, "record", "s")
        yield f"{records} came too late: balances are right, but what was alive meanwhile is not known"
    yield from map(clean, report.troubles)
