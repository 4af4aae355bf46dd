"""Tables about devices: every pool of every chip with its bar, and the kernels of every chip by type.

Where room is scarce, chips of a mesh on which exactly the same is held share their rows.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import zip_longest
from types import MappingProxyType

from ttmem.devices import Kind, Pool
from ttmem.snapshot import DeviceUsage, Footprint, KindUsage, PoolUsage
from ttmem.snapshot.values import Device, replace
from ttmem.view.bars import bar
from ttmem.view.screen import level_of, level_role
from ttmem.view.table import Cell, Column, Line, Role, Span, cell, clean, clipped, table
from ttmem.view.texts import UNKNOWN, count_text, devices_word, share_text, signed_text, size_text

_COUNT_MOST = 999  # of kernels, where four types of them hardly fit side by side
_WIDE = 112  # from here on there is room for the columns that matter less
_NONE: Mapping[str, Role] = MappingProxyType({})
_IN_L1 = (Pool.L1, Pool.L1_SMALL, Pool.CB)
_KERNELS = (Kind.KERNEL_APPLICATION, Kind.KERNEL_FABRIC, Kind.KERNEL_DISPATCH, Kind.KERNEL_UNKNOWN)


Group = tuple[DeviceUsage, ...]  # devices that are shown as one; figures are those of each


def alone(devices: Sequence[DeviceUsage]) -> list[Group]:
    """Every device for itself."""
    return [(usage,) for usage in devices]


def alike(devices: Sequence[DeviceUsage]) -> list[Group]:
    """Devices on which the same is held, together."""
    groups: dict[object, list[DeviceUsage]] = {}
    for usage in devices:
        device = usage.device
        if device.index is None:
            groups[device] = [usage]
            continue
        pools = tuple(replace(pool, peak_time_ns=None, since_ns=None) for pool in _listed(usage))
        chip = (device.is_server_chip, device.board, device.arch, device.grid)
        core = (usage.fullest_core_bytes, usage.planned_core_bytes, usage.headroom_bytes, usage.core_bytes)
        what = (chip, pools, usage.kernels, usage.launch_count, usage.activity, usage.doubt, usage.trace_bytes, core)
        groups.setdefault(what, []).append(usage)
    return [tuple(group) for group in groups.values()]


def _listed(usage: DeviceUsage) -> list[PoolUsage]:
    """Pools in which something lies, or lay."""
    return [pool for pool in usage.pools if not pool.is_untouched]


def device_table(
    groups: Sequence[Group], *, width: int | None, is_ascii: bool, refused: Mapping[str, Role] = _NONE
) -> list[Line]:
    """Device x pool: used of capacity as a bar and in numbers, and the peak; `refused`: chips with incidents, by id."""
    is_wide = width is None or width >= _WIDE
    columns = [
        Column("DEVICE", least=13),
        Column("POOL", least=8),
        Column("", least=8, most=40 if width else 24),
        Column("USED", is_right=True, least=8),
        Column("CAPACITY", is_right=True),
        Column("", least=9),
        Column("PEAK", is_right=True, least=9),
        Column("REQUESTED", is_right=True, wide_from=_WIDE),
        Column("LARGEST FREE", is_right=True, wide_from=_WIDE),
    ]
    rows: list[list[Cell]] = []
    for group in groups:
        lines = _usage_lines(group[0], is_ascii)
        names = _device_lines(group, 18 if is_wide else 11, is_ascii, refused)[: max(2, len(lines))]
        for name, cells in zip_longest(names, lines):
            rows.append([name or (), *(cells or _empty_cells())])
    return table(columns, rows, width=width)


def _usage_lines(usage: DeviceUsage, is_ascii: bool) -> list[list[Cell]]:
    """The cells of every pool; what was read beside what was counted has a line of its own."""
    lines: list[list[Cell]] = []
    headline = _core_lines(usage, is_ascii)
    for pool in _listed(usage):
        if pool.pool in _IN_L1:
            lines, headline = lines + headline, []
        lines.append(_pool_cells(pool, usage, is_ascii))
        if pool.pool is Pool.DRAM and usage.trace_bytes:
            lines.append([cell("  traces", Role.DIM), (), cell(size_text(usage.trace_bytes)), (), (), (), (), ()])
        if pool.read_bytes is not None:
            lines.append(_beside_cells(pool))
    if not lines or (usage.doubt and not _listed(usage)):
        return [_empty_cells(UNKNOWN if usage.doubt else "nothing")]
    return lines


def _core_lines(usage: DeviceUsage, is_ascii: bool) -> list[list[Cell]]:
    """How full L1 is: the fullest core now; below it the same with all loaded programs, and what is left for others."""
    if usage.fullest_core_bytes is None and usage.activity.footprint is None:
        return []
    share = usage.fullest_core_share
    bars = () if share is None else partial(_bar, share, share, is_ascii=is_ascii)
    now = [_maybe(size_text(usage.fullest_core_bytes)), _maybe(size_text(usage.core_bytes))]
    shares = cell(f"{share_text(share):>4} {level_of(share)}", level_role(share)) if share is not None else ()
    lines: list[list[Cell]] = [[cell("fullest core"), bars, *now, shares, (), (), ()]]
    if usage.activity.footprint is not None:
        for word, text in (
            ("planned", size_text(usage.planned_core_bytes)),
            ("headroom", signed_text(usage.headroom_bytes)),
        ):
            lines.append([cell(f"  {word}", Role.DIM), (), _maybe(text), (), (), (), (), ()])
    return lines


def kernel_table(groups: Sequence[Group], *, width: int | None) -> list[Line]:
    """Device x kernel type: bytes on all cores, and how many kernels."""
    kernels = [kernel for usage, *_ in groups for kernel in usage.kernels]
    has_unknown = any(kernel.kind is Kind.KERNEL_UNKNOWN for kernel in kernels)
    kinds = _KERNELS if has_unknown else _KERNELS[:3]
    titles = (kind.kernel_word.upper() for kind in kinds)
    is_wide = width is None or width >= _WIDE
    is_tight = has_unknown and not is_wide
    has_counts = not is_tight or all(kernel.count <= _COUNT_MOST for kernel in kernels)
    columns = [
        Column("KERNELS", least=9 if is_tight else 13),
        *(Column(title, is_right=True, least=12 if is_tight else 13) for title in titles),
        Column("LAUNCHES", is_right=True, least=8 if is_tight else 9),
        Column("RING", is_right=True, least=9, wide_from=_WIDE),
    ]
    rows = []
    for group in groups:
        usage = group[0]
        found = {kernel.kind: kernel for kernel in usage.kernels}
        is_told = usage.launch_count is not None
        cells = [_kernel_cell(found.get(kind), has_counts=has_counts, is_told=is_told) for kind in kinds]
        launches, ring = count_text(usage.launch_count), size_text(usage.kernel_ring_bytes)
        rows.append([_title(group), *cells, _maybe(launches), _maybe(ring)])
    return table(columns, rows, width=width, gap=1 if is_tight else 2)


def device_title(devices: Sequence[Device], mark: Role | None = None) -> Line:
    """What devices that are shown as one are called: their numbers, `!` if something is wrong, the first's board."""
    name = clean(devices[0].board or devices[0].arch)
    marked = (Span("!", mark),) if mark is not None else ()
    return (Span(devices_word(devices), Role.INDEX), *marked, Span(f" {name}" if name else ""))


