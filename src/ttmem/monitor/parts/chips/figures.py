"""The figures of one chip: a meter for DRAM, one for L1, and small figures for who wants to know more.

The meter of L1 is the fullest core now, of what a core has. Where that is not known it is called `L1 buffers`, and
shows L1 buffers of all banks. Counted, read and unknown differ: a figure that was read is marked, an unknown one is no
number.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ttmem.devices import Kind, Pool
from ttmem.monitor.parts.drawing import DrawArea, MonitorFrame, placed, shown_name
from ttmem.monitor.parts.news import ChipNews, chip_news
from ttmem.snapshot.history import LaunchSeries
from ttmem.snapshot.identity import chip_of as driver_chip_of
from ttmem.snapshot.telemetry import ChipTelemetry
from ttmem.snapshot.usage import DeviceUsage, KindUsage, PoolUsage, Snapshot
from ttmem.view.bars import Part, Ticks, meter
from ttmem.view.table import Line, Role, Span, clipped
from ttmem.view.texts import (
    UNKNOWN,
    count_text,
    device_word,
    label_text,
    plural,
    share_text,
    signed_text,
    size_text,
    whole_age_text,
)

__all__ = [
    "NOT_KNOWN",
    "ChipView",
    "Figure",
    "Gauge",
    "chip_views",
    "dram_gauge",
    "figures_of",
    "gauge_line",
    "has_more",
    "l1_gauge",
    "of_text",
    "percent_text",
    "pools_of",
    "share_span",
]

NOT_KNOWN = "not known"
HISTORY_SECONDS = 60
_PERCENT_MOST = 9.995  # beyond it a share is no longer a readable number
Pools = Mapping[Pool, PoolUsage]


class Gauge(NamedTuple):
    """How full a memory of a chip is, and of what."""

    word: str
    used_bytes: int | None
    total_bytes: int | None
    parts: tuple[Part, ...] = ()
    ticks: Ticks = Ticks()
    note: str = ""  # read: by the runtime's own counters; empty for what was counted
    mark: str = ""  # ~ for a sample

    @property
    def share(self) -> float | None:
        return self.used_bytes / self.total_bytes if self.used_bytes is not None and self.total_bytes else None

    def is_over(self, limit: float | None) -> bool:
        """Whether that is beyond the limit of the user."""
        return limit is not None and self.share is not None and self.share >= limit


class Figure(NamedTuple):
    """One small figure: its name, and a size, or words."""

    name: str
    size_bytes: int | None = None
    mark: str = ""  # ~ or >= before the size
    words: str = ""  # instead of a size

    @property
    def value(self) -> str:
        return self.words or (UNKNOWN if self.size_bytes is None else self.mark + signed_text(self.size_bytes))


class ChipView(NamedTuple):
    """What is drawn of one chip, worked out once for all its lines."""

    usage: DeviceUsage
    name: str  # index, or what it is called
    board: str
    dram: Gauge
    l1: Gauge
    samples: tuple[int | None, ...] = ()  # launches of each second of the last minute
    launches: int | None = None  # per second, now
    idle_ns: int | None = None  # since the last launch that was seen
    sensors: ChipTelemetry | None = None
    sensors_word: str = ""  # why there are none
    owner: str = ""  # whose programs run there
    news: ChipNews | None = None
    is_selected: bool = False

    @property
    def number(self) -> int:
        return self.usage.device.number

    @property
    def pools(self) -> Pools:
        return pools_of(self.usage)

    @property
    def mark(self) -> tuple[str, Role]:
        """`?`: its figures are not whole; `+`: something is held beside them."""
        if self.usage.reason:
            return "?", Role.NOTICE
        return ("+", Role.NOTICE) if any(has_more(pool) for pool in self.usage.pools) else (" ", Role.PLAIN)

    @property
    def is_alarming(self) -> bool:
        return self.news is not None and self.news.is_fresh

    @property
    def block_bytes(self) -> int | None:
        """The largest block of DRAM that would still be granted."""
        return _block(Pool.DRAM, self.usage, self.pools)

    @property
    def hole_count(self) -> int | None:
        """Of DRAM: separate free stretches of a bank."""
        found = self.pools.get(Pool.DRAM)
        return found.hole_count if found else None

    @property
    def block_text(self) -> str:
        """`largest block 3.09 GiB`, or `55 holes, largest 38.7 MiB`."""
        block = NOT_KNOWN if self.block_bytes is None else size_text(self.block_bytes)
        if self.hole_count is not None and self.hole_count > 1:
            return f"{self.hole_count:,} holes, largest {block}"
        return f"largest block {block}"

    @property
    def planned_share(self) -> float | None:
        planned, total = self.usage.planned_core_bytes, self.usage.core_bytes
        return planned / total if planned is not None and total else None

    @property
    def planned_text(self) -> str:
        return f"planned {percent_text(self.planned_share)}" if self.planned_share is not None else ""

    @property
    def launches_text(self) -> str:
        return "launches/s not known" if self.launches is None else f"{self.launches:,} launches/s"

    @property
    def idle_text(self) -> str:
        """`idle 14 s`; empty while it runs, or where it was never seen to run."""
        if self.launches or self.idle_ns is None:
            return ""
        return f"idle {whole_age_text(self.idle_ns)}"

    def sensor_texts(self) -> list[str]:
        """Temperature, power, clock, as far as the driver says them."""
        chip = self.sensors
        if chip is None:
            return [self.sensors_word] if self.sensors_word else []
        still = chip.heartbeat_still_seconds
        texts = [] if still is None else [f"heartbeat still for {still} s"]
        texts += [f"{chip.temperature.value:.0f} °C"] if chip.temperature else []
        texts += [f"{chip.power.value:.0f} W"] if chip.power else []
        texts += [f"{chip.aiclk_mhz} MHz"] if chip.aiclk_mhz is not None else []
        return texts


def chip_views(frame: MonitorFrame, selected: int | None = None, *, is_ascii: bool) -> list[ChipView]:
    """All chips of the overview, in its order."""
    overview = frame.overview
    if overview is None:
        return []
    incidents, owners, word = frame.incidents, _owners(overview), _sensors_word(frame, overview)
    series = {one.uuid or one.device: one for one in frame.history.launches} if frame.history else {}
    return [
        _view(frame, usage, series.get(usage.device.uuid or usage.device.number), word, is_ascii=is_ascii)._replace(
            owner=shown_name(owners.get(usage.device.number, ""), is_ascii),
            news=chip_news(incidents, usage, overview.time_ns) if incidents else None,
            is_selected=usage.device.number == selected,
        )
        for usage in overview.devices
    ]


def _view(
    frame: MonitorFrame, usage: DeviceUsage, launches: LaunchSeries | None, word: str, *, is_ascii: bool
) -> ChipView:
    pools = pools_of(usage)
    time_ns = frame.overview.time_ns if frame.overview else 0
    last = launches.launched_time_ns if launches else None
    sensors = driver_chip_of(usage.device, frame.telemetry) if frame.telemetry else None
    return ChipView(
        usage,
        shown_name(device_word(usage.device), is_ascii),
        shown_name(usage.device.board or usage.device.arch, is_ascii),
        dram_gauge(usage, pools),
        l1_gauge(usage, pools),
        launches.samples[-HISTORY_SECONDS:] if launches else (),
        launches.samples[-1] if launches else None,
        None if last is None else max(0, time_ns - last),
        sensors,
        word if sensors is None else "",
    )


def _sensors_word(frame: MonitorFrame, overview: Snapshot) -> str:
    """Why chips have no sensors here: they were not recorded; they are behind others, which the driver has on its bus;
    or which of the driver's they are is not known."""
    if frame.is_recorded:
        return "sensors not recorded"
    if not frame.telemetry:
        return ""
    found = [driver_chip_of(usage.device, frame.telemetry) for usage in overview.devices]
    return "sensors: remote" if all(chip in found for chip in frame.telemetry) else "sensors: unmatched"


