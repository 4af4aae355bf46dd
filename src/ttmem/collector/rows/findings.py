"""What does not add up, in sentences: chips that are said to be what they cannot be, more memory in use than there is,
two buffers at one place, journals that no process is known to have written."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ttmem.devices import Pool
from ttmem.snapshot.device import ChipName
from ttmem.snapshot.host import Finding
from ttmem.snapshot.usage import DeviceUsage
from ttmem.snapshot.values import replace

__all__ = ["chip_findings", "chip_name", "explained", "overlap_text"]

_OVERLAPS_NAMED = 3


def chip_findings(chips: Iterable[tuple[DeviceUsage, Sequence[Any] | None]]) -> Iterator[Finding]:
    """Those of all chips; first openers that contradict each other or the driver, by what the ledger says of that."""
    listed = tuple(chips)
    for usage, contradiction in listed:
        if contradiction is not None:
            count, what, believed_text, other_text, believed, other = contradiction
            first = "the driver" if believed is None else _opener(believed)
            text = f"{_opener(other)} says {what} {other_text}, {first} says {believed_text} and is believed"
            yield Finding("contradicted", count, path=other[2], text=f"{chip_name(usage.device)}: {text}")
    for usage, _ in listed:
        for pool in usage.pools if usage.doubt in ("over_capacity", "contradicted") else ():
            if not pool.is_planned and pool.used_bytes > (pool.capacity_bytes or pool.used_bytes):
                yield Finding("over_capacity", 1, text=_excess(usage, pool.pool, pool.used_bytes))
        fullest, has = usage.fullest_core_bytes, usage.core_bytes
        if fullest is not None and has is not None and fullest > has:
            text = f"{chip_name(usage.device)}: {fullest:,} bytes of its fullest core are reported, a core has {has:,}"
            yield Finding("over_capacity", 1, text=text)


def _opener(opener: Sequence[Any]) -> str:
    pid, uid, _ = opener
    return f"pid {'?' if pid is None else pid} (uid {'?' if uid is None else uid})"


def _excess(usage: DeviceUsage, pool: Pool, used_bytes: int) -> str:
    has = usage.device.capacity(pool) or 0
    return f"{chip_name(usage.device)}: {used_bytes:,} bytes of {pool.word} are reported, it has {has:,}"


def chip_name(device: ChipName) -> str:
    """How findings call a chip."""
    return f"device {device.index if device.index is not None else device.uuid or device.name}"


def explained(finding: Finding, uid: int) -> Finding:
    """A finding as it stands among those of all processes. That of an unverified journal names no pid: it says why."""
    if finding.name != "unverified":
        return finding
    return replace(
        finding,
        text=f"written by uid {uid}; no process is confirmed by the kernel as its writer, "
        "so its figures are listed under no pid and counted nowhere",
    )


def overlap_text(overlaps: Sequence[Sequence[Any]], names: Mapping[int, ChipName]) -> str:
    """Both owners of every overlap; a finding that is one sentence for each."""

    def chips(numbers: Iterable[int]) -> str:
        found = [names[number] for number in numbers]
        words = [str(chip.index) if chip.index is not None else chip.name for chip in found]
        return f"chip{'s' if len(words) > 1 else ''} {', '.join(words)}"

    def owner(rows: int, columns: int, numbers: Iterable[int]) -> str:
        return f"mesh {rows}x{columns} ({chips(numbers)})" if rows else f"{chips(numbers)} alone"

    sentences = [
        f"{owner(*first)} and {owner(*second)} both hold {size_bytes:,} bytes of {Pool.numbered(pool).word} "
        f"from {address:#x} on, on {chips(where)}: they overwrite each other"
        for pool, address, size_bytes, where, first, second in overlaps[:_OVERLAPS_NAMED]
    ]
    more = len(overlaps) - len(sentences)
    return "; ".join(sentences) + (f"; and {more} more" if more else "")
