"""The parameters of a question: read, and refused with a clear word if they make no sense."""

from collections.abc import Mapping

__all__ = ["BadQuestion", "number_in", "whole_number_in", "word_in"]

_MOST_NUMBER = 1 << 53  # beyond that JSON readers are no longer exact


class BadQuestion(Exception):
    """A parameter that cannot be understood."""


def number_in(parameters: Mapping[str, str], name: str, default: float, *, least: float, most: float) -> float:
    """The number of that name, which must lie within limits."""
    text = parameters.get(name)
    if text is None:
        return default
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not least <= value <= most:
        raise BadQuestion(f"{name}: expected a number from {least:g} to {most:g}, found {text!r}")
    return value


def whole_number_in(parameters: Mapping[str, str], name: str, default: int | None = None) -> int:
    """A whole number; one without a default has to be given."""
    text = parameters.get(name)
    if text is None and default is not None:
        return default
    digits = (text or "").removeprefix("-")
    if not digits.isascii() or not digits.isdecimal() or len(digits) > 19 or int(digits) > _MOST_NUMBER:
        raise BadQuestion(f"{name}: expected a whole number, found {'nothing' if text is None else repr(text)}")
    return int(text or "")


def word_in(parameters: Mapping[str, str], name: str) -> str:
    """A word, which has to be given."""
    text = parameters.get(name)
    if not text:
        raise BadQuestion(f"{name}: expected a word, found nothing")
    return text
