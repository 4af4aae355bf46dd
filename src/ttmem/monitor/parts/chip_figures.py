"""The figures of one chip: a gauge for DRAM, one for L1, and small figures that say what those are made of.

The gauge of L1 is the fullest core now, of what a core has. Where that is not known the gauge is called `L1 buf`, and
shows L1 buffers of all banks. Counted, read and unknown differ: a figure that was read is marked, an unknown one is no
number.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ttmem.devices import Kind, Pool
from ttmem.monitor.parts.drawing import shown_name
from ttmem.snapshot.usage import DeviceUsage, KindUsage, PoolUsage
from ttmem.view.bars import Part
from ttmem.view.device_tables import device_word
from ttmem.view.screen import level_of, level_role
from ttmem.view.table import Role
from ttmem.view.texts import UNKNOWN, Sample, share_text, signed_text, tight_count_text

__all__ = [
    "MOST_BESIDE",
    "ChipCard",
    "Figure",
    "Gauge",
    "Swatch",
    "beside_figures",
    "chip_of",
    "dense_figures_of",
    "dram_gauge",
    "figure_count",
    "figures_of",
    "has_more",
    "l1_gauge",
    "percent_text",
    "pools_of",
]

_ALWAYS = 18  # figures that every chip has
MOST_BESIDE = 2  # figures beside a bar
# In this order, by their names in figures_of: first of DRAM, then of L1.
_BESIDE = (("peak", ("DRAM peak", "L1 peak")), ("block", ("DRAM block", "L1 block")))
_DENSE_ORDER = (
    *("planned", "headroom", "L1 buffers", "CBs now", "CBs planned", "L1_SMALL"),
    *("app", "fabric", "dispatch", "untyped", "trace"),
    *("DRAM block", "L1 block", "kernel ring", "DRAM peak", "L1 peak", "L1 total"),
)
_PLACES = {name: place for place, name in enumerate(_DENSE_ORDER)}
_PERCENT_MOST = 9.995  # beyond it a share is no longer a readable number
Pools = Mapping[Pool, PoolUsage]


class Swatch(NamedTuple):
    """How a part of L1 is drawn in its bar, and named beside its figure."""

    role: Role
    mark: str
    ascii_mark: str


BUFFERS = Swatch(Role.BAR_BUFFER, "█", "#")
RING = Swatch(Role.BAR_RING, "█", "k")
CBS = Swatch(Role.BAR_CB, "█", "c")
PLANNED = Swatch(Role.BAR_PLANNED, "▒", ":")


class Gauge(NamedTuple):
    """How full a memory of a chip is."""

    word: str
    used_bytes: int | None
    total_bytes: int | None
    peak_fraction: float
    parts: tuple[Part, ...]  # of L1; empty: the bar is of one piece
    note: str = ""  # read; empty for what was counted
    mark: str = ""  # ~ for a sample
    history_bytes: int | None = None  # what fills the height of its history: all of the sampled pool

    @property
    def fraction(self) -> float | None:
        return self.used_bytes / self.total_bytes if self.used_bytes is not None and self.total_bytes else None

    @property
    def word_beside(self) -> str:
        """In words what the colour says, or where the figure is from."""
        return self.note or level_of(self.fraction)

    @property
    def role(self) -> Role:
        return Role.NOTICE if self.note else level_role(self.fraction)


class Figure(NamedTuple):
    """One small figure: its name, long and short, and a size, or words; written out only when it is drawn."""

    name: str
    short: str
    size_bytes: int | None = None
    mark: str = ""  # ~ or >= before the size
    swatch: Swatch | None = None
    role: Role = Role.PLAIN
    words: str = ""  # instead of a size
    column: str = ""  # its title in a table, if that is not the short name
    least: str = ""  # its name where even the short one is too long

    @property
    def title(self) -> str:
        return self.column or self.short

    @property
    def value(self) -> str:
        return self.words or (UNKNOWN if self.size_bytes is None else self.mark + signed_text(self.size_bytes))

    @property
    def tight(self) -> str:
        return self.value.replace(" ", "").removesuffix("iB") if self.size_bytes is not None else self.value


def pools_of(usage: DeviceUsage) -> Pools:
    return {pool.pool: pool for pool in usage.pools}


def percent_text(fraction: float | None) -> str:
    """A share in at most 5 characters."""
    return ">999%" if fraction is not None and fraction >= _PERCENT_MOST else share_text(fraction)


def dram_gauge(usage: DeviceUsage, pools: Pools) -> Gauge:
    return _pool_gauge("DRAM", Pool.DRAM, usage, pools)


def l1_gauge(usage: DeviceUsage, pools: Pools) -> Gauge:
    """The fullest core now: kernel ring, buffers and resident circular buffers there; then what is planned beyond. How
    the last two share what is in use is exact where buffers take the same of every core."""
    used, total, l1 = usage.fullest_core_bytes, usage.core_bytes, pools.get(Pool.L1)
    if used is None or not total or (l1 and l1.is_read):
        return _pool_gauge("L1 buf", Pool.L1, usage, pools)
    footprint = usage.activity.footprint
    ring = min(used, usage.device.kernel_ring_bytes or 0) if usage.kernel_ring_bytes else 0
    resident = min(used - ring, (footprint.worst_resident_bytes or 0) if footprint else 0)
    planned = max(0, (usage.planned_core_bytes or 0) - used)
    sizes = ((used - ring - resident, BUFFERS), (ring, RING), (resident, CBS), (planned, PLANNED))
    parts = tuple(Part(size / total, *swatch) for size, swatch in sizes)
    return Gauge("L1", used, total, 0.0, parts, history_bytes=_capacity(Pool.L1, usage, pools))


def _pool_gauge(word: str, pool: Pool, usage: DeviceUsage, pools: Pools) -> Gauge:
    found = pools.get(pool)
    if not found:
        total = usage.device.capacity(pool)
        return Gauge(word, usage.used_bytes(pool), total, 0.0, (), history_bytes=total)
    total = found.capacity_bytes
    peak = max(found.peak_bytes, found.used_bytes) / total if total else 0.0
    note, mark = "read" if found.is_read else "", "~" if found.origin == "sample" else ""
    return Gauge(word, usage.used_bytes(pool), total, peak, (), note, mark, total)


def figures_of(usage: DeviceUsage, pools: Pools, *, is_ascii: bool) -> Iterator[Figure]:
    """All small figures of a chip, most wanted first; some only where there is such a thing."""
    yield from _core_figures(usage)
    yield from _l1_figures(usage, pools)
    yield from _kernel_figures(usage)
    yield _sized("L1_SMALL", "small", usage.used_bytes(Pool.L1_SMALL))
    yield _sized("L1 block", "L1 blk", _block(Pool.L1, usage, pools))
    yield _peak("L1 peak", Pool.L1, usage, pools, is_ascii=is_ascii, column="L1 peak")
    yield _sized("trace", "trace", usage.used_bytes(Pool.TRACE))
    yield _sized("DRAM block", "DRAM blk", _block(Pool.DRAM, usage, pools), column="D block")
    yield _peak("DRAM peak", Pool.DRAM, usage, pools, is_ascii=is_ascii, column="D peak")
    yield _sized("L1 total", "L1 total", _capacity(Pool.L1, usage, pools), role=Role.DIM)
    yield _fullest_core(usage)
    yield from _odd_figures(usage)
    yield Figure("launches", "launch", words=tight_count_text(usage.launch_count), role=Role.DIM)


def dense_figures_of(usage: DeviceUsage, pools: Pools, *, beside: int, is_ascii: bool) -> list[Figure]:
    """All of them where room is scarce: the most important first, and without those that stand beside the bars: so many
    of each, the peak and the largest block."""
    shown = {name for _, names in _BESIDE[:beside] for name in names}
    figures = [figure for figure in figures_of(usage, pools, is_ascii=is_ascii) if figure.name not in shown]
    return sorted(figures, key=lambda figure: _PLACES.get(figure.name.partition(" (")[0], len(_PLACES)))


def beside_figures(usage: DeviceUsage, pools: Pools, pool: Pool, *, beside: int, is_ascii: bool) -> list[Figure]:
    """What stands beside the bar of a memory: its peak, then its largest free block."""
    peak = _peak("peak", pool, usage, pools, is_ascii=is_ascii, column="pk")
    return [peak, _sized("block", "block", _block(pool, usage, pools), column="blk")][:beside]


def figure_count(usage: DeviceUsage) -> int:
    """How many figures a chip has, without working them out."""
    odd = sum((p.read_bytes is not None) + bool(p.stale_bytes) + bool(p.unattributed_bytes) for p in usage.pools)
    return _ALWAYS + odd + any(kernel.kind is Kind.KERNEL_UNKNOWN for kernel in usage.kernels)


def _l1_figures(usage: DeviceUsage, pools: Pools) -> list[Figure]:
    footprint = usage.activity.footprint
    is_quiet = Pool.CB not in pools and usage.launch_count is not None
    resident = footprint.resident_bytes if footprint else 0 if is_quiet else None
    planned = footprint.planned_bytes if footprint else 0 if is_quiet else None
    guess = "~" if footprint and footprint.is_estimated else ""
    return [
        _sized("L1 buffers", "L1 buf", usage.used_bytes(Pool.L1), BUFFERS),
        _sized("CBs now", "CB now", resident, CBS, mark=guess, least="now"),
        _sized("CBs planned", "CB plan", planned, PLANNED, mark=guess, least="plan"),
        _sized("kernel ring", "ring", usage.kernel_ring_bytes, RING),
    ]


def _kernel_figures(usage: DeviceUsage) -> list[Figure]:
    """Kernels by what they are for; an inventory, which takes none of L1 beyond the ring."""
    found = {kernel.kind: kernel for kernel in usage.kernels}
    words = [(Kind.KERNEL_APPLICATION, "app"), (Kind.KERNEL_FABRIC, "fabric"), (Kind.KERNEL_DISPATCH, "dispatch")]
    if Kind.KERNEL_UNKNOWN in found:
        words.append((Kind.KERNEL_UNKNOWN, "untyped"))
    is_reported = usage.launch_count is not None
    return [_kernel(word, found.get(kind), is_reported=is_reported) for kind, word in words]


def _kernel(word: str, kernel: KindUsage | None, *, is_reported: bool) -> Figure:
    short = word[:4] if len(word) > 6 else word
    if kernel is None or not kernel.count:
        return Figure(word, short, 0 if is_reported else None, role=Role.DIM, column=short)
    mark, count = "~" if kernel.is_estimated else "", tight_count_text(kernel.count)
    least = f"{word[:3]} {tight_count_text(kernel.count, digits=3)}"
    return Figure(f"{word} ({count})", f"{short} {count}", kernel.used_bytes, mark, column=short, least=least)


def has_more(pool: PoolUsage) -> bool:
    """Whether something is held beside what was counted, or by no known process."""
    return pool.read_bytes is not None or bool(pool.stale_bytes or pool.unattributed_bytes)


def _odd_figures(usage: DeviceUsage) -> list[Figure]:
    """What is held beside what was counted, and what no process accounts for: shown where there is such a thing."""
    figures = []
    for pool in usage.pools:
        word = pool.pool.word.upper()
        if pool.read_bytes is not None:
            figures.append(_sized(f"{word} read", "read", pool.read_bytes, role=Role.NOTICE))
        if pool.stale_bytes:
            figures.append(_sized(f"{word} stale", "stale", pool.stale_bytes, role=Role.HIGH))
        if pool.unattributed_bytes:
            figures.append(_sized(f"{word} unattr", "unattr", pool.unattributed_bytes, role=Role.HIGH))
    return figures


def _sized(
    name: str,
    short: str,
    size_bytes: int | None,
    swatch: Swatch | None = None,
    *,
    role: Role = Role.PLAIN,
    mark: str = "",
    column: str = "",
    least: str = "",
) -> Figure:
    return Figure(name, short, size_bytes, mark, swatch, role if size_bytes else Role.DIM, column=column, least=least)


def _peak(name: str, pool: Pool, usage: DeviceUsage, pools: Pools, *, is_ascii: bool, column: str) -> Figure:
    found = pools.get(pool)
    at_least = (">=" if is_ascii else "≥") if found and (found.is_lower_bound or found.is_read) else ""
    peak = found.peak_bytes if found else usage.used_bytes(pool)
    return _sized(name, name, peak, mark=at_least, column=column)


def _capacity(pool: Pool, usage: DeviceUsage, pools: Pools) -> int | None:
    found = pools.get(pool)
    return found.capacity_bytes if found else usage.device.capacity(pool)


def _block(pool: Pool, usage: DeviceUsage, pools: Pools) -> int | None:
    """The largest free block; all there is where nothing was ever allocated and a process reports."""
    found = pools.get(pool)
    if found:
        return found.largest_free_bytes
    return usage.device.capacity(pool) if usage.launch_count is not None else None


def _core_figures(usage: DeviceUsage) -> list[Figure]:
    """The fullest core with the circular buffers of all loaded programs, and how far those are from the buffers."""
    planned, total, headroom = usage.planned_core_bytes, usage.core_bytes, usage.headroom_bytes
    role = level_role(planned / total) if planned is not None and total else Role.DIM
    is_over = headroom is not None and headroom < 0
    return [
        Figure("planned", "planned", planned, role=role),
        Figure("headroom", "headroom", headroom, role=Role.FULL if is_over else Role.PLAIN, least="headr"),
    ]


def _fullest_core(usage: DeviceUsage) -> Figure:
    """Where the fullest core is."""
    place = usage.fullest_core
    words = UNKNOWN if usage.fullest_core_bytes is None else f"{place[0]},{place[1]}" if place else "all"
    return Figure("fullest core", "core", words=words, role=Role.DIM)


class ChipCard(NamedTuple):
    """What is drawn of one chip, worked out once for all its lines."""

    usage: DeviceUsage
    name: str  # index, or what it is called
    dram: Gauge
    l1: Gauge
    dram_samples: Sequence[Sample]
    l1_samples: Sequence[Sample]
    is_selected: bool = False
    refused: Role | None = None  # it had an incident

    def figures(self, *, is_ascii: bool) -> Iterator[Figure]:
        return figures_of(self.usage, pools_of(self.usage), is_ascii=is_ascii)

    def dense_figures(self, *, beside: int, is_ascii: bool) -> Iterator[Figure]:
        return iter(dense_figures_of(self.usage, pools_of(self.usage), beside=beside, is_ascii=is_ascii))

    def beside(self, pool: Pool, count: int, *, is_ascii: bool) -> list[Figure]:
        return beside_figures(self.usage, pools_of(self.usage), pool, beside=count, is_ascii=is_ascii)

    def named(self, width: int) -> str:
        """Numbers end below each other, names begin there."""
        return self.name.rjust(width) if self.name.isdigit() else self.name

    @property
    def mark(self) -> tuple[str, Role]:
        """`!`: an incident, or its figures are not whole; `+`: something is held beside them, which cards show."""
        if self.refused is not None and (self.refused is Role.FULL or not self.usage.reason):
            return "!", self.refused
        if self.usage.reason:
            return "!", Role.HIGH
        return ("+", Role.NOTICE) if any(has_more(pool) for pool in self.usage.pools) else (" ", Role.PLAIN)

    @property
    def index_role(self) -> Role:
        return Role.SELECTED if self.is_selected else Role.INDEX


def chip_of(
    usage: DeviceUsage, samples: tuple[Sequence[Sample], Sequence[Sample]], *, is_selected: bool, is_ascii: bool
) -> ChipCard:
    pools = pools_of(usage)
    name = shown_name(device_word(usage.device), is_ascii)
    return ChipCard(usage, name, dram_gauge(usage, pools), l1_gauge(usage, pools), *samples, is_selected)
