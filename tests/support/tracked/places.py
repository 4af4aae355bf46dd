"""What lies where on the chips of the runtime model, by its allocator's own block tables, against what is shown."""

from collections.abc import Iterable, Iterator
from itertools import pairwise

from ttmem.devices import BufferType, Pool
from ttmem.metal import MeshDevice
from ttmem.metal.programs.core_ranges import ROW_BITS
from ttmem.snapshot import DeviceUsage, Snapshot
from ttmem.snapshot.chip_map import ChipMap, Space

TYPES = {
    Pool.DRAM: BufferType.DRAM,
    Pool.TRACE: BufferType.TRACE,
    Pool.L1: BufferType.L1,
    Pool.L1_SMALL: BufferType.L1_SMALL,
}
Span = tuple[int, int]


def place_differences(snapshot: Snapshot, meshes: Iterable[MeshDevice]) -> list[str]:
    """Largest free blocks and fullest cores that are shown otherwise than they are, one line for each."""
    usages: dict[int, DeviceUsage] = {usage.device.unique_id: usage for usage in snapshot.devices}
    return [
        f"chip {chip.unique_id:#x}, {text}"
        for mesh in meshes
        for place, chip in enumerate(mesh.chips)
        for text in _differences(usages[chip.unique_id], mesh, place)
    ]


def _differences(usage: DeviceUsage, mesh: MeshDevice, place: int) -> Iterator[str]:
    for pool in usage.pools:
        if pool.pool not in TYPES:
            continue
        _, largest_bytes, _ = bank_figures(mesh, place, pool.pool)
        told = pool.largest_free_bytes, pool.largest_free_bank_bytes
        true = largest_bytes * mesh.allocator.statistics(TYPES[pool.pool]).bank_count, largest_bytes
        if told != true:
            yield f"{pool.pool.word}: largest free {told}, true {true}"
    fills = core_fills(mesh, place)
    if usage.planned_core_bytes != max(fills.values()):
        yield f"worst core {usage.planned_core_bytes}, true {max(fills.values())}"
    if usage.planned_core is not None and fills[usage.planned_core] != usage.planned_core_bytes:
        yield f"worst core {usage.planned_core} has {fills[usage.planned_core]}, told {usage.planned_core_bytes}"


def core_fills(mesh: MeshDevice, place: int) -> dict[tuple[int, int], int]:
    """Every worker core of a chip by x and y: what is taken of it, address by address, and its kernel ring."""
    chip = mesh.chips[place]
    buffers = [span for pool in (Pool.L1, Pool.L1_SMALL) for span in taken_blocks(mesh, pool)]
    regions = [region for account in mesh.chip_accounts[place] for region in account.footprint.regions]
    on_cores = core_blocks(mesh, place)
    columns, rows = chip.grid
    known: dict[tuple[Span, ...], int] = {}  # cores with the same on them are measured once
    fills = {}
    for y in range(rows):
        for x in range(columns):
            own = tuple((start, end) for start, end, mask in regions if mask >> (y * ROW_BITS + x) & 1)
            own += tuple(on_cores.get((x, y), ()))
            if own not in known:
                known[own] = chip.kernel_ring_bytes + _union_bytes([*buffers, *own])
            fills[x, y] = known[own]
    return fills


def core_blocks(mesh: MeshDevice, place: int) -> dict[tuple[int, int], list[Span]]:
    """What buffers that are allocated by core take of each core of a chip."""
    found: dict[tuple[int, int], list[Span]] = {}
    for buffer in mesh.buffers.values():
        placement = buffer.placement
        if placement.cores:
            for core, address in zip(placement.cores, placement.core_addresses[place], strict=True):
                found.setdefault(core, []).append((address, address + placement.block_bytes))
    return found


def bank_figures(mesh: MeshDevice, place: int, pool: Pool) -> tuple[int, int, int]:
    """Of a bank: what is taken, the largest free stretch, and how many there are.

    The allocator's own figures; with buffers that are allocated by core, what is free on all cores of the chip.
    """
    on_cores = core_blocks(mesh, place) if pool is Pool.L1 else {}
    statistics = mesh.allocator.statistics(TYPES[pool])
    if not on_cores:
        holes = sum(not block.is_allocated for block in mesh.allocator.blocks(TYPES[pool]))
        return statistics.allocated_bytes, statistics.largest_free_bytes, holes
    base = mesh.allocator.base_address(TYPES[pool])
    end = base + statistics.bank_bytes
    taken = _joined([*taken_blocks(mesh, pool), *(span for spans in on_cores.values() for span in spans)])
    free = [later - earlier for (_, earlier), (later, _) in pairwise([(base, base), *taken, (end, end)])]
    return _union_bytes(taken), max(free), sum(size > 0 for size in free)


def taken_blocks(mesh: MeshDevice, pool: Pool) -> list[Span]:
    """What buffers take of each bank."""
    base = mesh.allocator.base_address(TYPES[pool])
    return [
        (base + block.offset_bytes, base + block.offset_bytes + block.size_bytes)
        for block in mesh.allocator.blocks(TYPES[pool])
        if block.is_allocated
    ]


def map_differences(chip: ChipMap, mesh: MeshDevice, place: int) -> list[str]:
    """What a map shows otherwise than it is."""
    found: list[str] = []
    for space in (chip.dram, chip.l1):
        assert space is not None
        assert space.is_complete
        found += _space_differences(space, mesh, place)
    fills = core_fills(mesh, place)
    told = {(core.x, core.y): core.used_bytes for core in chip.cores}
    if told != fills:
        found.append(f"cores {told}, true {fills}")
    return found


def _space_differences(space: Space, mesh: MeshDevice, place: int) -> Iterator[str]:
    if [stretch.begin for stretch in space.stretches[1:]] + [space.end] != [one.end for one in space.stretches]:
        yield f"{space.name}: there are gaps in {space.stretches}"
    for region in space.regions:
        base = mesh.allocator.base_address(TYPES[region.pool])
        bank_bytes = mesh.allocator.statistics(TYPES[region.pool]).bank_bytes
        told = region.begin, region.end, region.used_bytes, region.largest_free_bytes, region.hole_count
        true = base, base + bank_bytes, *bank_figures(mesh, place, region.pool)
        if told != true:
            yield f"{region.pool.word}: {told}, true {true}"
    kinds = ("buffer", "small", "trace")
    drawn = _joined((one.begin, one.end) for one in space.stretches if one.kind in kinds)
    spans = [span for region in space.regions for span in taken_blocks(mesh, region.pool)]
    if any(region.pool is Pool.L1 for region in space.regions):
        spans += [span for own in core_blocks(mesh, place).values() for span in own]
    held = _joined(spans)
    if drawn != held:
        yield f"{space.name}: drawn {drawn}, true {held}"


def _union_bytes(spans: Iterable[Span]) -> int:
    return sum(end - begin for begin, end in _joined(spans))


def _joined(spans: Iterable[Span]) -> list[Span]:
    joined: list[Span] = []
    for begin, end in sorted(spans):
        if joined and begin <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        elif end > begin:
            joined.append((begin, end))
    return joined
