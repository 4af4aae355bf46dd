"""Maps and kernels of chips, made up: as any chip could have them, for screens and documents."""

from itertools import pairwise
from typing import Any

from hypothesis import strategies as st

from tests.support.simulated.figures import KIB, MIB, NOON_NS
from tests.support.simulated.overviews import a_chip, some_activity
from ttmem.collector.chip_maps import chip_map_of
from ttmem.devices import BinaryStatus, Kind, Pool
from ttmem.snapshot import DeviceUsage
from ttmem.snapshot.chip_map import ChipMap
from ttmem.snapshot.kernel_table import KernelRow, KernelTable
from ttmem.snapshot.values import Hex, replace
from ttmem.tracking import CoreType, FoundBy

L1_BASE, L1_END, DRAM_BASE = 105_824, 1_499_136, 1_048_640
NO_POOL: tuple[Any, ...] = (0, 0, 0, 0, 0, 0, 0, [])
_NAMES = st.text(max_size=30) | st.just("ttnn/cpp/ttnn/operations/eltwise/unary/device/kernels/reader_unary.cpp")


def a_pool_row(*spans: tuple[int, int], unplaced: int = 0) -> tuple[Any, ...]:
    """A row of `Ledger.chip` about one pool, with an allocation in each of these spans; they must not touch."""
    spans = tuple(sorted(spans))
    holes = [later[0] - earlier[1] for earlier, later in pairwise(spans)]
    used = sum(end - begin for begin, end in spans)
    lowest, highest = (spans[0][0], spans[-1][1]) if spans else (0, 0)
    stretches = [(begin, end, 1, 0) for begin, end in spans]
    return (unplaced, len(spans), used, lowest, highest, max(holes, default=0), len(holes), stretches)


def some_chip_rows(**changes: Any) -> dict[str, Any]:
    """Rows of `Ledger.chip`: nothing anywhere, but for what is given."""
    rows: dict[str, Any] = {"time_ns": NOON_NS, "pools": [NO_POOL] * 4, "cores": [], "worst": 0}
    rows |= {"planned": [], "resident": [], "buffers": 0, "followed": True, "estimated": False}
    return {**rows, **changes}


def a_map_device(**changes: Any) -> DeviceUsage:
    """A chip whose pools lie as the wheel lays them out, with a ring that is in use."""
    capacities: list[int | None] = [None] * len(Pool)
    capacities[Pool.DRAM] = 12 * ((1 << 30) - DRAM_BASE)
    capacities[Pool.L1] = 64 * (L1_END - L1_BASE)
    chip = a_chip(0, capacity_bytes=tuple(capacities), **changes)
    return DeviceUsage(chip, (), (), launch_count=3, activity=some_activity())


def a_map(**changes: Any) -> ChipMap:
    """A chip with something of everything: its fullest core is 3,2."""
    buffers = (L1_END - 300 * KIB, L1_END - 200 * KIB), (L1_END - 100 * KIB, L1_END)
    rows = some_chip_rows(
        pools=[
            a_pool_row((DRAM_BASE, 200 * MIB), (500 * MIB, 700 * MIB), (900 * MIB, 901 * MIB)),
            NO_POOL,
            a_pool_row(*buffers),
            NO_POOL,
        ],
        cores=[(0, 0, 264 * KIB, 64 * KIB, 0), (3, 2, 456 * KIB, 256 * KIB, 96 * KIB)],
        worst=1,
        planned=[(L1_BASE, L1_BASE + 256 * KIB)],
        resident=[(L1_BASE, L1_BASE + 96 * KIB)],
        buffers=200 * KIB,
    )
    return replace(chip_map_of(a_map_device(), rows), **changes)


@st.composite
def spans(draw: st.DrawFn, begin: int, end: int) -> tuple[tuple[int, int], ...]:
    """Ranges within a region that do not touch."""
    places = sorted(draw(st.sets(st.integers(begin, end), max_size=12)))
    return tuple((low, high) for low, high in zip(places[::2], places[1::2], strict=False))