def _owners(overview: Snapshot) -> dict[int, str]:
    """Who has each chip: the program and its user, or how many there are."""
    rows: dict[int, list[str]] = {}
    for row in overview.processes:
        if row.is_live:
            for number in row.chips:
                rows.setdefault(number, []).append(f"{label_text(row.label or row.command)} ({row.user})")
    return {
        number: found[0] if len(found) == 1 else plural(len(found), "process", "es") for number, found in rows.items()
    }


def pools_of(usage: DeviceUsage) -> Pools:
    return {pool.pool: pool for pool in usage.pools}


def percent_text(fraction: float | None) -> str:
    """A share in at most 5 characters."""
    return ">999%" if fraction is not None and fraction >= _PERCENT_MOST else share_text(fraction)


def of_text(used_bytes: int | None, total_bytes: int | None) -> str:
    """`8.86 of 11.9 GiB`: the unit once, where it is the same."""
    used, total = size_text(used_bytes), size_text(total_bytes)
    if used_bytes is None or total_bytes is None:
        return " of ".join(NOT_KNOWN if text == UNKNOWN else text for text in (used, total))
    amount, _, unit = used.partition(" ")
    return f"{amount} of {total}" if total.endswith(f" {unit}") else f"{used} of {total}"


def dram_gauge(usage: DeviceUsage, pools: Pools) -> Gauge:
    return _pool_gauge("DRAM", Pool.DRAM, Role.BAR_DRAM, usage, pools)


