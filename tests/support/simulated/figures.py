"""Rows as the ledger hands them out, made up: for tests of what follows from rows, where no process is needed."""

from typing import Any

from tests.support.flat_rows.processes import FlatContext, snapshot_from_rows
from ttmem.collector.rows.allocations import dump_of
from ttmem.collector.rows.regions import BankSizes
from ttmem.snapshot import Finding, Foreign, Host, Snapshot, TimeNs
from ttmem.snapshot.dump import Dump

GIB = 1 << 30
MIB = 1 << 20
KIB = 1 << 10
NOON_NS = TimeNs(1_700_000_000_000_000_000)
HOST = Host("box", "Linux", "Debian 12", "6.1", "x86_64", "3.11")
N300_CAPACITIES = (12 * GIB, 0, 85 * MIB, 0, 0, 0, 0, 0, 0, 0)


def some_rows(**tables: Any) -> dict[str, Any]:
    """Empty tables, but for the given ones."""
    names = (
        "devices device_pools device_kinds processes process_pools process_kinds launches programs phases open_phases "
        "out_of_memory clashes clash_counts meshes damaged "
        "other_pools other_kinds device_cores process_cores footprints rings stalls caches spaces worst_cores headrooms"
    )
    rows: dict[str, Any] = {name: [] for name in names.split()}
    return {"time_ns": NOON_NS, **rows, **tables}


def a_device(number: int = 0, **changes: Any) -> dict[str, Any]:
    row = {
        "number": number,
        "unique_id": 0x0100_0145_1170_3060 + number,
        "index": number,
        "arch": "wormhole_b0",
        "board": "n300",
        "grid": (8, 8),
        "banks": (12, 64),
        "kernel_ring_bytes": 70_656,
        "capacities": N300_CAPACITIES,
        "open_count": 1,
        "known": True,
        "name": "",
    }
    return {**row, **changes}


def an_unknown_device(number: int = 0) -> dict[str, Any]:
    unknown = {"unique_id": 0, "index": -1, "arch": "", "board": "", "grid": (0, 0), "banks": (0, 0)}
    more = {"kernel_ring_bytes": 0, "capacities": (0,) * 10, "known": False, "name": f"unknown:{number}"}
    return a_device(number, **unknown, **more)


def a_server_device(number: int = 0, index: int = 0) -> dict[str, Any]:
    """A chip of the allocation server's protocol: nothing is known but its number."""
    return {**an_unknown_device(number), "index": index, "name": f"server:{index}"}


def a_process(key: int = 1, **changes: Any) -> dict[str, Any]:
    row = {
        "key": key,
        "pid": 4000 + key,
        "uid": 1000,
        "start_ticks": 77,
        "pid_namespace": 4_026_531_836,
        "label": f"job-{key}",
        "command": f"python job_{key}.py",
        "path": f"/dev/shm/ttmem-1000/{4000 + key}-77-0123abcd.journal",
        "state": "live",
        "visible": True,
        "complete": True,
        "reason": "",
        "origin": "counted",
        "started_ns": NOON_NS - 60_000_000_000,
        "last_event_ns": NOON_NS - 1_000_000,
        "events": 10,
        "lost_records": 0,
        "skipped": 0,
        "untabled": 0,
        "live_count": 2,
        "findings": {},
        "threads": 1,
        "refusals": 0,
        "clashes": 0,
        "incidents": [],
        "incident_count": 0,
        "sites_off": "",
        "source": "journal",
        "claimed_pid": 0,
    }
    return {**row, **changes}


