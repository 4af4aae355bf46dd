"""Numbers as people read them: 1024-based sizes, shares, times. Exact bytes are in JSON only."""

import re
from collections.abc import Sequence
from datetime import datetime

UNKNOWN = "[N/A]"
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_SIZE = r"(?i)\s*(\d+(?:\.\d*)?|\.\d+)\s*(?:([kmgtpe])i?)?b?\s*"


def size_text(size_bytes: int | None) -> str:
    """Three significant digits and a unit, at most 8 characters: 9.21 GiB, 64.0 KiB, 512 B."""
    if size_bytes is None:
        return UNKNOWN
    unit = min(len(_UNITS) - 1, (size_bytes.bit_length() - 1) // 10 if size_bytes > 0 else 0)
    amount = size_bytes / (1 << 10 * unit)
    if amount >= 1023.5 and unit < len(_UNITS) - 1:
        amount, unit = amount / 1024, unit + 1
    if unit == 0 or amount >= 99.95:
        return f"{amount:.0f} {_UNITS[unit]}"
    return f"{amount:.1f} {_UNITS[unit]}" if amount >= 9.995 else f"{amount:.2f} {_UNITS[unit]}"


def signed_text(size_bytes: int | None) -> str:
    """A size that may be below 0: -4.00 KiB."""
    return f"-{size_text(-size_bytes)}" if size_bytes is not None and size_bytes < 0 else size_text(size_bytes)


def tight_size_text(size_bytes: int | None) -> str:
    """The same in at most 5 characters, where there is no room for more: 9.21G, 64.0K, 512B."""
    return size_text(size_bytes).replace(" ", "").removesuffix("iB")


def packed_text(sizes_bytes: Sequence[int]) -> str:
    """What a kernel's binaries take, one for each processor: 1252+860+1428; empty if nobody told."""
    return "+".join(map(str, sizes_bytes))


def size_of_text(text: str) -> int | None:
    """Bytes of a size as people type it: 4GiB, 1.5g, 200 KiB, 512; units are 1024-based. None if it is no size."""
    found = re.fullmatch(_SIZE, text)
    if not found:
        return None
    amount, unit = found.groups()
    return round(float(amount) * (1 << 10 * ("kmgtpe".index(unit.lower()) + 1 if unit else 0)))


def share_text(fraction: float | None) -> str:
    """A percentage that says 100 only when it is full, and 0 only when it is empty."""
    if fraction is None:
        return UNKNOWN
    if 0 < fraction < 0.01:
        return "<1%"
    return f"{int(fraction * 100 + 1e-9)}%"


def count_text(count: int | None) -> str:
    return UNKNOWN if count is None else f"{count:,}"


def tight_count_text(count: int | None, digits: int = 4) -> str:
    """With so many digits at most 5 characters: 1,204 or 12.0k; with one less 4: 1.2k; exact counts are in JSON."""
    if count is None:
        return UNKNOWN
    if count < 10**digits:
        return f"{count:,}"
    amount, unit = float(count), 0
    while amount >= 999.5:
        amount, unit = amount / 1000, unit + 1
    return f"{amount:.1f}"[:digits].rstrip(".") + " kMGTPE"[unit]


def clock_text(time_ns: int | None) -> str:
    """Hours, minutes and seconds in local time."""
    if time_ns is None:
        return UNKNOWN
    return datetime.fromtimestamp(time_ns / 1e9).strftime("%H:%M:%S")


def age_text(age_ns: int | None) -> str:
    """How long ago, in one or two whole units: 0.25 s, 12 s, 4 min, 3 h 10 min, 12 d 4 h."""
    if age_ns is None:
        return UNKNOWN
    seconds = max(0, age_ns) / 1e9
    if seconds < 60:
        return f"{seconds:.2f} s" if seconds < 9.995 else f"{int(seconds)} s"
    minutes = int(seconds // 60)
    if minutes < 60:
        return f"{minutes} min"
    hours = minutes // 60
    if hours < 24:
        return f"{hours} h {minutes % 60} min"
    return f"{hours // 24} d {hours % 24} h"


def ranges_text(numbers: list[int]) -> str:
    """Whole numbers as short ranges: 0-3,7."""
    parts: list[list[int]] = []
    for number in sorted(numbers):
        if parts and number == parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in parts)


def pid_text(pid: int, *, is_visible: bool = True) -> str:
    """A pid as people read it: with a mark if it is another namespace's, and none if no process is known."""
    return f"{pid or ''}{'' if is_visible and pid else '?'}"


def plural(count: int, word: str, ending: str) -> str:
    """A count with its word."""
    return f"{count:,} {word}{'' if count == 1 else ending}"