def l1_gauge(usage: DeviceUsage, pools: Pools) -> Gauge:
    """The fullest core now: kernel code, resident circular buffers and L1 buffers there; a tick at what is planned. How
    the last two share what is in use is exact where buffers take the same of every core."""
    used, total, l1 = usage.fullest_core_bytes, usage.core_bytes, pools.get(Pool.L1)
    if used is None or not total or (l1 and l1.is_read):
        return _pool_gauge("L1 buffers", Pool.L1, Role.BAR_BUFFER, usage, pools)
    footprint = usage.activity.footprint
    ring = min(used, usage.device.kernel_ring_bytes or 0) if usage.kernel_ring_bytes else 0
    resident = min(used - ring, (footprint.worst_resident_bytes or 0) if footprint else 0)
    sizes = (
        (ring, Role.BAR_RING, "K"),
        (resident, Role.BAR_CB, "C"),
        (used - ring - resident, Role.BAR_BUFFER, "B"),
    )
    parts = tuple(Part(size / total, role, "█", letter) for size, role, letter in sizes)
    planned = usage.planned_core_bytes
    return Gauge("L1", used, total, parts, Ticks(planned=planned / total if planned is not None else None))


def _pool_gauge(word: str, pool: Pool, role: Role, usage: DeviceUsage, pools: Pools) -> Gauge:
    found = pools.get(pool)
    total = found.capacity_bytes if found else usage.device.capacity(pool)
    used = usage.used_bytes(pool)
    parts = (Part(used / total, role),) if used and total else ()
    if not found:
        return Gauge(word, used, total, parts)
    peak = found.peak_bytes / total if total and found.peak_bytes > found.used_bytes else None
    note, mark = "read" if found.is_read else "", "~" if found.origin == "sample" else ""
    return Gauge(word, used, total, parts, Ticks(peak=peak), note, mark)


def gauge_line(gauge: Gauge, width: int, area: DrawArea) -> Line:
    """The meter of a memory; words where how much there is of it is not known."""
    if gauge.share is None:
        text = "how much it has is not known" if gauge.used_bytes is not None else "not known"
        return placed((Span(clipped(text, width, is_ascii=area.is_ascii), Role.DIM),), width)
    ticks = gauge.ticks._replace(limit=area.limit)
    return meter(gauge.parts, width, ticks, is_ascii=area.is_ascii, is_marked=area.is_colourless)


def share_span(gauge: Gauge, width: int, area: DrawArea) -> Span:
    """The headline: how full it is, in percent; marked where that is beyond the user's limit."""
    text = percent_text(gauge.share) if gauge.share is not None else ""
    if gauge.is_over(area.limit):
        return Span(f"{'^' if area.is_ascii else '▲'}{text}".rjust(width), Role.HIGH)
    return Span(text.rjust(width), Role.TITLE)


def figures_of(usage: DeviceUsage, *, is_ascii: bool) -> Iterator[Figure]:
    """All small figures of a chip, most wanted first; some only where there is such a thing."""
    pools = pools_of(usage)
    yield Figure("planned core", usage.planned_core_bytes)
    yield Figure("headroom", usage.headroom_bytes)
    yield Figure("L1 buffers", usage.used_bytes(Pool.L1))
    yield Figure("L1 total", _capacity(Pool.L1, usage, pools))
    yield from _circular_figures(usage, pools)
    yield Figure("kernel code", usage.kernel_ring_bytes)
    yield _fullest_core(usage)
    yield Figure("small buffers", usage.used_bytes(Pool.L1_SMALL))
    yield Figure("L1 block", _block(Pool.L1, usage, pools))
    yield _peak("L1 peak", Pool.L1, usage, pools, is_ascii=is_ascii)
    yield Figure("DRAM block", _block(Pool.DRAM, usage, pools))
    yield _peak("DRAM peak", Pool.DRAM, usage, pools, is_ascii=is_ascii)
    yield Figure("trace region", usage.used_bytes(Pool.TRACE))
    yield from _kernel_figures(usage)
    yield from _odd_figures(usage)
    yield Figure("launches in all", words=count_text(usage.launch_count))


