"""The page of `ttmem report --core`: how full a core of each chip was at its highest, and what lay on it then."""

from ttmem.analysis.room.cores import CoreHighest, CoresReport
from ttmem.view.page import PageOptions
from ttmem.view.pages.sums import certainty_lines, more_line, sums_table, title_line, when_text
from ttmem.view.table import Line, Role, cell
from ttmem.view.texts import count_text, devices_word, share_text, size_text

__all__ = ["core_title", "cores_page"]


def cores_page(report: CoresReport, options: PageOptions) -> list[Line]:
    """All lines, top to bottom."""
    lines: list[Line] = []
    for core in report.cores:
        lines += [core_title(core), _parts(core)]
        rows = [((size_text(one.size_bytes), count_text(one.count)), one.names) for one in core.sums]
        lines += [*sums_table(("ON CORE", "COUNT"), rows, report.by, options), *more_line(core.more_sum_count, "sum")]
        lines += [()]
    if not report.cores:
        lines += [cell("of no chip is known how full its cores were", Role.DIM), ()]
    return [*lines[:-1], *certainty_lines(report, options)]


def core_title(core: CoreHighest) -> Line:
    """Which core, and how full it was when."""
    place = f"core {core.core[0]},{core.core[1]}" if core.core else "every core"
    share = (
        f"{share_text(core.size_bytes / core.core_bytes)} of {size_text(core.core_bytes)}  " if core.core_bytes else ""
    )
    return title_line(
        f"{devices_word(core.chips)} {place}", f"highest {size_text(core.size_bytes)}", f"{share}{when_text(core.when)}"
    )


def _parts(core: CoreHighest) -> Line:
    parts = (
        f"buffers {size_text(core.buffer_bytes)}",
        f"circular buffers of the program that ran last {size_text(core.circular_bytes)}",
        f"kernel ring {size_text(core.ring_bytes)}",
    )
    shared = f"; {size_text(core.shared_bytes)} where several lie are counted once above" if core.shared_bytes else ""
    return cell(f"  {', '.join(parts)}{shared}", Role.DIM)