def _title(group: Group, refused: Mapping[str, Role] = _NONE) -> Line:
    """An incident of a minute ago matters more than figures that are not whole, and an old one less."""
    devices = [usage.device for usage in group]
    marks = {refused.get(device.uuid or device.name) for device in devices} if refused else set()
    doubt = Role.HIGH if group[0].reason else Role.DIM if Role.DIM in marks else None
    return device_title(devices, Role.FULL if Role.FULL in marks else doubt)


def _device_lines(group: Group, width: int, is_ascii: bool, refused: Mapping[str, Role]) -> list[Line]:
    """What a device is called, most telling first."""
    device = group[0].device
    cores = f"{device.grid[0]}x{device.grid[1]} cores" if device.grid else ""
    name = _short_id(device, width, is_ascii) if len(group) == 1 else f"{len(group)} alike"
    details = [name, clean(device.arch), cores]
    return [_title(group, refused), *(cell(f"  {text}", Role.DIM) for text in details if text)]


def _short_id(device: Device, width: int, is_ascii: bool) -> str:
    uuid = device.uuid or ""
    if len(uuid) <= width:
        return uuid
    mark = "~" if is_ascii else "…"
    return "0x" + mark + uuid[-(width - 3) :]  # the end tells chips of one board apart


def _pool_cells(usage: PoolUsage, chip: DeviceUsage, is_ascii: bool) -> list[Cell]:
    if usage.pool is Pool.CB and chip.activity.footprint:
        return _cb_cells(usage, chip.activity.footprint)
    if usage.is_read and not usage.capacity_bytes:
        return _read_cells(usage, is_ascii)
    share = None if usage.is_planned or usage.known_bytes is None else usage.share
    is_past_cb = usage.pool is Pool.CB and not usage.count  # only the sum over programs is left, which would mislead
    is_lost_cb = usage.pool is Pool.CB and all(one.pool is not Pool.CB for one in chip.shown_pools)
    at_least = (">=" if is_ascii else "≥") if usage.is_lower_bound else ""
    has_level = usage.pool not in _IN_L1 or chip.fullest_core_share is None  # else the fullest core has it
    return [
        cell(usage.pool.word),
        _bar_cell(usage, is_ascii, has_level=has_level),
        _maybe(UNKNOWN if is_lost_cb else size_text(usage.known_bytes)),
        _maybe(size_text(usage.capacity_bytes)),
        _share_cell(usage, share, has_level=has_level),
        _maybe(UNKNOWN) if is_past_cb or is_lost_cb else cell(at_least + size_text(usage.peak_bytes)),
        () if usage.is_planned else _maybe(size_text(usage.requested_bytes)),
        () if usage.is_planned else _maybe(size_text(usage.largest_free_bytes)),
    ]


