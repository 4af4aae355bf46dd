"""Rows as people read them: a plain table for the terminal, the same table in Markdown for RESULTS.md."""

from collections.abc import Iterable, Sequence

from benchmarks.figures.rows import Row

HEADINGS = ("promise", "measured", "target", "met", "baseline", "ratio")
_MET = {True: "yes", False: "NO", None: ""}


def cells(row: Row) -> tuple[str, ...]:
    target = "" if row.target is None else f"{row.target.split()[0]} {_number(float(row.target.split()[1]))}"
    return (
        row.name,
        "not measured" if row.value is None else f"{_number(row.value)} {row.unit}",
        target,
        _MET[row.met],
        "" if row.baseline is None else f"{_number(row.baseline)} {row.unit}",
        "" if row.ratio is None else f"{_number(row.ratio)} x",
    )


def plain(rows: Sequence[Row]) -> str:
    lines = [HEADINGS, *map(cells, rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(_aligned(line, widths).rstrip() for line in lines)


def markdown(rows: Iterable[Row]) -> str:
    lines = [HEADINGS, ("---", "--:", "--:", "---", "--:", "--:"), *map(cells, rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def summary(rows: Iterable[Row]) -> str:
    judged = [row for row in rows if row.met is not None]
    missed = [row.name for row in judged if not row.met]
    text = f"{len(judged) - len(missed)} of {len(judged)} promises met"
    return text + ("" if not missed else "; missed: " + "; ".join(missed))


def _aligned(line: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = zip(line, widths, strict=True)
    return "  ".join([first[0].ljust(first[1]), *(text.rjust(width) for text, width in others)])


def _number(value: float) -> str:
    """Three significant digits, and thousands set apart: 0.38, 26.1, 1,390, 2,300,000."""
    if value == 0:
        return "0"
    if abs(value) >= 100:
        digits = len(str(int(abs(value)))) - 3
        return f"{round(value / 10**digits) * 10**digits:,}"
    return f"{value:.3g}"
