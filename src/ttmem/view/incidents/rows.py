"""Rows with a word before them, broken where the line ends."""

from collections.abc import Iterable, Sequence

from ttmem.view.table import Line, Role, Span, broken

__all__ = ["Row", "labelled", "titled"]

INDENT, LABEL = 4, 11

Row = tuple[str, str, Role]  # the word before it, its text, what it is


def labelled(rows: Iterable[Row], width: int | None) -> list[Line]:
    """`    asked by   model.py:118 ...`: rows of equal indent; what is too long goes on under its text."""
    lines: list[Line] = []
    for label, text, role in rows:
        head = f"{' ' * INDENT}{label:<{LABEL}}"
        for number, part in enumerate(_parts(text, None if width is None else width - len(head))):
            lines.append((Span(head if not number else " " * len(head), Role.DIM), Span(part, role)))
    return lines


def titled(title: str, text: str, width: int | None) -> list[Line]:
    """`  OUT OF MEMORY  chips 0-7 ...`: broken under its text."""
    head = f"  {title}  "
    room = None if width is None else width - len(head)
    return [
        (Span(head, Role.FULL), Span(part)) if not number else (Span(" " * len(head)), Span(part))
        for number, part in enumerate(_parts(text, room))
    ]


def _parts(text: str, room: int | None) -> Sequence[str]:
    """Columns that were padded stay as they are while they fit."""
    if room is None or len(text) <= room:
        return [text]
    return broken(text, max(16, room)) or [""]
