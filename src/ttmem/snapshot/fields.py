"""The plain values of a document: how times are written, and how fields are read back with nothing taken on trust.

A document comes from another process, perhaps of another version: a field that is missing or of another type is named
in one clear error, and fields nobody here knows are passed over.
"""

from collections.abc import Collection, Iterator
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from typing import Any, NoReturn, TypeVar, cast

from ttmem.errors import VersionMismatch

__all__ = ["Fields", "time_text"]

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MICROSECOND = timedelta(microseconds=1)
_LATEST_NS = 1 << 63
_SECOND_LENGTH = len("1970-01-01T00:00:00")
_MOST_NUMBER = 1e300

Word = TypeVar("Word", bound=str)


def time_text(time_ns: int | None) -> str | None:
    """ISO 8601 in local time with offset, to the microsecond."""
    if time_ns is None:
        return None
    seconds, rest = divmod(time_ns, 1_000_000_000)
    before, after = _second_text(seconds)
    return f"{before}.{rest // 1000:06d}{after}" if rest >= 1000 else before + after


@lru_cache(maxsize=4096)
def _second_text(seconds: int) -> tuple[str, str]:
    """A whole second up to where its parts stand, and the offset behind them."""
    text = datetime.fromtimestamp(seconds, timezone.utc).astimezone().isoformat()
    return text[:_SECOND_LENGTH], text[_SECOND_LENGTH:]


@lru_cache(maxsize=4096)
def _time_ns(text: str) -> int:
    """The instant that a text tells; below 0 if it tells none. Most texts come again with the next document."""
    try:
        return (datetime.fromisoformat(text) - _EPOCH) // _MICROSECOND * 1000
    except (ValueError, TypeError, OverflowError):
        return -1