@st.composite
def maps(draw: st.DrawFn) -> ChipMap:
    """Any chip: any grid, any fill, allocations anywhere, also where none could be."""
    grid = draw(st.none() | st.tuples(st.integers(1, 14), st.integers(1, 12)))
    arch = draw(st.sampled_from(["wormhole_b0", "blackhole", "grendel"]))
    usage = a_map_device(grid=grid, arch=arch, open_count=draw(st.integers(0, 1)), board=draw(st.text(max_size=8)))
    unplaced = draw(st.integers(0, 1))
    pools = [
        a_pool_row(*draw(spans(DRAM_BASE, 1 << 30)), unplaced=unplaced),
        a_pool_row(*draw(spans(1 << 29, 1 << 34))),
        a_pool_row(*draw(spans(L1_BASE, L1_END))),
        a_pool_row(*draw(spans(0, 1 << 48))),
    ]
    cores = draw(
        st.lists(st.tuples(st.integers(0, 13), st.integers(0, 11), *[st.integers(0, 1 << 22)] * 3), max_size=9)
    )
    planned = draw(spans(L1_BASE, L1_END))
    rows = some_chip_rows(
        pools=pools,
        cores=cores,
        planned=list(planned),
        resident=list(planned[:1]),
        buffers=draw(st.integers(0, 1 << 21)),
        followed=draw(st.booleans()),
        estimated=draw(st.booleans()),
    )
    return chip_map_of(usage, rows)


def a_kernel_row(number: int = 0, **changes: Any) -> KernelRow:
    row = KernelRow(
        pid=4_001,
        program=7 + number,
        id=Hex(100 + number),
        name=f"reader_{number}",
        kind=Kind.KERNEL_APPLICATION,
        found_by=FoundBy.OWNER,
        core_type=CoreType.TENSIX,
        binary_bytes=2_048 + number,
        packed_bytes=(1_020 + number, 1_004),
        core_count=64,
        exact_bytes=(50 + number) * KIB,
        binary_times_cores_bytes=(60 + number) * KIB,
        status=BinaryStatus.COMMITTED,
        launch_count=12 + number,
        time_ns=NOON_NS,
        operation="ttnn.matmul",
    )
    return replace(row, **changes)


def a_kernel_table(count: int = 5, **changes: Any) -> KernelTable:
    rows = tuple(a_kernel_row(number) for number in range(count))
    table = KernelTable(
        time_ns=NOON_NS, device=a_chip(0), rows=rows, more_count=0, activity=some_activity(), launch_count=99
    )
    return replace(table, **changes)


_MAYBE = st.none() | st.integers(0, 1 << 42)


@st.composite
def kernel_tables(draw: st.DrawFn) -> KernelTable:
    """Anything that a ledger could say of kernels."""
    rows = st.builds(
        KernelRow,
        pid=st.integers(1, 1 << 22),
        program=_MAYBE,
        id=st.integers(0, (1 << 64) - 1).map(Hex),
        name=_NAMES,
        kind=st.sampled_from([kind for kind in Kind if kind.is_kernel]),
        found_by=st.sampled_from(FoundBy),
        core_type=st.sampled_from(CoreType),
        binary_bytes=_MAYBE,
        packed_bytes=st.lists(st.integers(0, 1 << 32), max_size=3).map(tuple),
        core_count=st.none() | st.integers(1, 65_535),
        exact_bytes=_MAYBE,
        binary_times_cores_bytes=_MAYBE,
        status=st.none() | st.sampled_from(BinaryStatus),
        launch_count=_MAYBE,
        time_ns=st.none() | st.just(NOON_NS),
        operation=_NAMES,
    )
    return a_kernel_table(
        rows=tuple(draw(st.lists(rows, max_size=6))),
        more_count=draw(st.integers(0, 9)),
        reason=draw(st.sampled_from(["", "outrun"])),
        launch_count=draw(_MAYBE),
    )
