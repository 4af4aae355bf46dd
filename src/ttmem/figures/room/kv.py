"""How many blocks of a KV cache this run had, and how many would have fitted.

A KV cache is known by its shape: buffers of four dimensions that all have the same number of blocks, several of which
one line makes and keeps. That is a guess, and said to be one.
"""

import re
from collections.abc import Iterator

from ttmem.analysis.room.advice import Advice
from ttmem.devices import Kind, Pool
from ttmem.figures.room.run import RoomRun, Row, Rows
from ttmem.recording import Peak

__all__ = ["blocks_of", "kv_advice"]

_SHAPE = re.compile(r"(\d+)x(\d+)x(\d+)x(\d+)\b")
_LEAST_BUFFERS, _LEAST_BLOCKS, _TILE = 4, 2, 32
_CACHE = re.compile(r"kv|cache", re.IGNORECASE)


def kv_advice(run: RoomRun) -> Iterator[Advice]:
    """For chips whose DRAM was at its highest at the same moment with the same cache."""
    peaks = {
        peak.chip: peak
        for peak in run.recording.peaks()
        if peak.is_known and not peak.is_of_gap and peak.pool == Pool.DRAM.number
    }
    groups = run.grouped({chip: peaks[chip][2:] for chip in run.usages if chip in peaks})
    for chips in groups.values():
        advice = _advice(run, chips, peaks[chips[0]])
        if advice is not None:
            yield advice


def _advice(run: RoomRun, chips: list[int], peak: Peak) -> Advice | None:
    rows = Rows(run.peak_moment(peak))
    usage = next(one for one in rows.moment.snapshot.devices if one.device.unique_id == peak.chip)
    found = blocks_of([row for _, row in rows.on(usage.device.number, Pool.DRAM.number)])
    dram = next((one for one in usage.pools if one.pool is Pool.DRAM), None)
    if found is None or dram is None or dram.largest_free_bytes is None or dram.free_bytes is None:
        return None
    blocks, total = found
    per_block = -(-total // blocks)
    more = dram.free_bytes // per_block
    return Advice(
        setting="kv_blocks",
        chips=run.names(chips),
        now=blocks,
        needed=blocks + more,
        arithmetic=f"{total:,} B for {blocks:,} blocks = {per_block:,} B each; {dram.free_bytes:,} B were free at the "
        f"peak of DRAM: room for {more:,} more",
        certainty="inferred",
        why="taken for a KV cache by its shape; how many of its blocks were used is not known, and holes are not "
        "taken into account",
    )


def blocks_of(rows: list[Row]) -> tuple[int, int] | None:
    """The number of blocks of a KV cache and the bytes of all its buffers; None: nothing looks like one."""
    groups: dict[tuple[int, str], list[int]] = {}
    for row in rows:
        shape = _SHAPE.search(row[-4] or "")
        if row[1] != Kind.BUFFER.number or shape is None or not row[5]:
            continue
        blocks, tokens = int(shape[1]), int(shape[3])
        if blocks >= _LEAST_BLOCKS and tokens % _TILE == 0:
            groups.setdefault((blocks, row[-2]), []).append(row[5])
    caches: dict[int, list[int]] = {}
    for (blocks, site), sizes in groups.items():
        if len(sizes) >= _LEAST_BUFFERS or (len(sizes) > 1 and _CACHE.search(site)):
            caches.setdefault(blocks, []).extend(sizes)
    best = max(caches.items(), key=lambda one: sum(one[1]), default=None)
    return (best[0], sum(best[1])) if best is not None else None
