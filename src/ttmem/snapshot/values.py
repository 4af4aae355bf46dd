"""What figures are made of: frozen structs, counts that are never negative, and 64-bit numbers that JSON has as text.

JavaScript loses whole numbers beyond 2^53, so nanoseconds are decimal text in JSON, ids and addresses hexadecimal.
"""

from datetime import datetime, timezone
from typing import Annotated, Any

import msgspec

__all__ = ["SCHEMA", "Answer", "Count", "Hex", "Struct", "TimeNs", "decode_hook", "encode_hook", "replace", "time_text"]

SCHEMA = 2

_LATEST_NS = 1 << 63
_SECOND_LENGTH = len("1970-01-01T00:00:00")

Count = Annotated[int, msgspec.Meta(ge=0)]  # of bytes, events, cores ...
replace = msgspec.structs.replace


class Struct(msgspec.Struct, frozen=True):
    """Figures at one instant. Nobody changes them; `replace` makes another one."""


class Answer(Struct, frozen=True, kw_only=True):
    """Figures that are sent as a whole, with the version of their shape."""

    schema: int = SCHEMA


class TimeNs(int):
    """Nanoseconds since 1970, or between two moments: "1763460000123456789" in JSON."""

    __slots__ = ()


class Hex(int):
    """A 64-bit id or address: "0x1f00" in JSON."""

    __slots__ = ()


def encode_hook(value: Any) -> Any:
    """What JSON has for what is no plain value."""
    if type(value) is TimeNs:
        return str(int(value))
    if type(value) is Hex:
        return hex(value)
    raise NotImplementedError(f"{type(value).__name__} has no JSON form")


def decode_hook(kind: type, value: Any) -> Any:
    """The inverse of `encode_hook`. ValueError says what was expected."""
    if kind is TimeNs and type(value) is str and value.isascii() and value.isdigit() and int(value[:20]) < _LATEST_NS:
        return TimeNs(value)
    if kind is Hex and type(value) is str and value.startswith("0x") and len(value) <= len("0x") + 16:
        return Hex(value, 16)
    expected = "nanoseconds" if kind is TimeNs else "a number such as 0x1f00"
    raise ValueError(f"Expected {expected} as text, got {str(value)[:40]!r}")


def time_text(time_ns: int | None) -> str | None:
    """ISO 8601 in local time with offset, to the microsecond."""
    if time_ns is None:
        return None
    seconds, rest = divmod(time_ns, 1_000_000_000)
    text = datetime.fromtimestamp(seconds, timezone.utc).astimezone().isoformat()
    part = f".{rest // 1000:06d}" if rest >= 1000 else ""
    return text[:_SECOND_LENGTH] + part + text[_SECOND_LENGTH:]
