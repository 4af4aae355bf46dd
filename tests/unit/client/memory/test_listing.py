"""The list of what is alive: every field as it was reported, and the same list as a collector's."""

import json
import threading
import time
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ttmem
from tests.support.tracked.own_journal import OwnJournal
from tests.unit.client.memory.conftest import LEFT_INDEX, RIGHT_INDEX, Stage
from ttmem import _native
from ttmem.collector.rows.allocations import allocation_from_row
from ttmem.devices import BufferLayout, BufferType, Kind
from ttmem.snapshot.dump import Owner

MOST = (1 << 48) - 1
SIZES = st.integers(0, 1 << 42)
BUFFERS = st.tuples(
    st.sampled_from(["left", "mesh"]),
    st.tuples(SIZES, SIZES, st.integers(0, MOST), SIZES, st.sampled_from([0, 1, 3, 4])),
    st.tuples(st.integers(0, 1 << 27), st.sampled_from([layout.number for layout in BufferLayout])),
)


def test_a_buffer_tells_all_that_was_reported_of_it(stage: Stage) -> None:
    before = time.monotonic()
    facts = (4096, 4000, 0x1_0000, 512, BufferType.L1, 0, 0, 2048, BufferLayout.HEIGHT_SHARDED.number)
    ttmem.report_buffer_alloc(stage.mesh, 77, *facts)

    [one] = ttmem.memory_snapshot()

    assert 0 <= one["age_seconds"] <= time.monotonic() - before
    assert one | {"age_seconds": 0.0} == {
        "devices": [LEFT_INDEX, RIGHT_INDEX],
        "pool": "l1",
        "kind": "buffer",
        "id": 77,
        "address": 0x1_0000,
        "size": 4096,
        "requested": 4000,
        "per_bank": 512,
        "page": 2048,
        "layout": "height_sharded",
        "cores": None,
        "program": None,
        "name": None,
        "packed": [],
        "stack": [],
        "thread": threading.get_native_id(),
        "age_seconds": 0.0,
        "is_view": False,
        "is_estimated": False,
    }


def test_kernels_circular_buffers_and_programs_tell_what_is_theirs(stage: Stage) -> None:
    ttmem.report_kernel_load(stage.left, 5, 5, 1000, 4, 0, 0, 9, 0, _native.client.intern("reader_unary\0928,72"))
    ttmem.report_cb_alloc(stage.left, 6, 0x9000, 2048, 64, 1, 9)
    ttmem.report_binary_status(stage.left, 9, 2, 24_576)

    kernel, cb, program = ttmem.memory_snapshot(LEFT_INDEX)

    assert (kernel["kind"], kernel["name"], kernel["cores"], kernel["program"]) == (
        "kernel_application",
        "reader_unary",
        4,
        9,
    )
    assert kernel["packed"] == [928, 72]
    assert (kernel["address"], kernel["stack"], kernel["is_estimated"]) == (None, [], True)
    assert (cb["kind"], cb["address"], cb["cores"], cb["per_bank"]) == ("circular_buffer", 0x9000, 64, 2048)
    assert (cb["is_view"], cb["size"]) == (True, 0)
    assert (program["kind"], program["size"], program["program"]) == ("program_binary", 24_576, 9)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(told=st.lists(BUFFERS, max_size=12))
def test_any_buffers_are_listed_as_a_collector_lists_them(
    stage: Stage, told: list[tuple[str, tuple[int, int, int, int, int], tuple[int, int]]]
) -> None:
    handles = [
        ttmem.report_buffer_alloc(getattr(stage, where), number, *facts, 0, 0, *more)
        for number, (where, facts, more) in enumerate(told)
    ]

    own = [
        (row["kind"], row["id"], row["size"], row["requested"], row["address"], row["per_bank"] or 0, row["page"] or 0)
        for row in ttmem.memory_snapshot()
    ]
    layouts = [row["layout"] or "unknown" for row in ttmem.memory_snapshot()]
    seen = collected(stage.journal)
    for handle in handles:
        ttmem.report_free(handle)

    assert own == [row[:-1] for row in seen]
    assert layouts == [BufferLayout.numbered(row[-1]).word for row in seen]
    assert layouts == [BufferLayout.numbered(more[1]).word for *_, more in told]
    assert ttmem.memory_snapshot() == []


def collected(journal: OwnJournal) -> list[tuple[Any, ...]]:
    rows = sorted(journal.allocations(Kind.BUFFER), key=lambda row: int(row[13]))
    return [(Kind.numbered(row[1]).word, row[2], row[5], row[6], row[7], row[8], row[21], row[20]) for row in rows]


def test_a_collector_too_names_the_thread_that_allocated(stage: Stage) -> None:
    made: list[int] = []

    def allocate(identity: int) -> None:
        ttmem.report_buffer_alloc(stage.left, identity, 10)
        made.append(threading.get_native_id())

    for identity in (1, 2):
        thread = threading.Thread(target=allocate, args=(identity,))
        thread.start()
        thread.join()
    ttmem.report_buffer_alloc(stage.left, 3, 10)

    rows = sorted(stage.journal.allocations(Kind.BUFFER), key=lambda row: int(row[2]))
    told = [allocation_from_row(row, Owner(1, "", "")).thread for row in rows]
    assert told == [*made, threading.get_native_id()]
    assert told == [row["thread"] for row in ttmem.memory_snapshot()]


def test_the_list_is_plain_data(stage: Stage) -> None:
    ttmem.report_buffer_alloc(stage.left, (1 << 64) - 1, 10)

    assert json.loads(json.dumps(ttmem.memory_snapshot()))[0]["id"] == (1 << 64) - 1


def test_a_list_that_is_taken_while_threads_allocate_has_only_whole_entries(stage: Stage) -> None:
    is_over = threading.Event()

    def allocate(first: int) -> None:
        while not is_over.is_set():
            for at in range(first, first + 50):
                ttmem.report_free(ttmem.report_buffer_alloc(stage.left, at, at, at, at, at))

    threads = [threading.Thread(target=allocate, args=(1000 * number,)) for number in range(1, 4)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(200):
            for one in ttmem.memory_snapshot():
                assert one["id"] == one["size"] == one["requested"] == one["address"] == one["per_bank"]
    finally:
        is_over.set()
        for thread in threads:
            thread.join()
    assert ttmem.memory_allocated(LEFT_INDEX) == 0