def _share_cell(usage: PoolUsage, share: float | None, *, has_level: bool) -> Line:
    if usage.is_planned:
        return cell("planned", Role.DIM)
    level, role = (level_of(share), level_role(share)) if has_level else ("", Role.PLAIN)
    return cell(f"{share_text(share):>4} {'read' if usage.is_read else level}", Role.DIM if share is None else role)


def _cb_cells(usage: PoolUsage, footprint: Footprint) -> list[Cell]:
    """What cores give up for circular buffers: never their sum over programs, which lie on top of each other."""
    mark = "~" if footprint.is_estimated else ""
    resident = size_text(footprint.resident_bytes)
    return [
        cell(usage.pool.word),
        lambda width: cell(f"{resident} resident" if width >= len(resident) + 9 else resident, Role.DIM),
        cell(mark + size_text(footprint.planned_bytes)),
        _maybe(size_text(usage.capacity_bytes)),
        cell("planned", Role.DIM),
        _maybe(UNKNOWN),  # the highest union was not watched, and that of the sums would mislead
        (),
        (),
    ]


def _read_cells(usage: PoolUsage, is_ascii: bool) -> list[Cell]:
    """What the stock runtime's counters say of a chip whose capacity is not known."""
    at_least = ">=" if is_ascii else "≥"
    is_sample = usage.origin == "sample"
    return [
        cell(usage.pool.word),
        lambda width: cell(clipped("sample" if is_sample else "read", width, is_ascii=is_ascii), Role.NOTICE),
        cell(("~" if is_sample else "") + size_text(usage.used_bytes)),
        _maybe(UNKNOWN),
        cell("read", Role.NOTICE),
        cell(at_least + size_text(usage.peak_bytes)),
        _maybe(size_text(usage.requested_bytes)),
        _maybe(UNKNOWN),
    ]


def _beside_cells(usage: PoolUsage) -> list[Cell]:
    """What processes hold that do not report: not in the figures above it."""
    return [
        cell(usage.pool.word),
        cell("and read", Role.NOTICE),
        cell(size_text(usage.read_bytes)),
        (),
        cell("read", Role.NOTICE),
        *([()] * 3),
    ]


def _bar_cell(usage: PoolUsage, is_ascii: bool, *, has_level: bool) -> Cell:
    if usage.is_planned:
        return lambda width: cell(clipped(f"{count_text(usage.count)} alive", width, is_ascii=is_ascii), Role.DIM)
    if not usage.capacity_bytes:
        return lambda width: cell(clipped("no capacity", width, is_ascii=is_ascii), Role.DIM)
    peak = max(usage.peak_bytes, usage.used_bytes) / usage.capacity_bytes
    role = None if has_level else Role.BAR_BUFFER
    return partial(_bar, usage.used_bytes / usage.capacity_bytes, peak, is_ascii=is_ascii, role=role)


def _bar(fraction: float, peak_fraction: float, width: int, *, is_ascii: bool, role: Role | None = None) -> Line:
    return bar(fraction, peak_fraction, width, is_ascii=is_ascii, role=role)


def _empty_cells(word: str = "") -> list[Cell]:
    return [(), cell(word, Role.DIM), *([()] * 6)]


def _maybe(text: str) -> Line:
    return cell(text, Role.DIM if text == UNKNOWN else Role.PLAIN)


def _kernel_cell(usage: KindUsage | None, *, has_counts: bool, is_told: bool) -> Line:
    if usage is None or not usage.count:
        return cell("none" if is_told else UNKNOWN, Role.DIM)
    mark = "~" if usage.is_estimated else ""
    size = f"{mark}{size_text(usage.used_bytes)}"
    return (Span(f"{size} "), Span(f"({usage.count:,})", Role.DIM)) if has_counts else cell(size)
