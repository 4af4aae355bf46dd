"""Single attributes of the driver: small files that may not be there, may vanish, and may hold anything.

A chip that no longer answers reads as all ones, on every attribute: that is no number either.
"""

import os

__all__ = ["Attributes"]

_MOST_BYTES = 256
_ALL_ONES = (1 << 32) - 1, (1 << 64) - 1


class Attributes:
    """The attributes of one chip; keeps notes of what makes no sense."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def text(self, path: str) -> str | None:
        """What the file says; None if it is not there, says nothing, or cannot be read now."""
        try:
            file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError:
            return None
        try:
            found = os.read(file, _MOST_BYTES)
        except OSError:  # the chip is being reset, or another program is talking to it
            return None
        finally:
            os.close(file)
        text = found.decode(errors="replace").strip()
        if not text.isprintable():
            self._note(path, text)
            return None
        return text or None

    def number(self, path: str, *, base: int = 10) -> int | None:
        """A whole number."""
        text = self.text(path)
        if text is None:
            return None
        try:
            value = int(text, base)
        except ValueError:
            self._note(path, text)
            return None
        if value in _ALL_ONES:
            self._note(path, text)
            return None
        return value

    def scaled(self, path: str, unit: float) -> float | None:
        """A number given in parts of its base unit."""
        value = self.number(path)
        return None if value is None else value / unit

    def _note(self, path: str, text: str) -> None:
        shown = text if len(text) <= 24 else text[:23] + "~"
        self.notes.append(f"{os.path.basename(path)}: {shown!a} is no figure")
