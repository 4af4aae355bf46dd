"""Where the stock runtime's counters and our own count disagree about a process.

The runtime counts on the thread that opened the first device and on no other, so a difference is expected as soon as a
program allocates on a second one. The two are read one after the other; while a process is busy they may differ for
that reason alone. So they are compared when neither has moved for a moment, and the last verdict stands meanwhile.
"""

from collections.abc import Sequence
from typing import NamedTuple

from ttmem.devices import Pool
from ttmem.snapshot import (
    Device,
    Finding,
    PoolUsage,
    ProcessDevice,
    ProcessUsage,
    ReadChip,
    ReadProcess,
    TimeNs,
    replace,
)

__all__ = ["Differences"]

_QUIET_NS = 10_000_000
_VERDICTS_MOST = 10_000
# Circular buffers are left out: a sample of those that are not dataflow buffers is not comparable.
_COMPARED = (Pool.DRAM, Pool.L1, Pool.L1_SMALL, Pool.TRACE)

Held = Sequence[tuple[Device, ReadChip, ReadProcess]]


class _Verdict(NamedTuple):
    """What the last comparison said."""

    finding: str = ""
    others: tuple[ProcessDevice, ...] = ()


_EQUAL = _Verdict()


class Differences:
    """Remembers, for every process that is told of twice, what the last comparison said."""

    def __init__(self) -> None:
        self._verdicts: dict[int, _Verdict] = {}

    def noted(self, process: ProcessUsage, held: Held, read_ns: int) -> ProcessUsage:
        """The process, with a finding and the runtime's figures apart if they differ from what was counted."""
        if len(self._verdicts) > _VERDICTS_MOST:
            self._verdicts.clear()
        if _is_comparable(process, held, read_ns):
            self._verdicts[process.key] = _verdict(process, held)
        verdict = self._verdicts.get(process.key, _EQUAL)
        if not verdict.finding:
            return process
        finding = Finding(verdict.finding, 1, process.pid, process.path)
        others = (*process.other_devices, *verdict.others)
        return replace(process, findings=(*process.findings, finding), other_devices=others)


def _is_comparable(process: ProcessUsage, held: Held, read_ns: int) -> bool:
    """A process whose every allocation is counted, and which had nothing to tell for a moment."""
    if process.source != "journal" or process.origin != "counted" or process.reason:
        return False
    stamps = [process.last_event_time_ns, *(read.last_update_ns for _, _, read in held)]
    return all(stamp is None or stamp + _QUIET_NS <= read_ns for stamp in stamps)


def _verdict(process: ProcessUsage, held: Held) -> _Verdict:
    counted = {one.device.number: {usage.pool: _asked_for(usage) for usage in one.pools} for one in process.devices}
    is_missing, is_beyond = False, False
    others = []
    for device, _, read in held:
        ours = counted.get(device.number)
        if ours is None:
            continue  # it reports, but not on this chip: by what it reports, the two cannot be compared
        gaps = [ours.get(pool, 0) - read.used.get(pool, 0) for pool in _COMPARED]
        if any(gaps):
            is_missing |= any(gap > 0 for gap in gaps)
            is_beyond |= any(gap < 0 for gap in gaps)
            others.append(ProcessDevice(device.as_name(), tuple(_read_pools(read)), (), None))
    if not others:
        return _EQUAL
    return _Verdict("runtime_misses" if is_missing or not is_beyond else "runtime_exceeds", tuple(others))


def _asked_for(usage: PoolUsage) -> int:
    """What the runtime sums up as well: bytes of tensors, before banks and alignment."""
    return usage.used_bytes if usage.requested_bytes is None else usage.requested_bytes


def _read_pools(read: ReadProcess) -> list[PoolUsage]:
    return [
        PoolUsage(
            pool=pool,
            used_bytes=used,
            requested_bytes=None if pool is Pool.CB else used,
            count=None,
            peak_bytes=used,
            peak_time_ns=None if read.last_update_ns is None else TimeNs(read.last_update_ns),
            is_lower_bound=True,
            origin="sample" if pool is Pool.CB else "read",
        )
        for pool, used in sorted(read.used.items())
        if used or pool in (Pool.DRAM, Pool.L1)
    ]
