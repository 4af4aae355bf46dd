"""A page as an SVG picture: a terminal window with real bars, readable in any browser and on any README."""

from collections.abc import Iterator
from html import escape
from itertools import zip_longest

from ttmem.view.bars import filled_columns
from ttmem.view.colours import PALETTE
from ttmem.view.spans import Line, Role, Span, width_of

_COLUMN = 8.4
_ROW = 19
_FONT_SIZE = 14
_MARGIN = 20
_TITLE_BAR = 38
_FONTS = "ui-monospace,'JetBrains Mono','SF Mono',Menlo,Consolas,'DejaVu Sans Mono',monospace"
_BUTTONS = ("#f04f5e", "#ffd10a", "#1eb57d")


def picture(lines: list[Line], *, title: str) -> str:
    """The SVG text."""
    columns = max((sum(span.width for span in line) for line in lines), default=1)
    width = round(columns * _COLUMN + 2 * _MARGIN)
    height = round(_TITLE_BAR + len(lines) * _ROW + _MARGIN)
    return "\n".join([*_window(width, height, title), *_body(lines), "</svg>", ""])


def _window(width: int, height: int, title: str) -> Iterator[str]:
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img" aria-label="{escape(title)}">'
    )
    yield "<style>"
    yield f"text{{font:{_FONT_SIZE}px {_FONTS};white-space:pre;fill:{PALETTE[Role.PLAIN].rgb}}}"
    for role, colour in PALETTE.items():
        bold = ";font-weight:bold" if colour.is_bold else ""
        yield f".{role.value}{{fill:{colour.rgb}{bold}}}"
    yield "</style>"
    yield f'<rect width="{width}" height="{height}" rx="10" fill="#0d1117"/>'
    edge = _TITLE_BAR - 8
    yield f'<path d="M0 {edge}V10a10 10 0 0 1 10-10H{width - 10}a10 10 0 0 1 10 10V{edge}Z" fill="#161b22"/>'
    for at, button in enumerate(_BUTTONS):
        yield f'<circle cx="{18 + at * 20}" cy="15" r="6" fill="{button}"/>'
    yield f'<text x="{width / 2:g}" y="20" text-anchor="middle" class="dim">{escape(title)}</text>'


def _body(lines: list[Line]) -> Iterator[str]:
    for number, line in enumerate(lines):
        at = 0
        for span, after in zip_longest(line, line[1:]):
            x, top = _MARGIN + at * _COLUMN, _TITLE_BAR + 8 + number * _ROW
            if span.role.is_bar:
                yield from _bar(span, x, top, behind=after.role if after and after.role.is_bar else Role.BAR_REST)
            elif span.text.strip():
                yield _text(span, x, top)
            at += span.width


def _bar(span: Span, x: float, top: float, behind: Role) -> Iterator[str]:
    """A part of a bar; of a column that is filled in part only, the rest shows what is behind."""
    is_used = span.role not in (Role.BAR_PEAK, Role.BAR_REST)
    columns = filled_columns(span.text) if is_used else float(span.width)
    if columns < span.width:
        yield _rect(x, top, span.width, behind)
    yield _rect(x, top, columns, span.role)


def _text(span: Span, x: float, top: float) -> str:
    text = span.text.strip()
    x += (len(span.text) - len(span.text.lstrip())) * _COLUMN
    # The length is given so that columns stay columns in whatever font the reader has.
    return (
        f'<text x="{x:.1f}" y="{top + 10:g}" class="{span.role.value}" '
        f'textLength="{width_of(text) * _COLUMN:.1f}" lengthAdjust="spacingAndGlyphs">{escape(text)}</text>'
    )


def _rect(x: float, top: float, columns: float, role: Role) -> str:
    return f'<rect x="{x:.1f}" y="{top - 1:g}" width="{columns * _COLUMN:.1f}" height="12" class="{role.value}"/>'
