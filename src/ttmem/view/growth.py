"""The pages of `ttmem report --leaks`, `--growth` and `--temporary`."""

from collections.abc import Iterator, Sequence
from functools import partial

from ttmem.analysis.growth import (
    GrownLine,
    GrownPool,
    GrowthReport,
    HeldLine,
    LeakReport,
    RunSeries,
    Survivor,
    TemporaryReport,
)
from ttmem.devices import PLANNED_POOLS, Pool
from ttmem.view.page import PageOptions
from ttmem.view.table import Cell, Column, Line, Role, Span, cell, clean, clipped, table, wrapped
from ttmem.view.texts import count_text, devices_word, name_text, plural, share_text, signed_text, size_text

__all__ = ["growth_page", "leak_page", "temporary_page"]

_LINE = Column("LINE", least=20, most=120)
_WIDE = Column("LINE")
_SHOWN_RUNS = 4


def leak_page(report: LeakReport, options: PageOptions, most: int) -> list[Line]:
    """Leaks with their first survivors; then what was still held. `most` lines of each, 0 all."""
    lines = [*_series_lines(report.series)]
    if report.leaks:
        lines.append(
            (Span(f"{plural(len(report.leaks), 'line', 's')} alive more often {_when(report.series)}", Role.HIGH),)
        )
    elif report.series:
        lines.append(
            (Span("no leak", Role.GOOD), Span(f": no line is alive more often {_when(report.series)}", Role.DIM))
        )
    for leak in report.leaks[: most or None]:
        lines += [(), *_grown_table([leak], options), *_survivor_lines(leak.first_survivor, options)]
    lines += [*_more(len(report.leaks), most), *_held_lines(report.held, options, most)]
    return [*lines, *_doubt_lines(report.doubts, options)]


def growth_page(report: GrowthReport, options: PageOptions, most: int) -> list[Line]:
    """Pools, then the lines that changed."""
    lines = [*_series_lines(report.series)]
    changed = [pool for pool in report.pools if pool.sizes[0] != pool.sizes[-1]]
    if report.series and not changed:
        lines.append((Span("nothing grew", Role.GOOD), Span(" from the first compared run to the last", Role.DIM)))
    if changed:
        rows = [[cell(devices_word(one.chips)), _pool_cell(one.pool), *_change(one)] for one in changed]
        columns = [Column("CHIP"), Column("POOL"), *_change_columns()]
        lines += [(), *table(columns, rows, width=options.width)]
    if report.lines:
        lines += [(), *_grown_table(report.lines[: most or None], options), *_more(len(report.lines), most)]
    return [*lines, *_doubt_lines(report.doubts, options)]


def temporary_page(report: TemporaryReport, options: PageOptions, most: int) -> list[Line]:
    """How much of each pool's traffic is gone again at once, and which lines make it."""
    rows = [
        [
            cell(devices_word(one.chips)),
            _pool_cell(one.pool),
            cell(count_text(one.temporary_count)),
            cell(share_text(one.temporary_count / one.count) if one.count else "", Role.DIM),
            cell(size_text(one.temporary_bytes)),
        ]
        for one in report.pools
    ]
    columns = [
        Column("CHIP"),
        Column("POOL"),
        *(Column(word, is_right=True) for word in ("TEMPORARY", "OF ALL", "BYTES")),
    ]
    lines = table(columns, rows, width=options.width) if rows else [cell("no buffer was allocated", Role.DIM)]
    if report.lines:
        its = [
            [
                cell(size_text(one.temporary_bytes)),
                cell(count_text(one.temporary_count)),
                cell(f"{one.alive_ns / max(1, one.temporary_count) / 1000:,.0f} us"),
                cell(devices_word(one.chips)),
                _pool_cell(one.pool),
                _line_cell(one.line, options),
            ]
            for one in report.lines[: most or None]
        ]
        words = [Column(word, is_right=True) for word in ("BYTES", "COUNT", "ALIVE FOR")]
        head = [*words, Column("CHIP"), Column("POOL"), _line_column(options)]
        lines += [(), *table(head, its, width=options.width), *_more(len(report.lines), most)]
    return [*lines, *_doubt_lines(report.doubts, options)]


def _series_lines(series: Sequence[RunSeries]) -> Iterator[Line]:
    for one in series:
        rounds = f"rounds of {one.name}" if one.is_inferred else f"runs of {one.name}"
        facts = f"{len(one.runs)} {rounds} compared at their ends, {plural(one.warmup_count, 'warm-up', 's')} left out"
        yield (Span(clean(facts), Role.TITLE), Span(f"  {clean(one.process)}", Role.DIM))


