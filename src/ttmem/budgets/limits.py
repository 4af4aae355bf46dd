"""Limits of a test: from its markers, the command line and the settings; sizes and increases as people write them."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import pytest

from ttmem.view.texts import size_of_text

__all__ = ["CORE", "MEASURED_POOLS", "Increase", "MemoryLimit", "limits_of", "parsed_limits", "warmups_of"]

CORE = "l1_per_core"
MEASURED_POOLS = ("dram", "l1", "l1_small", "trace")
_NAMES = (*MEASURED_POOLS, CORE)


class MemoryLimit(NamedTuple):
    """How much a test may hold of a pool of any chip, or on any core; and who says so."""

    size_bytes: int
    origin: str


class Increase(NamedTuple):
    """How much more than in the baseline a test may hold."""

    size_bytes: int
    share: float

    @classmethod
    def parsed(cls, text: str) -> "Increase":
        """1%, 64MiB. Anything else is a UsageError."""
        number = text.strip().removesuffix("%").strip()
        if text.strip().endswith("%") and number.replace(".", "", 1).isdecimal():
            return cls(0, float(number) / 100)
        return cls(_size(text, "--ttmem-fail-on-increase"), 0.0)

    def most(self, before_bytes: int) -> int:
        return before_bytes + self.size_bytes + int(before_bytes * self.share)


def parsed_limits(words: Iterable[str], origin: str) -> dict[str, MemoryLimit]:
    """dram=2GiB, by pool. Anything else is a UsageError."""
    found = {}
    for word in words:
        name, equals, size = word.partition("=")
        if not equals:
            raise pytest.UsageError(f"{origin}: expected POOL=SIZE such as dram=2GiB, found {word!r}")
        found[_name(name.strip(), origin)] = MemoryLimit(_size(size, origin), origin)
    return found


def limits_of(item: pytest.Item, others: Mapping[str, MemoryLimit]) -> dict[str, MemoryLimit]:
    """Of one test: the nearest marker that names a pool, else what holds for all."""
    found: dict[str, MemoryLimit] = {}
    for marker in item.iter_markers("limit_device_memory"):
        if marker.args:
            raise pytest.UsageError(f"limit_device_memory: expected dram='2GiB' and the like, found {marker.args[0]!r}")
        for name, size in marker.kwargs.items():
            if size is not None:
                origin = "its marker"
                found.setdefault(
                    _name(name, "limit_device_memory"), MemoryLimit(_size(size, "limit_device_memory"), origin)
                )
    return {**others, **found}


def warmups_of(item: pytest.Item) -> int | None:
    """How often a test runs before its leaks count; None: they do not."""
    marker = item.get_closest_marker("no_device_leaks")
    if marker is None:
        return None
    warmups = marker.kwargs.get("warmups", marker.args[0] if marker.args else 1)
    if not isinstance(warmups, int) or warmups < 0:
        raise pytest.UsageError(f"no_device_leaks: expected a number of runs such as warmups=1, found {warmups!r}")
    return warmups


def _name(name: str, origin: str) -> str:
    if name not in _NAMES:
        raise pytest.UsageError(f"{origin}: expected one of {', '.join(_NAMES)}, found {name!r}")
    return name


def _size(size: object, origin: str) -> int:
    if isinstance(size, int) and not isinstance(size, bool) and size >= 0:
        return size
    found = size_of_text(size) if isinstance(size, str) and not size.strip().isdecimal() else None
    if found is None:
        raise pytest.UsageError(f"{origin}: expected a size with its unit such as 2GiB or 900KiB, found {size!r}")
    return found
