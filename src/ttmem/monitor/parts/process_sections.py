"""The lines of the sections of a process's page: what it holds on a chip, a phase, a refusal, a site, an allocation."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from ttmem.devices import PLANNED_POOLS, Pool
from ttmem.monitor.parts.drawing import Pen
from ttmem.monitor.parts.process_list import tight_age_text
from ttmem.snapshot.dump import DumpedAllocation
from ttmem.snapshot.process_detail import Holding, ProcessDetail, SiteSum
from ttmem.snapshot.programs import Clash, OpenPhase, OutOfMemory, PhasePeak
from ttmem.snapshot.usage import PoolUsage, ProcessDevice
from ttmem.snapshot.values import ChipId, ChipName, TimeNs, replace
from ttmem.view.incidents.lines import Told, line_of
from ttmem.view.pages.summary import grouped
from ttmem.view.table import Line, Role, Span, width_of
from ttmem.view.texts import (
    UNKNOWN,
    clock_text,
    count_text,
    devices_word,
    size_text,
    stack_text,
    tight_count_text,
    tight_size_text,
    what_text,
)

__all__ = [
    "NOWHERE",
    "OPEN_RUNS",
    "Sheet",
    "clash_line",
    "device_line",
    "device_titles",
    "holding_line",
    "holding_titles",
    "incident_line",
    "phase_groups",
    "phase_line",
    "phase_titles",
    "refusal_line",
    "sentence_line",
    "site_line",
    "title_line",
    "total_texts",
]

NOWHERE = ChipName(-1, ChipId(0), None, False, "")  # stands for any chip when things are compared
OPEN_RUNS = -1  # instead of how often a phase ended


def phase_groups(detail: ProcessDetail) -> Sequence[Sequence[PhasePeak]]:
    """Peaks that are the same on several chips together."""
    ended = _in_time([phase for phase in detail.process.phases if phase.pool not in PLANNED_POOLS])
    still_open = [peak for phase in detail.process.open_phases for peak in _peaks_so_far(phase, detail)]
    return [
        *grouped(ended, lambda phase: replace(phase, device=NOWHERE, time_ns=None)),
        *grouped(still_open, lambda phase: replace(phase, device=NOWHERE, time_ns=None)),
    ]


def _in_time(phases: list[PhasePeak]) -> list[PhasePeak]:
    """Phases as they came: by when each was first at a peak."""
    first: dict[str, float] = {}
    for phase in phases:
        time_ns = math.inf if phase.time_ns is None else phase.time_ns
        first[phase.name] = min(time_ns, first.get(phase.name, math.inf))
    return sorted(phases, key=lambda phase: first[phase.name])


def _peaks_so_far(phase: OpenPhase, detail: ProcessDetail) -> list[PhasePeak]:
    """Of every pool that is, or was, used since it began; one row without a peak if there is no such pool."""
    times = f" {phase.open_count}x" if phase.open_count > 1 else ""
    name = f"{phase.name}{times} since {clock_text(phase.since_ns)}"
    found = [
        PhasePeak(name, held.device, pool.pool, *figures)
        for held in detail.process.devices
        for pool in held.pools
        if pool.pool not in PLANNED_POOLS and (figures := _so_far(pool, phase))
    ]
    return found or [PhasePeak(name, NOWHERE, min(PLANNED_POOLS), 0, None, OPEN_RUNS)]


def _so_far(pool: PoolUsage, phase: OpenPhase) -> tuple[int, TimeNs | None, int, bool] | None:
    """Peak, when, runs, and whether it is a lower bound."""
    if phase.since_ns is not None and pool.peak_time_ns is not None and pool.peak_time_ns >= phase.since_ns:
        return pool.peak_bytes, pool.peak_time_ns, OPEN_RUNS, pool.is_lower_bound
    return (pool.used_bytes, None, OPEN_RUNS, True) if pool.used_bytes else None


_ROOMY = 110  # columns from which on sizes are written in full
_CHIP, _POOL, _SIZE, _TIGHT = 10, 9, 10, 7
_KERNELS = (Pool.KERNEL, Pool.ETH, Pool.DISPATCH)
_FRAMES = 3  # of a stack, where there is room


class Sheet(NamedTuple):
    """What the lines are written on."""

    width: int
    is_ascii: bool
    time_ns: int
    chips: Mapping[int, ChipName]
    has_addresses: bool = True  # else what a tensor is and who asked has their room

    @property
    def is_roomy(self) -> bool:
        return self.width >= _ROOMY

    @property
    def figure(self) -> int:
        return _SIZE if self.is_roomy else _TIGHT

    def count_text(self, count: int | None) -> str:
        text = count_text(count)
        return text if len(text) < self.figure else tight_count_text(count)

    def size(self, size_bytes: int | None) -> str:
        return (size_text if self.is_roomy else tight_size_text)(size_bytes)


def title_line(title: str, sheet: Sheet) -> Line:
    return Pen().put(f" {title}", Role.HEAD).done()


def device_titles(sheet: Sheet) -> Line:
    pen = Pen().put("   ").left("CHIP", _CHIP, Role.HEAD)
    titles = ("DRAM", "PEAK", "TRACE", "L1", "PEAK", "SMALL", "CB", "KERN", "LAUNCHES" if sheet.is_roomy else "RUNS")
    return _figures(pen, [(title, Role.HEAD) for title in titles], sheet).done()


def device_line(group: Sequence[ProcessDevice], sheet: Sheet) -> Line:
    """All pools of chips on which the same is held: what each of them holds; DRAM and L1 with their peaks."""
    held = group[0]
    pools = {usage.pool: usage for usage in held.pools}
    is_told = held.launch_count is not None
    nothing = 0 if is_told else None

    def used(*wanted: Pool) -> int | None:
        found = [pools[pool].used_bytes for pool in wanted if pool in pools]
        return sum(found) if found else nothing

    def peak(pool: Pool) -> tuple[int | None, str]:
        found = pools.get(pool)
        at_least = (">" if sheet.is_ascii else "≥") if found and (found.is_lower_bound or found.is_read) else ""
        return (found.peak_bytes if found else nothing), at_least

    footprint = held.activity.footprint
    planned = footprint.planned_bytes if footprint else None if Pool.CB in pools else nothing
    sizes = (
        (used(Pool.DRAM), ""),
        peak(Pool.DRAM),
        (used(Pool.TRACE), ""),
        (used(Pool.L1), ""),
        peak(Pool.L1),
        (used(Pool.L1_SMALL), ""),
        (planned, "~" if footprint and footprint.is_estimated else ""),
        (used(*_KERNELS), "~" if any(kernel.is_estimated for kernel in held.kernels) else ""),
    )
    cells = [
        (UNKNOWN if size is None else mark + sheet.size(size), Role.PLAIN if size else Role.DIM) for size, mark in sizes
    ]
    cells.append((sheet.count_text(held.launch_count), Role.DIM))
    return _all_chips(_figures(_chips(Pen().put("   "), group, sheet), cells, sheet), group, sheet).done()


def _figures(pen: Pen, cells: Sequence[tuple[str, Role]], sheet: Sheet) -> Pen:
    """Side by side, as many as there is room for: a number is left out, never cut."""
    for text, role in cells[: max(0, sheet.width - pen.at) // sheet.figure]:
        pen.right(text, sheet.figure, role)
    return pen


def _all_chips(pen: Pen, group: Sequence[ProcessDevice], sheet: Sheet) -> Pen:
    """Which chips they are, behind a line that begins with how many."""
    room = sheet.width - pen.at - 2
    if _chips_text(group) is None and room > _CHIP:
        pen.put("  ").name(devices_word((one.device for one in group), room), room, Role.INDEX, is_ascii=sheet.is_ascii)
    return pen


def total_texts(groups: Sequence[Sequence[ProcessDevice]]) -> Iterator[str]:
    """What only ever grows, pool by pool, on each chip."""
    for group in groups:
        words = [
            f"{usage.pool.word} {size_text(size_bytes)} {total.word}"
            for usage in group[0].shown_pools
            for total, size_bytes in usage.totals
            if size_bytes
        ]
        if words:
            yield f"device {devices_word(one.device for one in group)}: {', '.join(words)}"


def phase_titles(sheet: Sheet) -> Line:
    pen = Pen().put("   ").left("CHIP", _CHIP, Role.HEAD).left("POOL", _POOL, Role.HEAD).right("PEAK", _SIZE, Role.HEAD)
    return pen.right("AT", _SIZE, Role.HEAD).right("RUNS", 9, Role.HEAD).put("  ").put("PHASE", Role.HEAD).done()


def phase_line(group: Sequence[PhasePeak], sheet: Sheet) -> Line:
    phase = group[0]
    at_least = (">=" if sheet.is_ascii else "≥") if phase.is_lower_bound else ""
    is_told = phase.device is not NOWHERE
    peak = at_least + size_text(phase.peak_bytes) if is_told else UNKNOWN
    runs = "open" if phase.run_count == OPEN_RUNS else count_text(phase.run_count)
    pen = _chips(Pen().put("   "), group, sheet) if is_told else Pen().put("   ").left("", _CHIP)
    pen.left(phase.pool.word if is_told else "", _POOL, Role.DIM).right(peak, _SIZE)
    pen.right(clock_text(phase.time_ns), _SIZE, Role.DIM).right(runs, 9, Role.DIM)
    return pen.put("  ").name(phase.name, sheet.width - pen.at - 2, Role.NOTICE, is_ascii=sheet.is_ascii).done()


def refusal_line(group: Sequence[OutOfMemory], sheet: Sheet) -> Line:
    refused = group[0]
    pen = _chips(_when(refused.time_ns), group, sheet).left(refused.pool.word, _POOL, Role.DIM)
    pen.put("asked ", Role.DIM).put(size_text(refused.requested_bytes), Role.FULL)
    pen.put(", free ", Role.DIM).put(size_text(refused.free_bytes))
    return pen.put(", largest ", Role.DIM).put(size_text(refused.largest_free_bytes)).done()


def clash_line(group: Sequence[Clash], sheet: Sheet) -> Line:
    clash = group[0]
    pen = _chips(_when(clash.time_ns), group, sheet)
    pen.put(f"program {clash.program} " if clash.program is not None else "", Role.DIM)
    pen.put(size_text(clash.overlap_bytes), Role.FULL).put(" into the buffer at ", Role.DIM)
    return pen.put(hex(clash.buffer_address)).done()


def _when(time_ns: int) -> Pen:
    return Pen().put("   ").put(clock_text(time_ns), Role.DIM).put("  ")


class OnChip(Protocol):
    """Something that is about a chip."""

    @property
    def device(self) -> ChipName: ...


def _chips(pen: Pen, group: Sequence[OnChip], sheet: Sheet) -> Pen:
    """The chips of which the same is said; how many, where that is too long."""
    return pen.name(_chips_text(group) or f"{len(group)}x", _CHIP, Role.INDEX, is_ascii=sheet.is_ascii)


def _chips_text(group: Sequence[OnChip]) -> str | None:
    """None: too long for the column."""
    text = devices_word(one.device for one in group)
    return text if len(text) < _CHIP else None


def incident_line(one: "Told", sheet: Sheet) -> Line:
    return (Span("  "), *line_of(one, [*sheet.chips.values()], sheet.width - 2, is_ascii=sheet.is_ascii))


def sentence_line(text: str, sheet: Sheet) -> Line:
    return Pen().put("   ").name(text, sheet.width - 3, Role.DIM, is_ascii=sheet.is_ascii).done()


def site_line(site: SiteSum, sheet: Sheet) -> Line:
    pen = Pen().put("   ").right(size_text(site.size_bytes), 8).right(f"{site.count:,}x", 9, Role.DIM).put("  ")
    return pen.name(
        stack_text(site.stack, _FRAMES) or "line not known", sheet.width - pen.at, is_ascii=sheet.is_ascii
    ).done()


def holding_titles(sheet: Sheet) -> Line:
    pen = Pen().put("   ").right("SIZE", 9, Role.HEAD).right("AGE", 6, Role.HEAD).put("  ")
    pen.left("POOL", _POOL, Role.HEAD).left("DEV", 8, Role.HEAD).put(" ")
    if sheet.has_addresses:
        pen.left("ADDRESS", 13, Role.HEAD)
    return pen.put("WHAT", Role.HEAD).done()


def holding_line(holding: Holding, sheet: Sheet) -> Line:
    one = holding.allocation
    size = "view" if one.is_view else ("~" if one.is_estimated else "") + size_text(one.size_bytes)
    pen = Pen().put("   ").right(size, 9, Role.DIM if one.is_view else Role.PLAIN)
    age = UNKNOWN if one.time_ns is None else tight_age_text(max(0, sheet.time_ns - one.time_ns))
    pen.right(age, 6, Role.DIM).put("  ").left(one.pool.word, _POOL, Role.DIM)
    chips = devices_word(sheet.chips[number] for number in holding.devices if number in sheet.chips)
    pen.name(chips if len(chips) <= 8 else f"{len(holding.devices)}x", 8, Role.INDEX, is_ascii=sheet.is_ascii).put(" ")
    if sheet.has_addresses:
        pen.left("" if one.address is None else hex(one.address), 13, Role.DIM)
    room = sheet.width - pen.at
    words = list(_whats(one))
    shown = next((text for text in words if width_of(text) <= room), words[-1])
    return pen.name(shown, room, is_ascii=sheet.is_ascii).done()


def _whats(one: DumpedAllocation) -> Iterator[str]:
    """What it is, and who asked: a kernel's name, or lines and the operation; ever shorter."""
    what = what_text(one) + (f" x{one.holder_count}" if one.holder_count > 1 else "")
    if one.kind.is_kernel or not one.stack:
        yield "  ".join(filter(None, (one.name, what, one.operation)))
        yield "  ".join(filter(None, (one.name, what)))
        yield one.name or what
        return
    for frames, operation in ((_FRAMES, one.operation), (_FRAMES, ""), (1, one.operation), (1, "")):
        yield "  ".join(filter(None, (what, stack_text(one.stack, frames), operation)))
    line = stack_text(one.stack, 1)
    if one.tensor:
        yield f"{one.tensor.removesuffix(' tile')}  {line.partition(' ')[0]}"
    yield line
