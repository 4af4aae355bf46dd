"""Moments of a recording on the command line: 14:03:07, +12.5s, peak, incident:4711-1, or a phase by its name."""

import re
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from ttmem.devices import Pool
    from ttmem.recording import Peak, Recording

__all__ = ["highest_peak", "moment_ns"]

_OFFSET = re.compile(r"\+(\d+(?:\.\d+)?) ?(us|µs|ms|s|sec|min|h)?")
_NS_OF = {"us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9, "sec": 1e9, "min": 60e9, "h": 3600e9}
_CLOCK = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2})(\.\d{1,9})?)?")
_INCIDENT = re.compile(r"incident:(\d+)-(\d+)")
_PHASE = re.compile(r"(.+?)(?:#(\d+))?(:end)?")
_MOST_NAMES = 8


def moment_ns(
    recording: "Recording", text: str, *, pool: "Pool | None" = None, chip: str | None = None, hint: str = "--at"
) -> int:
    """CLOCK_MONOTONIC of what was asked for; a moment outside of the recording is refused.

    `pool` (dram unless said otherwise) and `chip` say whose `peak` is meant; `hint` is the option that a refusal names.
    A phase is the beginning of its first run: `decode`; of its third: `decode#3`; the end of that: `decode#3:end`.
    """
    from ttmem.collector.recorded import Moment

    if text == "peak":
        peak = highest_peak(recording, pool, chip, hint=hint)
        if peak.is_of_gap:
            raise click.BadParameter(
                "the peak is of a time that could not be followed: what was alive then is not known; "
                "ask for another moment, such as +12.5s",
                param_hint=hint,
            )
        return Moment(recording, peak=peak).monotonic_ns
    if match := _OFFSET.fullmatch(text):
        at = recording.first_ns + round(float(match[1]) * _NS_OF[match[2] or "s"])
    elif match := _INCIDENT.fullmatch(text):
        told = recording.monotonic_ns(_incident_ns(recording, int(match[1]), int(match[2]), hint))
        at = min(max(told, recording.first_ns), recording.last_ns)  # it may be the last event, and clocks are rounded
    elif match := _CLOCK.fullmatch(text):
        at = _clock_ns(recording, match, hint)
    else:
        at = _phase_ns(recording, text, hint)
    if recording.first_ns <= at <= recording.last_ns:
        return at
    from ttmem.view.texts import clock_text

    first, last = (clock_text(recording.wall_ns(one)) for one in (recording.first_ns, recording.last_ns))
    length = (recording.last_ns - recording.first_ns) / 1e9
    raise click.BadParameter(
        f"{text} is outside of the recording, which goes from {first} to {last}: +0s to +{length:.3f}s",
        param_hint=hint,
    )


def highest_peak(
    recording: "Recording", pool: "Pool | None" = None, chip: str | None = None, *, hint: str = "--at"
) -> "Peak":
    """The highest that a pool was on any of the chips that `chip` names (as `ps -i` does)."""
    from ttmem.collector.recorded import Moment
    from ttmem.devices import Pool
    from ttmem.snapshot.selection import device_test, known_devices
    from ttmem.snapshot.values import ChipId, Device

    meant = pool or Pool.DRAM
    is_meant = device_test(chip) if chip is not None else None
    end = {usage.device.unique_id: usage.device for usage in Moment(recording).snapshot.devices}
    if is_meant is not None and not any(map(is_meant, end.values())):
        raise click.BadParameter(
            f"no chip {chip} in this recording; {known_devices(end.values())}", param_hint="--chip"
        )
    peaks = [
        peak
        for peak in recording.peaks()
        if peak.pool == meant.number
        and peak.is_known
        and (is_meant is None or is_meant(end.get(ChipId(peak.chip), Device.bare(0, peak.chip, index=None, name=""))))
    ]
    if not peaks:
        raise click.BadParameter(f"nothing was ever held in {meant.word} there", param_hint=hint)
    return max(peaks, key=lambda peak: peak.size_bytes)


def _clock_ns(recording: "Recording", match: "re.Match[str]", hint: str) -> int:
    """The first such time of day in the recording; the whole second or minute counts, up to its end."""
    hour, minute, second = int(match[1]), int(match[2]), int(match[3] or 0)
    if hour > 23 or minute > 59 or second > 59:
        raise click.BadParameter(f"{match[0]} is no time of day", param_hint=hint)
    began = recording.wall_ns(recording.first_ns)
    day = datetime.fromtimestamp(began / 1e9)
    asked = day.replace(hour=hour, minute=minute, second=second, microsecond=0)
    length = 1_000_000_000 if match[3] else 60_000_000_000
    fraction = round(float(match[4]) * 1e9) if match[4] else length - 1
    at = round(asked.timestamp()) * 1_000_000_000 + fraction
    if at < began:
        at = round((asked + timedelta(days=1)).timestamp()) * 1_000_000_000 + fraction
    last = recording.wall_ns(recording.last_ns)
    return recording.monotonic_ns(last if not match[4] and last < at < last + length else at)


def _incident_ns(recording: "Recording", pid: int, number: int, hint: str) -> int:
    from ttmem.collector.recorded import KeptIncidents

    snapshot = KeptIncidents(recording.path).snapshot()
    known = [(process.pid, one) for process in snapshot.processes for one in process.incidents]
    for its_pid, incident in known:
        if (its_pid, incident.number) == (pid, number):
            return int(incident.time_ns)
    names = ", ".join(f"{its_pid}-{one.number}" for its_pid, one in known)
    raise click.BadParameter(f"no incident {pid}-{number} was recorded; there are {names or 'none'}", param_hint=hint)


def _phase_ns(recording: "Recording", text: str, hint: str) -> int:
    from ttmem.collector.recorded import Moment
    from ttmem.view.texts import plural

    match = _PHASE.fullmatch(text)
    spans = sorted((span for spans in Moment(recording).phases.values() for span in spans), key=lambda span: span[1])
    runs = [span for span in spans if match and span[0] == match[1]]
    if match is None or not runs:
        names = list(dict.fromkeys(span[0] for span in spans))
        more = ", ..." if len(names) > _MOST_NAMES else ""
        known = f"; phases were {', '.join(names[:_MOST_NAMES])}{more}" if names else ""
        raise click.BadParameter(
            f"{text!r} is no moment: 14:03:07, +12.5s, peak, incident:4711-1 or the name of a phase{known}",
            param_hint=hint,
        )
    number = int(match[2] or 1)
    if not 1 <= number <= len(runs):
        raise click.BadParameter(
            f"phase {match[1]} ran {plural(len(runs), 'time', 's')}, there is no run {number}", param_hint=hint
        )
    _, began, ended, *_ = runs[number - 1]
    at = recording.monotonic_ns((ended or recording.wall_ns(recording.last_ns)) if match[3] else began)
    return min(max(at, recording.first_ns), recording.last_ns)  # clocks are rounded
