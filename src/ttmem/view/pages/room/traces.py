"""The page of `ttmem report --trace-safety`: what was allocated while a trace could be replayed."""

from ttmem.analysis.room.traces import TraceLife, TraceReport
from ttmem.view.page import PageOptions
from ttmem.view.pages.sums import certainty_lines, more_line, seconds_text, sums_table
from ttmem.view.table import Line, Role, Span, cell, clean, wrapped
from ttmem.view.texts import count_text, plural, size_text

__all__ = ["traces_page"]


def traces_page(report: TraceReport, options: PageOptions) -> list[Line]:
    """All lines, top to bottom."""
    lines: list[Line] = []
    for trace in report.traces:
        lines += [*_trace(trace, report, options), ()]
    if not report.traces:
        lines += [cell("no trace was captured", Role.DIM), ()]
    if report.overlap_incidents:
        names = ", ".join(report.overlap_incidents[:5])
        text = (
            f"{plural(len(report.overlap_incidents), 'replay', 's')} wrote into a live buffer: "
            f"ttmem explain {clean(report.path)} --incident {report.overlap_incidents[0]} (all: {names})"
        )
        lines += [*wrapped([text], Role.FULL, "! ", options.width), ()]
    return [*lines[:-1], *certainty_lines(report, options)]


def _trace(trace: TraceLife, report: TraceReport, options: PageOptions) -> list[Line]:
    until = f"released +{seconds_text(trace.released.since_start_ns)}" if trace.released else "never released"
    facts = (
        f"{size_text(trace.size_bytes)} on {plural(len(trace.chip_ids), 'chip', 's')}, captured "
        f"+{seconds_text(trace.captured.since_start_ns)}, {plural(trace.replay_count, 'replay', 's')}, {until}"
    )
    lines: list[Line] = [
        (Span(f"trace {trace.trace}", Role.INDEX), Span(f"  {clean(trace.process)}"), Span(f"  {facts}", Role.DIM))
    ]
    made = f"{plural(trace.made_count, 'buffer', 's')} of {size_text(trace.made_bytes)} made meanwhile"
    if not trace.made_count:
        return [*lines, cell("  no buffer was made while it could be replayed", Role.GOOD)]
    if not trace.replayed_over_count:
        return [*lines, cell(f"  {made}, none alive at a replay", Role.GOOD)]
    over = f"{count_text(trace.replayed_over_count)} of {size_text(trace.replayed_over_bytes)} alive at a replay"
    lines.append(cell(f"  {made}, {over}", Role.HIGH))
    rows = [((size_text(one.size_bytes), count_text(one.count)), one.names) for one in trace.sums]
    return [
        *lines,
        *sums_table(("SIZE", "COUNT"), rows, report.by, options),
        *more_line(trace.more_sum_count, "sum"),
    ]
