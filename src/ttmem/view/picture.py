"""A page as an SVG picture: a terminal window with real bars, readable in any browser and on any README."""

import re
from collections.abc import Iterator
from html import escape
from itertools import groupby, zip_longest

from ttmem.view.bars import BLOCKS, TICK_MARKS, filled_columns
from ttmem.view.screen import PALETTE, SURFACES, Colour
from ttmem.view.table import Line, Role, Span, width_of

_COLUMN = 8.4
_ROW = 19
_FONT_SIZE = 14
_MARGIN = 20
_TITLE_BAR = 38
_HEIGHTS = " ▁▂▃▄▅▆▇█"
_WORDS = re.compile(r"\S+(?: \S+)*")
_FONTS = "ui-monospace,'JetBrains Mono','SF Mono',Menlo,Consolas,'DejaVu Sans Mono',monospace"
_ON_SURFACES = (Role.SELECTED, Role.TAB, Role.TAB_KEY, Role.TAB_OPEN, Role.BADGE)
_TICKS = (Role.MARK_PEAK, Role.MARK_PLANNED, Role.MARK_LIMIT)
_BUTTONS = ("#f04f5e", "#ffd10a", "#1eb57d")


def picture(lines: list[Line], *, title: str, columns: int = 1, is_light: bool = False) -> str:
    """The SVG text; at least so many columns wide."""
    columns = max([columns, *(sum(span.width for span in line) for line in lines)])
    width = round(columns * _COLUMN + 2 * _MARGIN)
    height = round(_TITLE_BAR + len(lines) * _ROW + _MARGIN)
    return "\n".join([*_window(width, height, title, is_light=is_light), *_body(lines), "</svg>", ""])


def _window(width: int, height: int, title: str, *, is_light: bool) -> Iterator[str]:
    def rgb(colour: Colour) -> str:
        return colour.light if is_light else colour.rgb

    page, bar = ("#ffffff", "#eaeef2") if is_light else ("#0e1116", "#161b22")
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img" aria-label="{escape(title)}">'
    )
    yield "<style>"
    yield f"text{{font:{_FONT_SIZE}px {_FONTS};white-space:pre;fill:{rgb(PALETTE[Role.PLAIN])}}}"
    for role, colour in PALETTE.items():
        bold = ";font-weight:bold" if colour.is_bold else ""
        yield f".{role.value}{{fill:{rgb(colour)}{bold}}}"
    for role, surface in SURFACES.items():
        yield f".on_{role.value}{{fill:{rgb(surface)}}}"
    yield "</style>"
    yield f'<rect width="{width}" height="{height}" rx="10" fill="{page}"/>'
    edge = _TITLE_BAR - 8
    yield f'<path d="M0 {edge}V10a10 10 0 0 1 10-10H{width - 10}a10 10 0 0 1 10 10V{edge}Z" fill="{bar}"/>'
    for at, button in enumerate(_BUTTONS):
        yield f'<circle cx="{18 + at * 20}" cy="15" r="6" fill="{button}"/>'
    yield f'<text x="{width / 2:g}" y="20" text-anchor="middle" class="dim">{escape(title)}</text>'


def _body(lines: list[Line]) -> Iterator[str]:
    for number, line in enumerate(lines):
        at = 0
        for span, after in zip_longest(line, line[1:]):
            x, top = _MARGIN + at * _COLUMN, _TITLE_BAR + 8 + number * _ROW
            if span.role in _ON_SURFACES:
                yield _box(x, top - 5, span.width * _COLUMN, _ROW, f"on_{span.role.value}")
            if _is_bar(span):
                yield from _bar(span, x, top, behind=after.role if after and _is_bar(after) else Role.BAR_REST)
            elif span.role in _TICKS and not span.text.strip(TICK_MARKS):
                yield from _tick(span, x, top)
            elif not span.text.strip(_HEIGHTS):
                yield from _curve(span, x, top)
            elif span.text.strip():
                yield from _texts(span, x, top)
            at += span.width


def _is_bar(span: Span) -> bool:
    """Whether it is a part of a bar, and not of a curve, or a digit that stands in for one."""
    is_blank = span.text[:1].isspace() and span.role is not Role.BAR_REST
    return span.role.is_bar and not span.text.strip(BLOCKS) and not is_blank


def _tick(span: Span, x: float, top: float) -> Iterator[str]:
    """A thin mark on the track of a meter; a planned one is dotted."""
    yield _box(x, top - 1, span.width * _COLUMN, 12, "on_bar_rest")
    pieces = [(0, 13)] if span.role is not Role.MARK_PLANNED else [(0, 3), (5, 3), (10, 3)]
    for begin, height in pieces:
        yield _box(x + _COLUMN / 2 - 0.8, top - 2 + begin, 1.6, height, span.role.value)


def _curve(span: Span, x: float, top: float) -> Iterator[str]:
    """Columns of a curve, each as high as its character, on the ground of the row."""
    at = 0
    for character, alike in groupby(span.text):
        height, count = _HEIGHTS.index(character) * _ROW / 8, len(list(alike))
        if height:
            yield _box(x + at * _COLUMN, top - 5 + _ROW - height, count * _COLUMN, height, span.role.value)
        at += count


def _texts(span: Span, x: float, top: float) -> Iterator[str]:
    """The words of a span, each where its column is, whatever the reader's font makes of the blanks between."""
    for word in _WORDS.finditer(span.text):
        yield _text(Span(word.group(), span.role), x + width_of(span.text[: word.start()]) * _COLUMN, top)


def _bar(span: Span, x: float, top: float, behind: Role) -> Iterator[str]:
    """A part of a bar; of a column that is filled in part only, the rest shows what is behind."""
    is_used = span.role not in (Role.BAR_PEAK, Role.BAR_REST)
    columns = [filled_columns(one) if is_used else 1.0 for one in span.text]
    if sum(columns) < span.width:
        yield _box(x, top - 1, span.width * _COLUMN, 12, _look(behind))
    at = 0
    for filled, alike in groupby(columns, key=lambda one: one == 1.0):
        count = len(list(alike))
        for begin in [at] if filled else range(at, at + count):
            width = count if filled else columns[begin]
            yield _box(x + begin * _COLUMN, top - 1, width * _COLUMN, 12, _look(span.role))
        at += count


def _look(role: Role) -> str:
    """The rest of a bar is its track."""
    return "on_bar_rest" if role is Role.BAR_REST else role.value


def _text(span: Span, x: float, top: float) -> str:
    text = span.text
    # The length is given so that columns stay columns in whatever font the reader has.
    return (
        f'<text x="{x:.1f}" y="{top + 10:g}" class="{span.role.value}" '
        f'textLength="{width_of(text) * _COLUMN:.1f}" lengthAdjust="spacingAndGlyphs">{escape(text)}</text>'
    )


def _box(x: float, y: float, width: float, height: float, look: str) -> str:
    return f'<rect x="{x:.1f}" y="{y:g}" width="{width:.1f}" height="{height:g}" class="{look}"/>'
