"""Overviews as any machine could give them, for properties of screens: odd names, huge sizes, unknowns, all origins."""

from hypothesis import strategies as st

from tests.support.simulated.figures import NOON_NS
from tests.support.simulated.overviews import a_chip, a_device_usage, a_pool, a_row, an_overview, some_findings
from tests.support.simulated.random_rows import COUNTS, FLAGS, SIZES, TEXTS
from ttmem.devices import Kind, Pool
from ttmem.snapshot import Activity, Footprint, KindUsage, PoolUsage, TimeNs
from ttmem.snapshot.host import Foreign
from ttmem.snapshot.usage import DeviceUsage, ProcessUsage, Snapshot
from ttmem.snapshot.values import Device, replace

MAYBE_SIZES = st.none() | SIZES
MAYBE_COUNTS = st.none() | COUNTS
ORIGINS = st.sampled_from(["counted", "counter", "read", "sample"])
POOLS = st.lists(st.sampled_from(list(Pool)), unique=True, max_size=5)


@st.composite
def pools(draw: st.DrawFn) -> tuple[PoolUsage, ...]:
    return tuple(
        a_pool(
            pool,
            draw(SIZES),
            peak_bytes=draw(SIZES),
            capacity_bytes=draw(MAYBE_SIZES),
            is_lower_bound=draw(FLAGS),
            origin=draw(ORIGINS),
            largest_free_bytes=draw(MAYBE_SIZES),
            read_bytes=draw(MAYBE_SIZES),
            stale_bytes=draw(MAYBE_SIZES),
        )
        for pool in draw(POOLS)
    )


@st.composite
def kinds(draw: st.DrawFn) -> tuple[KindUsage, ...]:
    found = draw(st.lists(st.sampled_from([kind for kind in Kind if kind.is_kernel]), unique=True, max_size=4))
    return tuple(KindUsage(kind, draw(SIZES), draw(COUNTS), draw(FLAGS)) for kind in found)


@st.composite
def chips(draw: st.DrawFn, number: int) -> Device:
    return draw(
        st.sampled_from(
            [
                a_chip(number),
                a_chip(number, board=draw(TEXTS), grid=None, kernel_ring_bytes=None),
                Device.bare(number, None, index=number, name=f"server:{number}"),
                Device.bare(number, 77 + number, index=None, name=""),
            ]
        )
    )


@st.composite
def device_usages(draw: st.DrawFn, number: int) -> DeviceUsage:
    footprint = Footprint(draw(SIZES), draw(MAYBE_SIZES), draw(SIZES), draw(MAYBE_SIZES), draw(FLAGS))
    return DeviceUsage(
        draw(chips(number)),
        draw(pools()),
        draw(kinds()),
        launch_count=draw(MAYBE_COUNTS),
        activity=Activity(footprint=draw(st.none() | st.just(footprint))),
        doubt=draw(st.sampled_from(["", "damaged"])),
        planned_core_bytes=draw(MAYBE_SIZES),
        planned_core=draw(st.none() | st.just((7, 11))),
        core_bytes=draw(MAYBE_SIZES),
    )


@st.composite
def process_rows(draw: st.DrawFn, key: int) -> ProcessUsage:
    return a_row(
        key,
        pid=draw(st.integers(1, 1 << 22)),
        parent_pid=draw(st.none() | st.integers(1, 9)),
        is_visible=draw(FLAGS),
        user=draw(TEXTS),
        label=draw(TEXTS),
        command=draw(TEXTS),
        source=draw(st.sampled_from(["journal", "socket", "runtime"])),
        state=draw(st.sampled_from(["live", "stale", "ended"])),
        origin=draw(st.sampled_from(["counted", "read", "unknown"])),
        start_time_ns=draw(st.none() | st.integers(0, NOON_NS).map(TimeNs)),
        launch_count=draw(MAYBE_COUNTS),
        live_count=draw(MAYBE_COUNTS),
        pools=draw(pools()),
        reason=draw(st.sampled_from(["", "outrun"])),
        findings=some_findings(draw(st.integers(0, 3))),
    )


@st.composite
def overviews(draw: st.DrawFn) -> Snapshot:
    """A few odd chips and processes, and many plain ones."""
    odd = [draw(device_usages(number)) for number in range(draw(st.integers(0, 2)))]
    plain = [a_device_usage(number) for number in range(len(odd), draw(st.integers(len(odd), 32)))]
    rows = [draw(process_rows(key)) for key in range(1, 1 + draw(st.integers(0, 2)))]
    rows += [a_row(key) for key in range(len(rows) + 1, draw(st.integers(len(rows) + 1, 40)))]
    foreign = (Foreign("/dev/shm/ttmem-1001", 1001, draw(TEXTS)),) if draw(FLAGS) else ()
    return replace(an_overview(0, 0), devices=(*odd, *plain), processes=tuple(rows), foreign=foreign)
