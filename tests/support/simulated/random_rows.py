"""Rows as any ledger could hand them out, for properties: every table, every word, odd texts and sizes."""

from typing import Any

from hypothesis import strategies as st

from tests.support.flat_rows.processes import snapshot_from_rows
from tests.support.simulated.figures import a_device, a_process, an_incident, an_unknown_device, context, some_rows
from ttmem.snapshot import Finding, Foreign, Snapshot

SIZES = st.integers(0, 1 << 50)
COUNTS = st.integers(0, 1 << 40)
TIMES = st.integers(0, 4_000_000_000 * 1_000_000_000)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
REQUESTS = SIZES | st.just(-1)
FLAGS = st.booleans()
POOLS = st.integers(0, 9)
CORE_TYPES = st.integers(0, 4)
REASONS = st.sampled_from(
    ["outrun", "targets_lost", "unknown_device", "table_full", "damaged", "settling", "restored", ""]
)

MAYBE_SIZES = st.none() | SIZES
HEADROOMS = st.tuples(
    st.none() | st.integers(-(1 << 40), 1 << 40), MAYBE_SIZES, MAYBE_SIZES, MAYBE_SIZES, COUNTS, st.just(((1, 12),))
)


@st.composite
def devices(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Up to three: chips, chips of the allocation server's protocol, and targets nobody opened."""
    rows = []
    for number in range(draw(st.integers(0, 3))):
        what = draw(st.sampled_from(["chip", "seed", "unknown"]))
        if what == "chip":
            capacities = tuple(draw(st.lists(SIZES, min_size=10, max_size=10)))
            grid = draw(st.sampled_from([(0, 0), (8, 8), (1, 140)]))
            index = draw(st.integers(-1, 40))
            board, ring = draw(TEXTS), draw(COUNTS)
            rows.append(
                a_device(number, index=index, grid=grid, board=board, capacities=capacities, kernel_ring_bytes=ring)
            )
        elif what == "seed":
            rows.append({**an_unknown_device(number), "index": number, "name": f"server:{number}"})
        else:
            rows.append(an_unknown_device(number))
    return rows


@st.composite
def processes(draw: st.DrawFn) -> list[dict[str, Any]]:
    return [
        a_process(
            key,
            pid=draw(st.integers(1, 1 << 22)),
            uid=draw(st.integers(0, 1 << 32)),
            label=draw(TEXTS),
            command=draw(TEXTS),
            path=draw(TEXTS),
            pid_namespace=draw(st.sampled_from([0, 4_026_531_836, 4_026_532_999])),
            state=draw(st.sampled_from(["live", "ended"])),
            visible=draw(FLAGS),
            complete=draw(FLAGS),
            reason=draw(REASONS),
            origin=draw(st.sampled_from(["counted", "counter"])),
            started_ns=draw(TIMES),
            last_event_ns=draw(TIMES),
            events=draw(COUNTS),
            lost_records=draw(COUNTS),
            findings=draw(st.dictionaries(st.sampled_from(["replaced", "double_free", "two_sources"]), COUNTS)),
            source=draw(st.sampled_from(["journal", "socket"])),
            claimed_pid=draw(st.integers(0, 1 << 22)),
        )
        for key in range(1, 1 + draw(st.integers(0, 3)))
    ]


@st.composite
def incidents(draw: st.DrawFn, numbers: list[int]) -> dict[str, Any]:
    """A row of an incident; whatever may be unknown is so now and then."""
    row = an_incident(
        draw(COUNTS),
        kind=draw(st.integers(1, 3)),
        pool=draw(POOLS),
        devices=tuple(draw(st.sets(st.sampled_from(numbers)) if numbers else st.just(()))),
        time_ns=draw(TIMES),
        text=draw(TEXTS),
    )
    for name in draw(st.sets(st.sampled_from(["requested_bytes", "free_bytes", "site", "phase", "entry_count"]))):
        row[name] = None
    return row


@st.composite
def with_incidents(draw: st.DrawFn, owner: dict[str, Any], numbers: list[int]) -> dict[str, Any]:
    """A process to which something may have been refused."""
    kept = draw(st.lists(incidents(numbers), max_size=2))
    return {**owner, "incidents": kept, "incident_count": len(kept) + draw(COUNTS)}


@st.composite
def snapshots(draw: st.DrawFn) -> Snapshot:
    """A snapshot that some ledger could have made."""
    chips, owners = draw(devices()), draw(processes())
    places = [(owner["key"], chip["number"]) for owner in owners for chip in chips]

    def some(*columns: Any, key_length: int) -> list[tuple[Any, ...]]:
        """Rows for some processes and devices; those with one key only once."""
        if not places:
            return []
        rows = draw(st.lists(st.tuples(st.sampled_from(places), *columns), max_size=6))
        return list({row[: key_length - 1]: (*row[0], *row[1:]) for row in rows}.values())

    def pools() -> list[tuple[Any, ...]]:
        return some(POOLS, SIZES, REQUESTS, COUNTS, SIZES, TIMES, FLAGS, key_length=3)

    numbers = [chip["number"] for chip in chips]
    owners = [draw(with_incidents(owner, numbers)) for owner in owners]
    device_pools = {
        (number, pool): (number, pool, *draw(st.tuples(SIZES, REQUESTS, COUNTS, SIZES, TIMES, TIMES, FLAGS)))
        for number, pool in draw(
            st.lists(st.tuples(st.sampled_from(numbers), POOLS), max_size=6) if numbers else st.just([])
        )
    }
    phases = some(POOLS, SIZES, TIMES, COUNTS, FLAGS, TEXTS, key_length=9)
    rows = some_rows(
        time_ns=draw(TIMES),
        devices=chips,
        device_pools=list(device_pools.values()),
        device_kinds=[(chip, kind, 5, 1, True) for chip in numbers for kind in draw(st.sets(POOLS, max_size=3))],
        processes=owners,
        process_pools=pools(),
        process_kinds=some(POOLS, SIZES, COUNTS, FLAGS, key_length=3),
        other_pools=pools(),
        other_kinds=some(POOLS, SIZES, COUNTS, FLAGS, key_length=3),
        launches=some(COUNTS, key_length=2),
        programs=some(COUNTS, st.integers(0, 5), COUNTS, SIZES, TEXTS, key_length=3),
        phases=[(key, name, *rest) for key, *rest, name in phases],
        open_phases=[(key, *rest) for key, _, *rest in some(TEXTS, TIMES, COUNTS, key_length=5)],
        out_of_memory=some(POOLS, SIZES, SIZES, SIZES, TIMES, key_length=7),
        clashes=some(COUNTS, SIZES, SIZES, TIMES, key_length=6),
        clash_counts=some(COUNTS, key_length=2),
        meshes=[(key, number, 1, 1, (chip,)) for key, chip, number in some(COUNTS, key_length=3)],
        device_cores=[(chip, core, 7, 2, False) for chip in numbers for core in draw(st.sets(CORE_TYPES, max_size=2))],
        process_cores=some(CORE_TYPES, SIZES, COUNTS, FLAGS, key_length=3),
        footprints=some(SIZES, SIZES, SIZES, SIZES, FLAGS, FLAGS, key_length=2),
        rings=some(CORE_TYPES, SIZES, SIZES, COUNTS, COUNTS, SIZES, key_length=3),
        stalls=some(st.integers(1, 6), COUNTS, key_length=3),
        caches=some(CORE_TYPES, *[COUNTS] * 6, SIZES, SIZES, key_length=3),
        spaces=[
            (chip, pool, *draw(st.tuples(st.integers(0, 1), COUNTS, SIZES, SIZES, SIZES, SIZES, COUNTS)))
            for chip in numbers
            for pool in range(4)
        ],
        worst_cores=[(chip, *draw(st.tuples(FLAGS, CORE_TYPES, CORE_TYPES, SIZES))) for chip in numbers],
        headrooms=[(chip, *draw(HEADROOMS)) for chip in numbers if draw(FLAGS)],
        damaged=draw(st.lists(st.tuples(TEXTS, TEXTS), max_size=2)),
    )
    foreign = tuple(draw(st.lists(st.builds(Foreign, TEXTS, COUNTS, TEXTS), max_size=2)))
    findings = tuple(draw(st.lists(st.builds(Finding, TEXTS, COUNTS, st.none(), TEXTS, TEXTS), max_size=2)))
    return snapshot_from_rows(rows, context(foreign, findings))
