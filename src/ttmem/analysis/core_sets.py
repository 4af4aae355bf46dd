"""Sets of cores as journals name them: `0,0-7,7;0,8-3,8`, rectangles with both corners."""

import re
from collections.abc import Iterable
from functools import lru_cache

__all__ = ["Core", "cores_of", "cores_text", "share_cores"]

Core = tuple[int, int]
_RECTANGLE = re.compile(r"\s*(\d{1,4}),(\d{1,4})(?:-(\d{1,4}),(\d{1,4}))?\s*")
_MOST = 1 << 14  # cores; a text that names more is no set of cores


@lru_cache(maxsize=1 << 12)  # DESIGN 12, "one-shot table": 4,096 entries of an incident have few sets of cores
def cores_of(text: str | None) -> frozenset[Core] | None:
    """The cores of a text; None if there is none, or it cannot be read."""
    if not text:
        return None
    cores: set[Core] = set()
    for part in text.split(";"):
        found = _RECTANGLE.fullmatch(part)
        if found is None:
            return None
        left, top = int(found[1]), int(found[2])
        right, bottom = (int(found[3]), int(found[4])) if found[3] else (left, top)
        if (right - left + 1) * (bottom - top + 1) + len(cores) > _MOST:
            return None
        cores.update((x, y) for x in range(left, right + 1) for y in range(top, bottom + 1))
    return frozenset(cores)


def share_cores(one: str | None, other: str | None) -> bool:
    """Whether two sets have a core in common; an unknown one may be anywhere."""
    first, second = cores_of(one), cores_of(other)
    return first is None or second is None or not first.isdisjoint(second)


def cores_text(cores: Iterable[Core]) -> str:
    """Cores as rectangles: columns of equal rows are joined."""
    rows: dict[tuple[int, int], list[int]] = {}  # (left, right) -> rows that have exactly this run
    by_row: dict[int, list[int]] = {}
    for x, y in sorted(cores):
        by_row.setdefault(y, []).append(x)
    for y in sorted(by_row):
        for left, right in _runs(by_row[y]):
            rows.setdefault((left, right), []).append(y)
    parts = []
    for (left, right), found in rows.items():
        for top, bottom in _runs(found):
            first, last = f"{left},{top}", f"{right},{bottom}"
            parts.append(first if first == last else f"{first}-{last}")
    return ";".join(parts)


def _runs(numbers: list[int]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1] = runs[-1][0], number
        else:
            runs.append((number, number))
    return runs
