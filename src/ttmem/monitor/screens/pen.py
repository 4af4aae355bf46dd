"""A pen that writes one line from left to right and knows where it is: screens are laid out by columns, not words."""

from ttmem.view.spans import Line, Role, Span, clean, clipped, width_of

__all__ = ["Pen", "shown_name"]

_made = tuple.__new__  # a screen has thousands of spans, and this makes one in half the time


class Pen:
    """One line in the making. What is handed in as `text` takes one column per character; names of other people, which
    may be wider or too long, go through `name`."""

    __slots__ = ("at", "spans")

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.at = 0

    def put(self, text: str, role: Role = Role.PLAIN) -> "Pen":
        if text:
            self.spans.append(_made(Span, (text, role)))
            self.at += len(text)
        return self

    def right(self, text: str, width: int, role: Role = Role.PLAIN) -> "Pen":
        """Ends `width` columns from here; a number that is wider is left out, never cut."""
        self.spans.append(_made(Span, (text.rjust(width) if len(text) <= width else " " * width, role)))
        self.at += width
        return self

    def left(self, text: str, width: int, role: Role = Role.PLAIN) -> "Pen":
        self.spans.append(_made(Span, (text.ljust(width) if len(text) <= width else " " * width, role)))
        self.at += width
        return self

    def name(self, text: str, width: int, role: Role = Role.PLAIN, *, is_ascii: bool = False) -> "Pen":
        """A word, cut to a width if it must be, and a cut shows."""
        if width <= 0:
            return self
        shown = shown_name(text, is_ascii)
        if len(shown) > width or not shown.isascii():
            shown = clipped(shown, width, is_ascii=is_ascii)
            self.spans.append(Span(shown + " " * (width - width_of(shown)), role))
        else:
            self.spans.append(_made(Span, (shown.ljust(width), role)))
        self.at += width
        return self

    def line(self, spans: Line) -> "Pen":
        """Spans whose characters take one column each."""
        for span in spans:
            self.spans.append(span)
            self.at += len(span.text)
        return self

    def to(self, column: int) -> "Pen":
        """Blanks up to a column."""
        return self.put(" " * (column - self.at)) if column > self.at else self

    def done(self) -> Line:
        return tuple(self.spans)


def shown_name(text: str, is_ascii: bool) -> str:
    """A name of somebody else's, fit for the terminal."""
    shown = clean(text)
    return "".join(one if one.isascii() else "?" for one in shown) if is_ascii and not shown.isascii() else shown
