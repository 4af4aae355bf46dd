"""What figures are made of: frozen structs, counts that are never negative, chips by name, and 64-bit numbers as text.

JavaScript loses whole numbers beyond 2^53, so nanoseconds are decimal text in JSON, ids and addresses hexadecimal.
"""

from datetime import datetime, timezone
from functools import lru_cache
from typing import Annotated, Any, Literal

import msgspec

from ttmem.devices import Pool

__all__ = [
    "MOST_NUMBER",
    "SCHEMA",
    "Answer",
    "ChipId",
    "ChipName",
    "Count",
    "Device",
    "Hex",
    "Number",
    "Struct",
    "TimeNs",
]
__all__ += ["TimeNs", "clean", "decode_hook", "encode_hook", "place_of", "replace", "schema_hook", "time_text"]

EMBEDDED = "embedded collector"  # the source of figures that a viewer has read itself
SCHEMA: Literal[2] = 2
MOST_NUMBER = 1 << 53  # in JSON: beyond that readers are no longer exact

_LATEST_NS = (1 << 63) - 1
_LONGEST_TIME = len(str(_LATEST_NS))
_LONGEST_HEX = len("0x") + 16
_MOST_HEX = (1 << 64) - 1
_SECOND_LENGTH = len("1970-01-01T00:00:00")

Count = Annotated[int, msgspec.Meta(ge=0, le=MOST_NUMBER)]  # of bytes, events, cores ...
Number = Annotated[int, msgspec.Meta(ge=-MOST_NUMBER, le=MOST_NUMBER)]  # that may be negative
replace = msgspec.structs.replace


class Struct(msgspec.Struct, frozen=True, gc=False):
    """Figures at one instant. They are never changed; `replace` makes another one.

    `gc=False`: a tree of frozen figures has no cycles, and there are thousands of them (DESIGN 12, "overview decoded").
    """


class Answer(Struct, frozen=True, kw_only=True):
    """Figures that are sent as a whole, with the version of their shape."""

    schema: Literal[2] = SCHEMA


class TimeNs(int):
    """Nanoseconds since 1970, or between two moments: "1763460000123456789" in JSON."""

    __slots__ = ()


class Hex(int):
    """A 64-bit id or address: "0x1f00" in JSON."""

    __slots__ = ()


class ChipId(Hex):
    """The unique id of a chip, as it is written everywhere: "0x00000000075bcd15"."""

    __slots__ = ()


# DESIGN 12, "overview encoded / decoded": hooks are called for each of thousands of numbers, so they call few others.
_decimal = int.__repr__


# Thousands of rows name the same chips, and a mesh has its peaks at the same time on each of its chips.
@lru_cache(2048, typed=True)  # DESIGN 12, "overview encoded, with details <= 6 ms"
def encode_hook(value: Any) -> str:
    """What JSON has for what is no plain value. A journal may claim any time: those that cannot be are the nearest."""
    kind = type(value)
    if kind is TimeNs:
        return _decimal(value if 0 <= value <= _LATEST_NS else _LATEST_NS if value > 0 else 0)
    if kind is ChipId:
        return f"0x{value & _MOST_HEX:016x}"
    if kind is Hex:
        return hex(value & _MOST_HEX)
    raise NotImplementedError(f"{kind.__name__} has no JSON form")


def decode_hook(kind: type, value: Any) -> Any:
    """The inverse of `encode_hook`. ValueError says what was expected."""
    if type(value) is str:
        return _read(kind, value)
    raise _unexpected(kind, value)


@lru_cache(2048)  # DESIGN 12, "overview decoded, with details <= 12 ms"; what is refused is not kept
def _read(kind: type, text: str) -> Any:
    if text.isalnum() and text.isascii():
        if kind is TimeNs:
            if text.isdigit() and len(text) <= _LONGEST_TIME and (found := TimeNs(text)) <= _LATEST_NS:
                return found
        elif text[:2] == "0x" and len(text) <= _LONGEST_HEX:
            return kind(text, 16)
    raise _unexpected(kind, text)


def _unexpected(kind: type, value: Any) -> ValueError:
    expected = "nanoseconds" if kind is TimeNs else "a number such as 0x1f00"
    return ValueError(f"Expected {expected} as text, got {str(value)[:40]!r}")


def schema_hook(kind: type) -> dict[str, Any]:
    """The same for a JSON Schema."""
    patterns = {TimeNs: "^[0-9]{1,19}$", Hex: "^0x[0-9a-f]{1,16}$", ChipId: "^0x[0-9a-f]{16}$"}
    return {"type": "string", "pattern": patterns[kind]}


def clean(name: str) -> str:
    """A name from outside, which may be no UTF-8: what cannot be written becomes `?`."""
    return name if name.isascii() else name.encode("utf-8", "replace").decode()


def time_text(time_ns: int | None) -> str | None:
    """ISO 8601 in local time with offset, to the microsecond."""
    if time_ns is None:
        return None
    seconds, rest = divmod(time_ns, 1_000_000_000)
    text = datetime.fromtimestamp(seconds, timezone.utc).astimezone().isoformat()
    part = f".{rest // 1000:06d}" if rest >= 1000 else ""
    return text[:_SECOND_LENGTH] + part + text[_SECOND_LENGTH:]


class ChipName(Struct, frozen=True):
    """One chip by name. `number` is its place in one snapshot only."""

    number: Number
    unique_id: ChipId
    index: Number | None  # logical index in the process that opened it first; N of `server:N`
    is_known: bool  # by its unique id; else by `name` alone
    name: str

    @property
    def is_server_chip(self) -> bool:
        """Known by its number alone, from the allocation server's protocol; no journal has opened that chip."""
        return not self.is_known and self.index is not None

    @property
    def uuid(self) -> str | None:
        """The chip's own id as it is printed everywhere; None for a device that was never opened."""
        return f"0x{self.unique_id:016x}" if self.is_known else None

    @property
    def names(self) -> dict[str, int | str | None]:
        """As short documents have them."""
        return {"index": self.index, "uuid": self.uuid, "name": self.name or None}


class Device(ChipName, frozen=True):
    """One chip, as the processes that opened it described it."""

    arch: str = ""  # wormhole_b0, blackhole; empty if not reported
    board: str = ""
    grid: tuple[Count, Count] | None = None  # worker cores in x and y
    dram_bank_count: Count | None = None
    l1_bank_count: Count | None = None
    kernel_ring_bytes: Count | None = None  # of each worker core
    capacity_bytes: tuple[Count | None, ...] = (None,) * len(Pool)  # by pool, in the order of their numbers
    open_count: Count = 0  # live processes that have it open

    @classmethod
    def bare(cls, number: int, unique_id: int | None, *, index: int | None, name: str) -> "Device":
        """One of which only the name is known."""
        return cls(number, ChipId(unique_id or 0), index, unique_id is not None, name)

    def capacity(self, pool: Pool) -> int | None:
        """All banks of a pool together, as reported by the chip's opener; None if not reported."""
        return self.capacity_bytes[pool] if pool.number < len(self.capacity_bytes) else None

    def as_name(self) -> ChipName:
        """Only what it is called."""
        return ChipName(self.number, self.unique_id, self.index, self.is_known, self.name)


def place_of(device: ChipName) -> tuple[bool, int, int, str]:
    """The order of chips: by index; what has none comes last."""
    return device.index is None, device.index or 0, device.unique_id, device.name
