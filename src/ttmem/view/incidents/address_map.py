"""An allocator's addresses to scale: what is held, what cannot be freed, holes; and below, what was asked for.

████████▌░░░░░░░████▓▓▓▓████░░░░████
0x19d60                      0x16e000
         [======== asked 612 KiB =====]
"""

from ttmem.analysis import AddressLine, AddressStretch
from ttmem.view.table import Line, Role, Span, clipped

__all__ = ["address_map", "legend"]

_MARKS: dict[str, tuple[str, str, Role]] = {
    "held": ("█", "#", Role.BAR_BUFFER),
    "fixed": ("▓", "=", Role.BAR_RESERVED),
    "free": ("░", ".", Role.BAR_REST),
    "circular": ("▒", "=", Role.BAR_CB),
    "clash": ("╳", "X", Role.FULL),
    "partly": ("▌", "+", Role.BAR_BUFFER),  # a hole that is smaller than a column
}
_WORDS = {
    "held": "held",
    "fixed": "cannot be freed",
    "circular": "circular buffers",
    "clash": "both",
    "free": "free",
    "partly": "partly free",
}
INDENT = 3


def address_map(line: AddressLine, asked_bytes: int | None, asked: str, *, width: int, is_ascii: bool) -> list[Line]:
    """Three lines: the addresses, where they begin and end, the asked block at the same scale."""
    columns = max(20, width - INDENT - 1)
    size_bytes = line.end_address - line.begin_address
    cells = _cells(line, columns)
    lines: list[Line] = [(Span(" " * INDENT), *_spans(cells, is_ascii=is_ascii))]
    begin, end = hex(line.begin_address), hex(line.end_address)
    gap = " " * max(1, columns - len(begin) - len(end))
    lines.append((Span(f"{' ' * INDENT}{begin}{gap}{end}", Role.DIM),))
    if asked_bytes:
        lines.append(_asked(line, asked_bytes, asked, columns, size_bytes, is_ascii=is_ascii))
    return lines


def legend(line: AddressLine, *, is_ascii: bool) -> Line:
    """The marks of a map, as far as it may have them."""
    uses = {stretch.use for stretch in line.stretches}
    shown = [use for use in _WORDS if use in uses or (use == "partly" and "free" in uses)]
    words = ", ".join(f"{_MARKS[use][1 if is_ascii else 0]} {_WORDS[use]}" for use in shown)
    return (Span(f"{' ' * INDENT}{words}", Role.DIM),)


def _cells(line: AddressLine, columns: int) -> list[str]:
    """What each column is: the use of most of its bytes, but a hole, or a clash, shows however small it is."""
    size_bytes = line.end_address - line.begin_address
    shares: list[dict[str, float]] = [{} for _ in range(columns)]
    for stretch in line.stretches:
        first = (stretch.address - line.begin_address) * columns / size_bytes
        last = (stretch.address + stretch.size_bytes - line.begin_address) * columns / size_bytes
        for column in range(int(first), min(columns, int(last) + 1)):
            share = min(last, column + 1) - max(first, column)
            if share > 0:
                shares[column][stretch.use] = shares[column].get(stretch.use, 0.0) + share
    return [_cell(share) for share in shares]


def _cell(share: dict[str, float]) -> str:
    if "clash" in share:
        return "clash"
    free = share.get("free", 0.0)
    if free > 0.5:
        return "free"
    if free > 1e-6:
        return "partly"
    return max(share, key=lambda use: share[use]) if share else "free"


def _spans(cells: list[str], *, is_ascii: bool) -> list[Span]:
    spans: list[Span] = []
    for cell in cells:
        mark, ascii_mark, role = _MARKS[cell]
        text = ascii_mark if is_ascii else mark
        if spans and spans[-1].role is role:
            spans[-1] = Span(spans[-1].text + text, role)
        else:
            spans.append(Span(text, role))
    return spans


def _asked(line: AddressLine, asked_bytes: int, asked: str, columns: int, size_bytes: int, *, is_ascii: bool) -> Line:
    """Under the largest hole; moved to the left where it would reach beyond the end."""
    length = max(1, min(columns, round(asked_bytes * columns / size_bytes)))
    hole = max(
        (stretch for stretch in line.stretches if stretch.use == "free"),
        key=lambda stretch: stretch.size_bytes,
        default=AddressStretch(line.begin_address, 0, "free"),
    )
    at = max(0, min((hole.address - line.begin_address) * columns // size_bytes, columns - length))
    inner = clipped(asked, length - 4, is_ascii=is_ascii) if length >= len(asked) + 4 else ""
    rule = "=" if is_ascii else "─"
    box = f" {inner} ".center(length - 2, rule) if inner else rule * max(0, length - 2)
    text = f"[{box}]" if length > 1 else "|"
    if inner:
        return (Span(" " * (INDENT + at)), Span(text, Role.FULL))
    if at + len(text) + 1 + len(asked) > columns and at > len(asked):
        return (Span(" " * (INDENT + at - len(asked) - 1)), Span(f"{asked} {text}", Role.FULL))
    return (Span(" " * (INDENT + at)), Span(f"{text} {asked}", Role.FULL))
