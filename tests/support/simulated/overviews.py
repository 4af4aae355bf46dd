"""Sights made up from whole cloth: chips and processes as any machine could show them, for screens and documents.

Figures differ from chip to chip and from process to process, so that one shown in the wrong place is noticed.
"""

from typing import Any

from tests.support.simulated.figures import GIB, HOST, KIB, MIB, NOON_NS
from ttmem.devices import BufferLayout, Kind, Pool
from ttmem.snapshot import Activity, Footprint, Hex, KindUsage, Mesh, OpenPhase, PhasePeak, PoolUsage, RingUsage, TimeNs
from ttmem.snapshot.dump import DumpedAllocation, Owner
from ttmem.snapshot.history import History, Series
from ttmem.snapshot.host import Finding
from ttmem.snapshot.process_detail import Holding, ProcessDetail, SiteSum
from ttmem.snapshot.programs import Clash, OutOfMemory
from ttmem.snapshot.usage import DeviceUsage, ProcessDevice, ProcessUsage, Snapshot
from ttmem.snapshot.values import Device, replace
from ttmem.tracking import CoreType, FoundBy

SECOND_NS = 1_000_000_000
USERS = ("ada", "grace", "linus")
LABELS = ("llama-70b prefill", "resnet50", "whisper-large-v3 service", "notebook")


def ago(seconds: float) -> TimeNs:
    """A moment before noon."""
    return TimeNs(NOON_NS - int(seconds * SECOND_NS))


def some_findings(count: int) -> tuple[Finding, ...]:
    """So many that a process is charged with, all of one kind."""
    return (Finding("double_free", count, pid=4001),) if count else ()


def a_chip(number: int = 0, **changes: Any) -> Device:
    """A chip of an n300 that one process has open."""
    capacities: list[int | None] = [None] * len(Pool)
    capacities[Pool.DRAM] = 12 * GIB
    capacities[Pool.TRACE] = 64 * MIB
    capacities[Pool.L1] = 64 * 1_393_312
    capacities[Pool.L1_SMALL] = 64 * 32 * KIB
    bare = Device.bare(number, 0x0100_0145_1170_3060 + number, index=number, name="")
    chip = replace(
        bare,
        arch="wormhole_b0",
        board="n300",
        grid=(8, 8),
        dram_bank_count=12,
        l1_bank_count=64,
        kernel_ring_bytes=70_656,
        capacity_bytes=tuple(capacities),
        open_count=1,
    )
    return replace(chip, **changes)


def a_pool(pool: Pool, used_bytes: int, **changes: Any) -> PoolUsage:
    """A pool of which everything was counted, half as much again at its highest."""
    usage = PoolUsage(
        pool=pool,
        used_bytes=used_bytes,
        requested_bytes=used_bytes - used_bytes // 64,
        count=1 + used_bytes // (64 * MIB),
        peak_bytes=used_bytes + used_bytes // 5,
        peak_time_ns=ago(9),
        is_lower_bound=False,
        origin="counted",
        since_ns=ago(300),
    )
    return replace(usage, **changes)


def some_kernels(number: int = 0) -> tuple[KindUsage, ...]:
    return (
        KindUsage(Kind.KERNEL_APPLICATION, (120 + number) * KIB, 5 + number, is_estimated=False),
        KindUsage(Kind.KERNEL_FABRIC, 112 * KIB, 2, is_estimated=True),
        KindUsage(Kind.KERNEL_DISPATCH, 92 * KIB, 2, is_estimated=False),
    )


def some_activity(number: int = 0) -> Activity:
    footprint = Footprint((21 + number) * MIB, (9 + number) * MIB, 336 * KIB, 144 * KIB, is_estimated=False)
    ring = RingUsage(CoreType.TENSIX, 24 * KIB, 12 * KIB, 3, 1_204, 70_656)
    return Activity(footprint=footprint, rings=(ring,))


def a_device_usage(number: int = 0, **changes: Any) -> DeviceUsage:
    """A chip with a little of everything on it; the higher its number, the fuller."""
    chip = a_chip(number)
    kernels = some_kernels(number)
    inventory = sum(kernel.used_bytes or 0 for kernel in kernels)
    held = {
        Pool.DRAM: (1 + 2 * (number % 6)) * GIB + number * 16 * MIB,
        Pool.TRACE: (3 + number % 50) * MIB,
        Pool.L1: (20 + 11 * (number % 6)) * MIB,
        Pool.L1_SMALL: (200 + number) * KIB,
        Pool.CB: (30 + number) * MIB,
        Pool.KERNEL: inventory,
    }
    pools = tuple(a_pool(pool, used, capacity_bytes=chip.capacity(pool)) for pool, used in held.items())
    usage = DeviceUsage(chip, pools, kernels, launch_count=1_204 + number, activity=some_activity(number))
    return replace(usage, **changes)


