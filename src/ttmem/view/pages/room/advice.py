"""The page of `ttmem report --advise`: the smallest settings that would have done, with the arithmetic."""

from ttmem.analysis.room.advice import Advice, AdviceReport
from ttmem.view.page import PageOptions
from ttmem.view.pages.sums import certainty_lines, certainty_text
from ttmem.view.table import Line, Role, Span, cell, wrapped
from ttmem.view.texts import devices_word, size_text

__all__ = ["advice_line", "advice_page"]


def advice_page(report: AdviceReport, options: PageOptions) -> list[Line]:
    """All lines, top to bottom."""
    lines: list[Line] = []
    for advice in report.advice:
        texts = filter(None, [advice.arithmetic, certainty_text(advice.certainty, advice.why)])
        lines += [advice_line(advice), *wrapped(texts, Role.DIM, "  ", options.width), ()]
    if not report.advice:
        lines += [cell("nothing to advise: neither a trace region nor L1 was used", Role.DIM), ()]
    return [*lines[:-1], *certainty_lines(report, options)]


def advice_line(advice: Advice) -> Line:
    """What to ask for in one line."""
    return (
        Span(devices_word(advice.chips), Role.INDEX),
        Span(f"  {advice.setting}", Role.TITLE),
        Span(f"  {_needed(advice)}", Role.NOTICE),
        Span(f"  {_now(advice)}" if advice.now is not None else "", Role.DIM),
    )


def _needed(advice: Advice) -> str:
    if advice.needed is None:
        return "cannot be said"
    if advice.setting == "kv_blocks":
        return f"room for {advice.needed:,} blocks"
    least = "at least " if advice.certainty == "at_least" else ""
    return f"{least}{advice.needed:,} B ({size_text(advice.needed)})"


def _now(advice: Advice) -> str:
    if advice.setting == "kv_blocks":
        return f"{advice.now:,} were allocated"
    return f"opened with {advice.now:,} B ({size_text(advice.now)})"