def an_incident(number: int = 1, **changes: Any) -> dict[str, Any]:
    """A row of an incident: memory that ran out on two chips."""
    frames = (("models/llama/model.py", 118, "forward"), ("llama/demo/demo.py", 201, "main"))
    figures = {
        "requested_bytes": 32 * MIB,
        "requested_per_bank_bytes": 512 * KIB,
        "free_bytes": 31_040 * KIB,
        "largest_free_bytes": 19_264 * KIB,
        "free_per_bank_bytes": 485 * KIB,
        "largest_free_per_bank_bytes": 301 * KIB,
        "bank_count": 64,
        "space_begin_address": 96 * KIB,
        "space_end_address": 1464 * KIB,
    }
    row = {
        "number": number,
        "kind": 1,
        "pool": 2,
        "devices": (0, 1),
        "is_mesh": True,
        "time_ns": NOON_NS - 3_000_000_000,
        "thread": 4711,
        "repeat_count": 0,
        "last_time_ns": None,
        "is_read_later": False,
        "is_of_text": True,
        "is_per_core": False,
        "cores": None,
        "phase": "decode",
        "site": (frames, "ttnn.matmul", "MatmulDeviceOperation", "1x1x32x14336 bfloat16 tile", None, False),
        "other_site": None,
        "text": "TT_FATAL: Out of Memory: Not enough space to allocate 33554432 B L1 buffer across 64 banks",
        "program": None,
        "operation": None,
        "cb_end_address": None,
        "lowest_buffer_address": 0x4E000,
        "trace": None,
        "address": None,
        "launches_before": 41,
        "entry_count": 1200,
        "left_out_count": 0,
        "left_out_bytes": 0,
        "launches_since": 1204,
        "operations_since": 5000,
        **figures,
    }
    return {**row, **changes}


_REPLAYED = an_incident(
    9,
    kind=3,
    trace=7,
    address=0x6_0000,
    repeat_count=3,
    last_time_ns=NOON_NS,
    other_site=((("llama/demo/demo.py", 77, "capture"),), None, None, None, None, False),
)


def a_socket_process(key: int = 1, **changes: Any) -> dict[str, Any]:
    return a_process(key, **{"source": "socket", "path": "", "label": "", **changes})


def context(foreign: tuple[Foreign, ...] = (), findings: tuple[Finding, ...] = ()) -> FlatContext:
    names = {0: "root", 1000: "ada", 1001: "grace"}
    return FlatContext(
        source="embedded collector",
        places=("/dev/shm/ttmem-1000",),
        host=HOST,
        user_of=lambda uid: names.get(uid, str(uid)),
        pid_namespace=4_026_531_836,
        foreign=foreign,
        findings=findings,
        sizes_of={"wormhole_b0": BankSizes(GIB, 1464 * KIB)}.get,
    )


def a_snapshot(*, foreign: tuple[Foreign, ...] = (), findings: tuple[Finding, ...] = (), **tables: Any) -> Snapshot:
    """The snapshot that the given tables make."""
    return snapshot_from_rows(some_rows(**tables), context(foreign, findings))


BUSY_SPACES: dict[str, Any] = {
    "spaces": [(1, 0, 0, 30, 512 * MIB, 64 * KIB, 700 * MIB, 92 * MIB, 7), (1, 3, 1, 0, 0, 0, 0, 0, 0)],
    "worst_cores": [(1, True, 3, 2, 200 * KIB)],
    "headrooms": [(0, -4096, None, None, 0x8_F000, 64, ((1, 12),))],
}
BUSY_CACHES = [
    (2, 0, 1, 12_000, 345, 0, 0, 1, 345, 4 * MIB, 0),
    (2, 0, 3, 1_500, 500, 0, 0, 0, 0, 0, 0),
    (2, 0, 4, 60, 40, 2, 0, 0, 38, 300 * KIB, 96 * KIB),
]


BUSY_PHASES: dict[str, Any] = {
    "phases": [(2, "decode", 0, 2, 84 * MIB, NOON_NS, 17, False)],
    "open_phases": [(2, "sampling", NOON_NS - 1_000_000_000, 2)],
}


def _an_outrun_server(key: int) -> dict[str, Any]:
    return a_process(
        key,
        refusals=1,
        incidents=[an_incident(2), _REPLAYED],
        incident_count=3,
        sites_off="offsets of Python 3.15 are not known",
        uid=1001,
        label="a server with a rather long name",
        origin="counter",
        complete=False,
        reason="outrun",
        findings={"unknown_free": 3},
    )