def a_row(key: int = 1, **changes: Any) -> ProcessUsage:
    """A process that reports by journal."""
    held = {
        Pool.DRAM: (1 + key % 7) * GIB + key * MIB,
        Pool.L1: (4 + key % 9) * MIB,
        Pool.CB: (2 + key % 5) * MIB,
        Pool.KERNEL: (300 + key) * KIB,
    }
    row = ProcessUsage(
        key=key,
        pid=4000 + key,
        parent_pid=1,
        is_visible=True,
        source="journal",
        uid=1000 + key % len(USERS),
        user=USERS[key % len(USERS)],
        label=LABELS[key % len(LABELS)],
        command=f"python serve.py --job {key}",
        container=None,
        state="live",
        origin="counted",
        reason="",
        start_time_ns=ago(60 + 61 * key),
        live_count=40 + key,
        chips=(key % 4,),
        pools=tuple(a_pool(pool, used, since_ns=None) for pool, used in held.items()),
        kinds=some_kernels(key),
        launch_count=100 * key,
    )
    return replace(row, **changes)


def an_overview(chips: int = 4, processes: int = 3, **changes: Any) -> Snapshot:
    """So many chips, so many processes, each on some of the chips."""
    rows = tuple(
        a_row(key, chips=tuple(sorted({(key + step) % chips for step in range(1 + key % 4)})) if chips else ())
        for key in range(1, processes + 1)
    )
    overview = Snapshot(
        time_ns=NOON_NS,
        source="daemon pid 812",
        places=("/dev/shm/ttmem-1000",),
        host=HOST,
        devices=tuple(a_device_usage(number) for number in range(chips)),
        processes=rows,
        foreign=(),
        findings=(),
    )
    return replace(overview, **changes)


def a_history(overview: Snapshot, seconds: int = 60) -> History:
    """A sample every second of DRAM and L1 of every chip, rising to what is used now."""
    series = tuple(
        Series(usage.device.number, usage.device.uuid, pool.pool, pool.capacity_bytes, _rising(pool, seconds))
        for usage in overview.devices
        for pool in usage.pools
        if pool.pool in (Pool.DRAM, Pool.L1)
    )
    return History(end_ns=overview.time_ns, interval_ns=TimeNs(SECOND_NS), series=series, marks=())


def _rising(usage: PoolUsage, seconds: int) -> tuple[int | None, ...]:
    first = seconds // 6  # nobody looked yet
    steps = range(1, seconds - first + 1)
    return (None,) * first + tuple(usage.used_bytes * step // len(steps) for step in steps)


def an_allocation(number: int = 0, **changes: Any) -> DumpedAllocation:
    one = DumpedAllocation(
        kind=Kind.BUFFER,
        pool=Pool.DRAM if number % 3 else Pool.L1,
        id=Hex(1_000 + number),
        address=Hex(0x20_0000 + number * 0x1000),
        program=None,
        name="",
        stack=(f"model.py:{40 + number} attention", "serve.py:12 main"),
        core_type=CoreType.UNKNOWN,
        found_by=FoundBy.UNKNOWN,
        packed_bytes=(),
        size_bytes=(900 - number) * MIB,
        requested_bytes=(899 - number) * MIB,
        page_bytes=2048,
        layout=BufferLayout.INTERLEAVED,
        core_count=None,
        holder_count=1,
        is_view=False,
        is_estimated=False,
        time_ns=ago(5 + number),
        thread=4001,
        owner=Owner(4001, "ada", "llama-70b prefill"),
    )
    return replace(one, **changes)


def a_detail(holdings: int = 8, **changes: Any) -> ProcessDetail:
    """A process on two chips, with something in every list."""
    process = a_detailed_process()
    largest = tuple(Holding((number % 2,), an_allocation(number)) for number in range(holdings))
    detail = ProcessDetail(
        time_ns=NOON_NS,
        process=process,
        largest=largest,
        oldest=tuple(reversed(largest)),
        more_count=max(0, (process.live_count or 0) - holdings),
        sites=tuple(SiteSum((f"model.py:{40 + at} attention",), (900 - at) * MIB, 1 + at) for at in range(3)),
    )
    return replace(detail, **changes)


def a_detailed_process(**changes: Any) -> ProcessUsage:
    """The process of a detail."""
    row = a_row(1, chips=(0, 1))
    chips = [a_chip(number).as_name() for number in row.chips]
    held = [ProcessDevice(chip, row.pools, row.kinds, 50, some_activity(), clash_count=1) for chip in chips]
    process = replace(
        row,
        has_details=True,
        devices=tuple(held),
        phases=(
            PhasePeak("prefill", chips[0], Pool.DRAM, 5 * GIB, ago(40), 3),
            PhasePeak("decode", chips[1], Pool.L1, 31 * MIB, ago(4), 64, is_lower_bound=True),
        ),
        open_phases=(OpenPhase("sampling", ago(3), 1),),
        out_of_memory=(OutOfMemory(chips[0], Pool.L1, 40 * MIB, 48 * MIB, 13 * MIB, ago(20)),),
        clashes=(Clash(chips[1], 7, 0x9_8000, 0x9_0000, ago(10)),),
        meshes=(Mesh(Hex(1), 1, 2, tuple(chips)),),
        findings=some_findings(2),
    )
    return replace(process, **changes)
