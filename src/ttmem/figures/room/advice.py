"""`ttmem report --advise`: the smallest settings with which this run would have gone through, and the arithmetic."""

from collections.abc import Iterator, Mapping, Sequence

from ttmem.analysis.room.advice import Advice, AdviceReport, Setting, farthest
from ttmem.analysis.room.answers import Certainty
from ttmem.collector.chips import BANK_SIZES
from ttmem.collector.rows.regions import bank_count, core_bytes, pool_bounds
from ttmem.devices import Pool
from ttmem.figures.room.kv import kv_advice
from ttmem.figures.room.run import RoomRun, says_damage
from ttmem.snapshot.incidents import Incident
from ttmem.snapshot.values import replace

__all__ = ["advice_report"]

_REGIONS: tuple[tuple[Setting, Pool, bool], ...] = (
    ("trace_region_size", Pool.TRACE, False),
    ("l1_small_size", Pool.L1_SMALL, True),
)


@says_damage
def advice_report(run: RoomRun) -> AdviceReport:
    """What each chip would have needed; chips that need the same stand together."""
    advice: list[Advice] = []
    for region in _REGIONS:
        advice += _together(run, {chip: _region(run, chip, *region) for chip in run.usages})
    advice += _together(run, {chip: _worker_l1(run, chip) for chip in run.usages})
    advice += kv_advice(run)
    is_whole = not run.recording.lost_record_count
    return AdviceReport(
        path=str(run.recording.path),
        certainty="measured" if is_whole else "at_least",
        why="of this run: another one may need more" if is_whole else "records were lost: it may have needed more",
        advice=tuple(advice),
    )


def _together(run: RoomRun, advised: Mapping[int, Advice | None]) -> Iterator[Advice]:
    for advice, chips in run.grouped({chip: one for chip, one in advised.items() if one is not None}).items():
        yield replace(advice, chips=run.names(chips))


def _region(run: RoomRun, chip: int, setting: Setting, pool: Pool, is_from_top: bool) -> Advice | None:
    device = run.device(chip)
    extent = run.walk.extents.get((chip, pool))
    now, banks = device.capacity(pool) or 0, bank_count(device, pool) or 0
    refused = _refused(run, chip, pool)
    if not now and extent is None and not refused:
        return None
    per_bank = 0
    if extent is not None and extent.lowest is not None and extent.highest is not None:
        edges = (extent.begin, extent.end, extent.lowest, extent.highest)
        per_bank = farthest(*edges, is_from_top=is_from_top)
    if extent is not None and (extent.has_unplaced or not extent.end):
        return _advice(setting, now, None, "", "inferred", "some buffers there did not say where they lie")
    is_total = pool is Pool.TRACE  # the other one is asked for by the bank
    missing = _missing(refused)
    words = f"{per_bank:,} B of each bank were reached"
    if missing and banks:
        per_bank = now // banks + missing
        words = f"{now // banks:,} B of each bank as opened + {missing:,} B that were missing = {per_bank:,} B"
    needed, opened = (per_bank * banks, now) if is_total else (per_bank, now // banks if banks else 0)
    arithmetic = words + (
        f", x {banks} banks = {needed:,} B" if is_total else f"; it is set by the bank, of which there are {banks}"
    )
    certainty, why = _sure(run, refused)
    return _advice(setting, opened, needed, arithmetic, certainty, why)


def _worker_l1(run: RoomRun, chip: int) -> Advice | None:
    """L1 for buffers and circular buffers: what the fullest launch left, or the lowest buffer did, was not needed."""
    device, room = run.device(chip), run.walk.room.get(chip)
    total = core_bytes(device)
    if total is None or not device.kernel_ring_bytes:
        return None
    now = total - device.kernel_ring_bytes
    bounds = pool_bounds(device, Pool.L1, BANK_SIZES.get(device.arch))
    if bounds is None or (room is not None and room.has_unplaced):
        return _advice("worker_l1_size", now, None, "", "inferred", "some buffers did not say where they lie")
    floor, least = (room.floor_address, room.least_bytes) if room else (None, None)
    if floor is None and least is None:
        return None  # nobody used it
    below = (bounds.end if floor is None else floor) - bounds.begin
    left = below if least is None else min(below, least)
    needed = now - left
    arithmetic = f"{now:,} B as opened - {left:,} B that no launch and no buffer needed = {needed:,} B"
    refused = _refused(run, chip, Pool.L1) + _refused(run, chip, Pool.CB)
    if missing := _missing(refused):
        needed = now + missing
        arithmetic = f"{now:,} B as opened + {missing:,} B that were missing = {needed:,} B"
    certainty, why = _sure(run, refused)
    return _advice("worker_l1_size", now, max(0, needed), arithmetic, certainty, why)


def _refused(run: RoomRun, chip: int, pool: Pool) -> list[Incident]:
    name = run.device(chip).uuid
    return [one for _, one in run.incidents if one.memory == pool.word and name in one.device_ids]


def _missing(refused: Sequence[Incident]) -> int:
    """By how much the largest refusal missed in each bank, or a launch below the lowest buffer; 0: not known."""
    found = [0]
    for one in refused:
        if one.requested_per_bank_bytes is not None and one.largest_free_per_bank_bytes is not None:
            found.append(one.requested_per_bank_bytes - one.largest_free_per_bank_bytes)
        if one.cb_end_address is not None and one.lowest_buffer_address is not None:
            found.append(one.cb_end_address - one.lowest_buffer_address)
    return max(found)


def _sure(run: RoomRun, refused: Sequence[Incident]) -> tuple[Certainty, str]:
    if refused:
        return "at_least", "memory ran out there: the run needed more than it got"
    if run.recording.lost_record_count:
        return "at_least", "records were lost: something may have reached farther meanwhile"
    if run.recording.troubles:
        return "at_least", "a part of the recording cannot be read: something may have reached farther meanwhile"
    return "measured", "the farthest that any allocation reached"


def _advice(setting: Setting, now: int, needed: int | None, arithmetic: str, certainty: Certainty, why: str) -> Advice:
    return Advice(
        setting=setting, chips=(), now=now, needed=needed, arithmetic=arithmetic, certainty=certainty, why=why
    )