def _when(series: Sequence[RunSeries]) -> str:
    """Of runs that were left out nothing is said."""
    return "after every run" if all(one.is_unbroken for one in series) else "in each compared run"


def _grown_table(lines: Sequence[GrownLine], options: PageOptions) -> list[Line]:
    rows = [
        [
            *_change(one),
            cell(_course([count_text(count) for count in one.counts], options)),
            cell(devices_word(one.chips)),
            _pool_cell(one.pool),
            cell(one.kind.replace("_", " ")),
            _line_cell(one.line, options),
        ]
        for one in lines
    ]
    names = [Column("ALIVE"), Column("CHIP"), Column("POOL"), Column("KIND"), _line_column(options)]
    return table([*_change_columns(), *names], rows, width=options.width)


def _change_columns() -> list[Column]:
    return [Column("PER RUN", is_right=True), Column("FIRST", is_right=True), Column("LAST", is_right=True)]


def _change(one: GrownLine | GrownPool) -> list[Cell]:
    role = Role.HIGH if one.bytes_per_run > 0 else Role.PLAIN
    sizes = [cell(size_text(size)) for size in (one.sizes[0], one.sizes[-1])]
    return [cell(signed_text(one.bytes_per_run), role), *sizes]


def _course(figures: Sequence[str], options: PageOptions) -> str:
    """3 4 5 6, or 3 4 ... 28 29."""
    if len(figures) <= _SHOWN_RUNS:
        return " ".join(figures)
    dots = "..." if options.is_ascii else "…"
    return " ".join([*figures[:2], dots, *figures[-2:]])


def _survivor_lines(survivor: Survivor | None, options: PageOptions) -> list[Line]:
    if survivor is None:
        return []
    what = " ".join(filter(None, [survivor.operation, survivor.tensor]))
    when = f"run {survivor.run}, +{survivor.since_start_ns / 1e9:.3f}s"
    facts = f"first survivor: {when}, {size_text(survivor.size_bytes)} at {survivor.address:#x}"
    stack = [name_text(line, "site") for line in survivor.site.split("\n") if line]
    told = [": ".join(filter(None, [facts, clean(what)])), *(f"  {line}" for line in stack)]
    return [line for text in told for line in wrapped([text], Role.DIM, "  ", options.width)]


def _held_lines(held: Sequence[HeldLine], options: PageOptions, most: int) -> list[Line]:
    if not held:
        return []
    rows = [
        [
            cell(size_text(one.size_bytes)),
            cell(count_text(one.count)),
            cell(devices_word(one.chips)),
            _pool_cell(one.pool),
            cell(one.until),
            _line_cell(one.line, options),
        ]
        for one in held[: most or None]
    ]
    columns = [Column("SIZE", is_right=True), Column("COUNT", is_right=True), Column("CHIP"), Column("POOL")]
    columns += [Column("UNTIL"), _line_column(options)]
    title = (Span("still held at the end", Role.NOTICE), Span(", which is no leak by itself", Role.DIM))
    return [(), title, *table(columns, rows, width=options.width), *_more(len(held), most)]


def _more(count: int, most: int) -> list[Line]:
    return [cell(f"  {plural(count - most, 'more line', 's')}: --all", Role.DIM)] if most and count > most else []


def _doubt_lines(doubts: Sequence[str], options: PageOptions) -> list[Line]:
    if not doubts:
        return [(), cell("sure: every event was followed", Role.DIM)]
    return [(), *wrapped([clean(one) for one in doubts], Role.HIGH, "! ", options.width)]


def _pool_cell(pool: Pool) -> Cell:
    return cell(f"{pool.word} (planned)" if pool in PLANNED_POOLS else pool.word)


def _line_column(options: PageOptions) -> Column:
    return _WIDE if options.width is None else _LINE


def _line_cell(line: str, options: PageOptions) -> Cell:
    text = name_text(line, "site")
    role = Role.PLAIN if text else Role.DIM
    text = text or "not known"
    return cell(text, role) if options.width is None else partial(_clipped, text, role, options.is_ascii)


def _clipped(text: str, role: Role, is_ascii: bool, width: int) -> Line:
    return cell(clipped(text, width, is_ascii=is_ascii), role)