def a_busy_snapshot() -> Snapshot:
    """Two processes on three chips, with a little of everything."""
    return a_snapshot(
        devices=[a_device(0), a_device(1), an_unknown_device(2)],
        device_pools=[
            (0, 0, 9 * GIB, 9 * GIB - 5, 40, 10 * GIB, NOON_NS - 9_000_000_000, NOON_NS - 60_000_000_000, False),
            (0, 2, 81 * MIB, 80 * MIB, 12, 84 * MIB, NOON_NS, NOON_NS - 60_000_000_000, True),
            (0, 4, 20 * MIB, 0, 6, 20 * MIB, NOON_NS, NOON_NS - 60_000_000_000, False),
            (0, 5, 1_172_608, 1_572_864, 3, 1_172_608, NOON_NS, NOON_NS - 60_000_000_000, False),
            (1, 0, 6 * GIB, 6 * GIB, 30, 6 * GIB, NOON_NS, NOON_NS - 60_000_000_000, False),
            (1, 3, 64 * KIB, -1, 1, 128 * KIB, NOON_NS, NOON_NS - 60_000_000_000, False),
            (2, 0, 512, 512, 1, 512, NOON_NS, NOON_NS - 60_000_000_000, False),
        ],
        device_kinds=[
            (0, 2, 20 * MIB, 6, False),
            (0, 5, 917_504, 2, False),
            (0, 6, 255_104, 1, True),
            (0, 7, 0, 0, False),
        ],
        processes=[
            a_process(1, clashes=1),
            _an_outrun_server(2),
            a_process(3, state="ended", label="gone"),
        ],
        process_pools=[
            (1, 0, 0, 6 * GIB, 6 * GIB, 30, 6 * GIB, NOON_NS, False),
            (1, 1, 0, 6 * GIB, 6 * GIB, 30, 6 * GIB, NOON_NS, False),
            (1, 2, 0, 512, 512, 1, 512, NOON_NS, False),
            (2, 0, 0, 3 * GIB, -1, 10, 4 * GIB, NOON_NS, False),
            (2, 0, 2, 81 * MIB, -1, 12, 84 * MIB, NOON_NS, False),
            (2, 0, 4, 20 * MIB, -1, 6, 20 * MIB, NOON_NS, False),
            (2, 0, 5, 1_172_608, -1, 3, 1_172_608, NOON_NS, False),
            (2, 1, 3, 64 * KIB, -1, 1, 128 * KIB, NOON_NS, False),
            (3, 0, 0, 1 * GIB, 1 * GIB, 1, 1 * GIB, NOON_NS, False),
        ],
        process_kinds=[(2, 0, 2, 20 * MIB, 6, False), (2, 0, 5, 917_504, 2, False), (2, 0, 6, 255_104, 1, True)],
        device_cores=[(0, 1, 917_504, 2, False), (0, 2, 255_104, 1, True)],
        process_cores=[(2, 0, 1, 917_504, 2, False), (2, 0, 2, 255_104, 1, True)],
        footprints=[(2, 0, 6 * MIB, 2 * MIB, 96 * KIB, 32 * KIB, False, False)],
        rings=[(2, 0, 1, 48_000, 18_000, 5, 12_340, 70_656), (2, 0, 2, 0, 640, 0, 5, 0)],
        stalls=[(2, 0, 1, 17), (2, 0, 4, 3)],
        caches=BUSY_CACHES,
        launches=[(2, 0, 12_345), (1, 0, 7), (1, 1, 7)],
        programs=[(2, 0, 99, 2, 12_345, 24_576, "ttnn.matmul")],
        **BUSY_PHASES,
        out_of_memory=[(2, 0, 2, 4 * MIB, 3 * MIB, 1 * MIB, NOON_NS - 3_000_000_000)],
        clashes=[(1, chip, 12, 0x9_0000, 0x8_F000, NOON_NS - 2_000_000_000) for chip in (0, 1)],
        clash_counts=[(1, 0, 1), (1, 1, 1)],
        meshes=[(1, 5, 1, 2, (0, 1))],
        **BUSY_SPACES,
        damaged=[("/dev/shm/ttmem-1000/9-9-ffffffff.journal", "not a journal: it begins with zeros")],
        foreign=(Foreign("/dev/shm/ttmem-1002", 1002, "1002"),),
    )


