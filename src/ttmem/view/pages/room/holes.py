"""The page of `ttmem report --holes`: fragmentation over time, and what lies between the holes."""

from ttmem.analysis.room.holes import HolePoint, HolesReport, PoolHoles
from ttmem.view.page import PageOptions
from ttmem.view.pages.sums import certainty_lines, more_line, sums_table, title_line, when_text
from ttmem.view.table import Line, Role, Span, cell
from ttmem.view.texts import count_text, devices_word, plural, share_text, size_text, sparkline

__all__ = ["hole_title", "holes_page"]

_COURSE_WIDTH = 60


def holes_page(report: HolesReport, options: PageOptions) -> list[Line]:
    """All lines, top to bottom."""
    lines: list[Line] = []
    for pool in report.pools:
        lines += [*_pool(pool, report, options), ()]
    if not report.pools:
        lines += [cell("of no pool is known what was free at these instants", Role.DIM), ()]
    return [*lines[:-1], *certainty_lines(report, options)]


def hole_title(pool: PoolHoles) -> Line:
    """The worst moment in one line."""
    worst = pool.worst
    name = f"{devices_word(pool.chips)} {pool.pool.word}"
    if not worst.unusable_bytes:
        return title_line(name, "never fragmented", f"free memory was one block at every instant, {_free(worst)}")
    notice = f"{size_text(worst.unusable_bytes)} free but in smaller holes"
    return title_line(name, notice, f"{share_text(worst.unusable_share)} of {_free(worst)}  {when_text(worst.when)}")


def _free(point: HolePoint) -> str:
    return f"{size_text(point.free_bytes)} free, largest block {size_text(point.largest_free_bytes)}"


def _pool(pool: PoolHoles, report: HolesReport, options: PageOptions) -> list[Line]:
    lines = [hole_title(pool)]
    if not pool.worst.unusable_bytes:
        return lines
    width = min(_COURSE_WIDTH, (options.width or 80) - 28)
    course = [point.unusable_share for point in pool.course]
    lines.append(
        (
            Span(f"  {plural(pool.worst.hole_count, 'hole', 's')} in each bank; unusable ", Role.DIM),
            Span(sparkline(course, width, options.is_ascii, top=1.0), Role.COURSE),
        )
    )
    rows = [
        ((size_text(pin.hole_bytes), size_text(pin.size_bytes), count_text(pin.count)), pin.names) for pin in pool.pins
    ]
    lines += sums_table(("HOLES BESIDE", "SIZE", "COUNT"), rows, report.by, options)
    return [*lines, *more_line(pool.more_pin_count, "sum")]
