"""Sizes, shares, rates and times on the command line: 4GiB, 200KiB, 90%, 1MiB/s, 10min."""

import click

from ttmem.analysis.limits import Amount
from ttmem.view.texts import size_of_text

__all__ = ["amount", "duration", "rate", "size"]

_SECONDS = {"s": 1, "sec": 1, "min": 60, "h": 3600, "d": 86_400}


def size(context: click.Context, param: click.Parameter, value: str | None) -> int | None:
    """Bytes, in 1024-based units. A number alone is refused: it would be bytes, and is nearly never meant so."""
    if value is None:
        return None
    size_bytes = size_of_text(value)
    if size_bytes is None:
        raise click.BadParameter(f"{value!r} is no size: give one such as 4GiB, 200KiB or 512B", param=param)
    _refuse_bare(value, param, *(("KiB", "B") if "core" in (param.name or "") else ("GiB", "MiB")))
    return size_bytes


def amount(context: click.Context, param: click.Parameter, value: str | None) -> Amount | None:
    """A size, or a share of what there is."""
    if value is None:
        return None
    fraction = _fraction(value)
    size_bytes = size_of_text(value)
    if fraction is None and size_bytes is None:
        raise click.BadParameter(f"{value!r} is neither a share such as 90% nor a size such as 1GiB", param=param)
    _refuse_bare(value, param, *(("%", "MiB") if _fraction(value.strip() + "%") is not None else ("MiB", "B")))
    return Amount(size_bytes, fraction)


def rate(context: click.Context, param: click.Parameter, value: str | None) -> Amount | None:
    """A size per time."""
    if value is None:
        return None
    text, slash, time = value.partition("/")
    size_bytes, seconds = size_of_text(text), _SECONDS.get(time.strip() if slash else "s")
    if size_bytes is None or seconds is None:
        raise click.BadParameter(f"{value!r} is no rate: give one such as 1MiB/s, 64KiB/min or 1GiB/h", param=param)
    per = f"/{time.strip()}" if slash else "/s"
    _refuse_bare(text, param, f"MiB{per}", f"KiB{per}")
    if not slash and size_bytes:
        raise click.BadParameter(_question(value, "/s", "/min"), param=param)
    return Amount(size_bytes // seconds)


def _refuse_bare(value: str, param: click.Parameter, *units: str) -> None:
    """A number without a unit, unless it is 0, which is the same in all of them."""
    text = value.strip()
    if text.replace(".", "", 1).isdecimal() and float(text):
        raise click.BadParameter(_question(text, *units), param=param)


def _question(text: str, one: str, other: str) -> str:
    """90 has no unit: 90% or 90MiB?"""
    missing = "does not say per which time" if one.startswith("/") else "has no unit"
    return f"{text} {missing}: {text}{one} or {text}{other}?"


def duration(context: click.Context, param: click.Parameter, value: str | None) -> float | None:
    """Seconds: 30s, 10min, 2h, 1d."""
    if value is None:
        return None
    text = value.strip()
    number = text.rstrip("abcdefghijklmnopqrstuvwxyz")
    seconds = _SECONDS.get(text[len(number) :])
    if seconds is None or not number.replace(".", "", 1).isdecimal():
        raise click.BadParameter(f"{value!r} is no time: give one such as 30s, 10min, 2h or 1d", param=param)
    return float(number) * seconds


def _fraction(text: str) -> float | None:
    """Of 0% to 100%; None if it is none of them."""
    number = text.strip().removesuffix("%").strip()
    is_share = text.strip().endswith("%") and number.replace(".", "", 1).isdecimal() and float(number) <= 100
    return float(number) / 100 if is_share else None