def a_server_snapshot() -> Snapshot:
    """Processes on the server socket: one restored, one that claims another pid, one that reports both ways."""
    return a_snapshot(
        devices=[a_device(0), a_server_device(1, index=1), a_server_device(2, index=2)],
        device_pools=[
            (0, 0, 2 * GIB, 2 * GIB, 3, 2 * GIB, NOON_NS, NOON_NS, False),
            (1, 0, 1 * GIB, 1 * GIB, 7, 1 * GIB, NOON_NS, NOON_NS, False),
            (1, 2, 12 * MIB, 12 * MIB, 42, 12 * MIB, NOON_NS, NOON_NS, False),
            (1, 5, 9_203_712, 9_203_712, 5, 9_203_712, NOON_NS, NOON_NS, False),
            (2, 0, 1 * GIB, 1 * GIB, 7, 1 * GIB, NOON_NS, NOON_NS, False),
            (2, 2, 12 * MIB, 12 * MIB, 42, 12 * MIB, NOON_NS, NOON_NS, False),
            (2, 5, 9_203_712, 9_203_712, 5, 9_203_712, NOON_NS, NOON_NS, False),
        ],
        device_kinds=[
            (number, kind, used, count, False)
            for number in (1, 2)
            for kind, used, count in ((5, 8_192_000, 1), (6, 917_504, 1), (7, 94_208, 2), (9, 12_288, 1))
        ],
        processes=[
            a_process(1, findings={"two_sources": 1}),
            a_socket_process(2, claimed_pid=17, uid=1001),
            a_socket_process(3, complete=False, reason="restored", findings={"free_size": 2}),
        ],
        process_pools=[
            (1, 0, 0, 2 * GIB, 2 * GIB, 3, 2 * GIB, NOON_NS, False),
            *((2, number, 0, 1 * GIB, 1 * GIB, 7, 1 * GIB, NOON_NS, False) for number in (1, 2)),
            *((2, number, 5, 9_203_712, 9_203_712, 5, 9_203_712, NOON_NS, False) for number in (1, 2)),
            *((3, number, 2, 12 * MIB, 12 * MIB, 42, 12 * MIB, NOON_NS, False) for number in (1, 2)),
        ],
        process_kinds=[
            (2, number, kind, used, count, False)
            for number in (1, 2)
            for kind, used, count in ((5, 8_192_000, 1), (6, 917_504, 1), (7, 94_208, 2), (9, 12_288, 1))
        ],
        other_pools=[
            (1, 0, 0, 2 * GIB - MIB, 2 * GIB - MIB, 2, 2 * GIB, NOON_NS, False),
            (1, 0, 4, 64 * KIB, 64 * KIB, 2, 64 * KIB, NOON_NS, False),
            (1, 0, 5, 917_504, 917_504, 1, 917_504, NOON_NS, False),
        ],
        other_kinds=[(1, 0, 2, 64 * KIB, 2, False), (1, 0, 6, 917_504, 1, False)],
    )


def a_row(size: int, identity: int = 7, *, chips: tuple[int, ...] = (0,), **changes: Any) -> tuple[Any, ...]:
    """One allocation as the ledger hands it out."""
    row = {
        "devices": chips,
        "kind": 1,
        "id": identity,
        "pool": 0,
        "flags": 0,
        "reserved": size,
        "requested": size,
        "address": 0,
        "per_bank": 0,
        "count": 0,
        "thread": 1,
        "site": 0,
        "time_ns": NOON_NS - 90_000_000_000,
        "sequence": 1,
        "status": 0,
        "launches": 0,
        "holders": 1,
        "program": None,
        "core_type": 0,
        "found_by": 0,
        "layout": 0,
        "page_bytes": 0,
        "operation": "",
        "tensor": "",
        "packed": (),
        "name": "",
        "parts": (),
    }
    return tuple({**row, **changes}.values())


def busy_allocations() -> dict[int, list[tuple[Any, ...]]]:
    """Some of what is alive in the busy snapshot."""
    program_binary = a_row(24_576, 99, kind=8, count=0)
    return {
        1: [
            *(a_row(GIB, 16 * at, chips=(0, 1), address=0x2000 + at, layout=1, page_bytes=2048) for at in range(6)),
            a_row(
                512,
                chips=(2,),
                name="/opt/site-packages/ttnn/call.py:9 __call__\n/srv/model.py:6 make\n/srv/run.py:1 main",
            ),
        ],
        2: [
            *(a_row(MIB * at, at, pool=2, holders=at) for at in range(1, 4)),
            a_row(5 * MIB, 0x1F00, pool=4, kind=2, count=64),
            a_row(0, 0x2F00, pool=4, kind=2, flags=1),
            a_row(
                917_500,
                1,
                pool=5,
                kind=5,
                count=16,
                program=99,
                core_type=1,
                found_by=1,
                packed=(928,),
                name="reader_unary",
            ),
            a_row(4, 2, pool=5, kind=5, count=16, program=99, core_type=1, found_by=3),
            a_row(255_104, 3, pool=5, kind=6, flags=64),
            program_binary,
        ],
    }


def a_dump(snapshot: Snapshot | None = None, **options: Any) -> Dump:
    return dump_of(snapshot or a_busy_snapshot(), busy_allocations(), **options)