def _circular_figures(usage: DeviceUsage, pools: Pools) -> Iterator[Figure]:
    """What cores give up for circular buffers: of the programs that run now, and of all that are loaded."""
    footprint = usage.activity.footprint
    nothing = 0 if Pool.CB not in pools and usage.launch_count is not None else None
    guess = "~" if footprint and footprint.is_estimated else ""
    yield Figure("circular buffers", footprint.resident_bytes if footprint else nothing, guess)
    yield Figure("circular planned", footprint.planned_bytes if footprint else nothing, guess)


def _kernel_figures(usage: DeviceUsage) -> list[Figure]:
    """Kernels by what they are for; an inventory, which takes none of L1 beyond the kernel code."""
    found = {kernel.kind: kernel for kernel in usage.kernels}
    words = [(Kind.KERNEL_APPLICATION, "kernels"), (Kind.KERNEL_FABRIC, "fabric"), (Kind.KERNEL_DISPATCH, "dispatch")]
    if Kind.KERNEL_UNKNOWN in found:
        words.append((Kind.KERNEL_UNKNOWN, "other"))
    is_reported = usage.launch_count is not None
    return [_kernel(word, found.get(kind), is_reported=is_reported) for kind, word in words]


def _kernel(word: str, kernel: KindUsage | None, *, is_reported: bool) -> Figure:
    if kernel is None or not kernel.count:
        return Figure(word, 0 if is_reported else None)
    return Figure(f"{word} ({kernel.count:,})", kernel.used_bytes, "~" if kernel.is_estimated else "")


def has_more(pool: PoolUsage) -> bool:
    """Whether something is held beside what was counted, or by no known process."""
    return pool.read_bytes is not None or bool(pool.stale_bytes or pool.unattributed_bytes)


def _odd_figures(usage: DeviceUsage) -> Iterator[Figure]:
    """What is held beside what was counted, and what no process accounts for: shown where there is such a thing."""
    for pool in usage.pools:
        word = pool.pool.word.upper()
        if pool.read_bytes is not None:
            yield Figure(f"{word} read", pool.read_bytes)
        if pool.stale_bytes:
            yield Figure(f"{word} stale", pool.stale_bytes)
        if pool.unattributed_bytes:
            yield Figure(f"{word} unattributed", pool.unattributed_bytes)


def _peak(name: str, pool: Pool, usage: DeviceUsage, pools: Pools, *, is_ascii: bool) -> Figure:
    found = pools.get(pool)
    at_least = (">=" if is_ascii else "≥") if found and (found.is_lower_bound or found.is_read) else ""
    return Figure(name, found.peak_bytes if found else usage.used_bytes(pool), at_least)


def _capacity(pool: Pool, usage: DeviceUsage, pools: Pools) -> int | None:
    found = pools.get(pool)
    return found.capacity_bytes if found else usage.device.capacity(pool)


def _block(pool: Pool, usage: DeviceUsage, pools: Pools) -> int | None:
    """The largest free block; all there is where nothing was ever allocated and a process reports."""
    found = pools.get(pool)
    if found:
        return found.largest_free_bytes
    return usage.device.capacity(pool) if usage.launch_count is not None else None


def _fullest_core(usage: DeviceUsage) -> Figure:
    """Where the fullest core is."""
    place = usage.fullest_core
    unknown = usage.fullest_core_bytes is None
    return Figure("fullest core", words=UNKNOWN if unknown else f"{place[0]},{place[1]}" if place else "all")


def launches_together(chips: Sequence[ChipView]) -> tuple[int | None, ...]:
    """Launches of all chips, second by second; None where nothing is known of any."""
    columns = zip(*(chip.samples for chip in chips if chip.samples), strict=False)
    return tuple([_sum(column) for column in columns])


def _sum(column: Sequence[int | None]) -> int | None:
    known = [value for value in column if value is not None]
    return sum(known) if known else None