class Fields:
    """One object of a document; asks its fields by name and type."""

    __slots__ = ("_name", "_parent", "_values")

    def __init__(self, value: object, parent: "Fields | None" = None, name: str = "") -> None:
        self._parent = parent
        self._name = name
        if not isinstance(value, dict):
            self.refuse("", "an object", value)
        self._values: dict[str, Any] = value

    @property
    def values(self) -> dict[str, Any]:
        """All fields, as they came."""
        return self._values

    def integer(self, name: str) -> int:
        value = self._values.get(name)
        return value if type(value) is int else self._wrong(name, "a whole number")

    def maybe_integer(self, name: str) -> int | None:
        value = self._values.get(name, self)
        return value if value is None or type(value) is int else self._wrong(name, "a whole number")

    def number(self, name: str) -> float:
        """Any finite number."""
        value = self._value(name)
        if type(value) not in (int, float) or not -_MOST_NUMBER < value < _MOST_NUMBER:
            self.refuse(name, "a number", value)
        return float(value)

    def maybe_number(self, name: str) -> float | None:
        return None if self._value(name) is None else self.number(name)

    def text(self, name: str) -> str:
        value = self._values.get(name)
        return value if type(value) is str else self._wrong(name, "a text")

    def maybe_text(self, name: str) -> str:
        """The text; empty for null."""
        value = self._values.get(name, self)
        if value is None:
            return ""
        return value if type(value) is str else self._wrong(name, "a text")

    def hexadecimal(self, name: str) -> int | None:
        """A number written as 0x1f00; None for null."""
        text = self.maybe_text(name)
        try:
            return int(text, 16) if text else None
        except ValueError:
            self.refuse(name, "a number such as 0x1f00", text)

    def flag(self, name: str) -> bool:
        value = self._values.get(name)
        return value if type(value) is bool else self._wrong(name, "true or false")

    def word(self, name: str, words: Collection[Word]) -> Word:
        """One of these words."""
        value = self._values.get(name)
        if type(value) is not str:
            self._wrong(name, "a text")
        return cast(Word, value) if value in words else self.refuse(name, " or ".join(words), value)

    def maybe_word(self, name: str, words: Collection[Word]) -> str:
        """One of these words; empty for null."""
        return "" if self._value(name) is None else self.word(name, words)

    def nanoseconds(self, name: str) -> int:
        """An instant as a whole number, between 1970 and the far future."""
        time_ns = self.integer(name)
        return time_ns if 0 <= time_ns < _LATEST_NS else self.refuse(name, "nanoseconds since 1970", time_ns)

    def time_ns(self, name: str) -> int:
        time_ns = _time_ns(self.text(name))
        if not 0 <= time_ns < _LATEST_NS:
            self.refuse(name, "an ISO 8601 time with offset", self._value(name))
        return time_ns

    def maybe_time_ns(self, name: str) -> int | None:
        return None if self._value(name) is None else self.time_ns(name)

    def inner(self, name: str) -> "Fields":
        return Fields(self._value(name), self, name)

    def maybe_inner(self, name: str) -> "Fields | None":
        return None if self._value(name) is None else self.inner(name)

    def items(self, name: str) -> Iterator["Fields"]:
        """The objects of a list."""
        for at, value in enumerate(self._list(name)):
            yield Fields(value, self, f"{name}[{at}]")

    def named(self, name: str) -> Iterator[tuple[str, "Fields"]]:
        """The objects of an object, with the names they have there; without those that are null."""
        inner = self.inner(name)
        for key in inner._values:
            if inner._values[key] is not None:
                yield key, Fields(inner._values[key], inner, key)

    def maybe_named(self, name: str) -> Iterator[tuple[str, "Fields"]]:
        """The same; nothing for null."""
        if self._value(name) is not None:
            yield from self.named(name)

    def counts(self, name: str) -> dict[str, int]:
        """An object of whole numbers."""
        inner = self.inner(name)
        return {key: inner.integer(key) for key in inner._values}

    def texts(self, name: str) -> tuple[str, ...]:
        values = self._list(name)
        if not {str}.issuperset(map(type, values)):
            self.refuse(name, "texts", values)
        return tuple(values)

    def integers(self, name: str) -> tuple[int, ...]:
        values = self._list(name)
        if not {int}.issuperset(map(type, values)):
            self.refuse(name, "whole numbers", values)
        return tuple(values)

    def maybe_integers(self, name: str) -> tuple[int, ...] | None:
        return None if self._value(name) is None else self.integers(name)

    def gapped_integers(self, name: str) -> tuple[int | None, ...]:
        """Whole numbers, and null between them."""
        values = self._list(name)
        if not all(value is None or type(value) is int for value in values):
            self.refuse(name, "whole numbers", values)
        return tuple(values)

    def maybe_pair(self, name: str) -> tuple[int, int] | None:
        """Two whole numbers, or None for null."""
        if self._value(name) is None:
            return None
        values = self._list(name)
        if len(values) != 2 or not all(type(value) is int for value in values):
            self.refuse(name, "two whole numbers", values)
        return values[0], values[1]

    def refuse(self, name: str, expected: str, found: object) -> NoReturn:
        """Says which field is not what it should be."""
        text = repr(found)
        shown = text if len(text) <= 40 else text[:39] + "…"
        raise VersionMismatch(
            f"`{self._at(name) or 'document'}`: expected {expected}, found {shown}; "
            "both sides must be of one version of ttmem: restart the older one"
        )

    def _wrong(self, name: str, expected: str) -> NoReturn:
        """Every field of a document passes the functions above: they look first, and ask what is wrong here."""
        self.refuse(name, expected, self._value(name))

    def _value(self, name: str) -> Any:
        try:
            return self._values[name]
        except KeyError:
            raise VersionMismatch(
                f"`{self._at(name)}` is missing from the document; "
                "both sides must be of one version of ttmem: restart the older one"
            ) from None

    def _list(self, name: str) -> list[Any]:
        value = self._value(name)
        if not isinstance(value, list):
            self.refuse(name, "a list", value)
        return value

    def _at(self, name: str) -> str:
        """The way to a field, for messages: worked out only when something is wrong."""
        path = f"{self._name}.{name}".strip(".")
        return path if self._parent is None else self._parent._at(path)
