"""What is alive: totals of the snapshot, the largest first, under every chip of a mesh, with owner and age."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.simulated.figures import (
    GIB,
    MIB,
    NOON_NS,
    a_device,
    a_dump,
    a_process,
    a_row,
    a_server_snapshot,
    a_snapshot,
    an_incident,
    an_unknown_device,
)
from ttmem.collector.rows.allocations import allocation_from_row, dump_of
from ttmem.devices import Kind
from ttmem.errors import SelectionError
from ttmem.snapshot import Hex
from ttmem.snapshot.codec import decoded, encoded
from ttmem.snapshot.dump import BY, By, Dump, DumpGroup, Owner, PlacedPart
from ttmem.view import plain
from ttmem.view.page import PageOptions
from ttmem.view.pages.dump import dump_page


def group_of(dump: Dump, device: int, name: str, *, is_kernel: bool = False) -> DumpGroup:
    [found] = [group for group in dump.devices[device].groups if (group.type, group.is_kernel) == (name, is_kernel)]
    return found


def test_every_device_has_its_types_and_kernels_by_type() -> None:
    dump = a_dump()

    assert [[(group.type, group.count) for group in found.groups] for found in dump.devices] == [
        [("dram", 40), ("l1", 12), ("cb", 6), ("application", 2), ("fabric", 1)],
        [("dram", 30), ("l1_small", 1)],
        [("dram", 1)],
    ]
    assert [group.is_kernel for group in dump.devices[0].groups] == [False, False, False, True, True]


def test_totals_are_those_of_the_snapshot_whatever_is_listed() -> None:
    dram = group_of(a_dump(), 0, "dram")

    assert (dram.used_bytes, dram.count, len(dram.allocations)) == (9 * GIB, 40, 7)
    assert (dram.more_count, dram.more_bytes) == (33, 3 * GIB - 24_576)


def test_the_largest_come_first_and_the_rest_is_counted() -> None:
    l1 = group_of(a_dump(most=2), 0, "l1")

    assert [one.size_bytes for one in l1.allocations] == [3 * MIB, 2 * MIB]
    assert l1.more_count == 10


@settings(deadline=None)
@given(st.lists(st.integers(0, 1 << 40), max_size=60), st.integers(0, 10))
def test_most_keeps_the_largest_and_zero_keeps_all(sizes: list[int], most: int) -> None:
    used = sum(sizes)
    snapshot = a_snapshot(
        devices=[a_device()],
        device_pools=[(0, 0, used, used, len(sizes), used, NOON_NS, NOON_NS, False)],
        processes=[a_process(1)],
    )
    dump = dump_of(snapshot, {1: [a_row(size, at) for at, size in enumerate(sizes)]}, most=most)

    listed = [one.size_bytes for found in dump.devices for group in found.groups for one in group.allocations]
    assert listed == sorted(sizes, reverse=True)[: most or None]


def test_an_allocation_on_a_mesh_stands_under_every_chip() -> None:
    dump = a_dump()

    assert group_of(dump, 1, "dram").allocations == group_of(dump, 0, "dram").allocations[:6]


def test_an_allocation_shows_owner_place_and_holders() -> None:
    largest = group_of(a_dump(), 0, "dram").allocations[0]
    shared = group_of(a_dump(), 0, "l1").allocations[0]

    assert largest.owner == Owner(4001, "ada", "job-1", "journal", True)
    assert (largest.id, largest.address, largest.time_ns) == (0, 0x2000, NOON_NS - 90_000_000_000)
    assert shared.holder_count == 3


def test_a_view_is_listed_and_charged_nothing() -> None:
    owned, view = group_of(a_dump(), 0, "cb").allocations

    assert (owned.is_view, owned.core_count) == (False, 64)
    assert (view.is_view, view.size_bytes) == (True, 0)


def test_a_kernel_has_an_id_and_no_address() -> None:
    first, _ = group_of(a_dump(), 0, "application", is_kernel=True).allocations

    assert (first.kind, first.id, first.address, first.core_count) == (Kind.KERNEL_APPLICATION, 1, None, 16)
    assert group_of(a_dump(), 0, "fabric", is_kernel=True).allocations[0].is_estimated


def test_only_kernels_can_be_asked_for() -> None:
    [found] = a_dump(kernels=True).devices

    assert [group.type for group in found.groups] == ["application", "fabric"]


@pytest.mark.parametrize("word", ["1", "0x0100014511703061", 1])
def test_one_device_can_be_asked_for(word: str | int) -> None:
    [found] = a_dump(device=word).devices

    assert found.device.index == 1


@pytest.mark.parametrize("word", ["1", "server:1", "seed:1"])  # the last is the older form of its name
def test_a_device_of_the_server_protocol_can_be_asked_for(word: str) -> None:
    [found] = dump_of(a_server_snapshot(), {}, device=word).devices

    assert found.device.name == "server:1"


def test_a_device_that_is_not_there_is_an_error_that_names_the_others() -> None:
    with pytest.raises(SelectionError, match="no device 7 here; known are 0, 1"):
        a_dump(device="7")


def test_a_device_with_nothing_alive_is_left_out() -> None:
    snapshot = a_snapshot(
        devices=[a_device(0)],
        device_pools=[(0, 0, 0, 0, 0, MIB, NOON_NS, NOON_NS, False)],
        processes=[a_process(1)],
    )
    dump = dump_of(snapshot, {})

    assert (dump.devices, dump.count, dump.process_count) == ((), 0, 1)


def test_what_an_ended_process_held_is_not_alive() -> None:
    snapshot = a_snapshot(
        devices=[an_unknown_device(0)],
        device_pools=[(0, 0, 64, 64, 1, 64, NOON_NS, NOON_NS, False)],
        processes=[a_process(1), a_process(2, state="ended")],
    )
    dump = dump_of(snapshot, {1: [a_row(64)], 2: [a_row(1 << 20)]})

    assert [one.size_bytes for one in dump.devices[0].groups[0].allocations] == [64]
    assert (dump.process_count, dump.ended_count) == (1, 1)


def test_a_process_that_could_not_be_followed_is_named() -> None:
    [unlisted] = a_dump().unlisted

    assert (unlisted.owner.pid, unlisted.reason) == (4002, "outrun")


@pytest.mark.parametrize(
    "options", [{}, {"kernels": True}, {"most": 1}, {"device": "1"}, {"snapshot": a_server_snapshot()}]
)
def test_a_dump_read_back_says_the_same(options: dict[str, Any]) -> None:
    dump = a_dump(**options)

    assert decoded(encoded(dump), Dump) == dump


def test_ids_and_addresses_are_texts() -> None:
    assert b'"id":"0x0","address":"0x2000"' in encoded(a_dump())


def by_core() -> tuple[Any, ...]:
    """A buffer of 7 cores, at two addresses."""
    parts = ((0x100000, 4, "0,0-3,0"), (0xF0000, 3, ""))
    return a_row(7 << 15, pool=2, address=0x100000, per_bank=1 << 15, count=7, layout=3, parts=parts)


def test_a_buffer_by_core_is_listed_once_with_its_parts() -> None:
    one = allocation_from_row(by_core(), Owner(1, "ada", "x"))

    assert (one.size_bytes, one.core_count, one.per_core_bytes) == (7 << 15, 7, 1 << 15)
    assert one.parts == (PlacedPart(Hex(0x100000), 4, "0,0-3,0"), PlacedPart(Hex(0xF0000), 3, ""))


def test_operation_and_tensor_are_said() -> None:
    row = a_row(64, operation="ttnn.matmul", tensor="32x64 bfloat16 tile")
    one = allocation_from_row(row, Owner(1, "ada", "x"))

    assert (one.operation, one.tensor) == ("ttnn.matmul", "32x64 bfloat16 tile")


LINES = (
    "/app/model.py:40 attention\n/app/run.py:7 main\n/app/run.py:1 <module>",
    "/app/model.py:9 load\n/app/run.py:7 main",
)


def rows_with_makers() -> list[tuple[Any, ...]]:
    """Eight buffers of 1 to 8 MiB by three makers in turn, the last of which nobody knows."""
    makers = [(LINES[0], "ttnn.matmul"), (LINES[1], "ttnn.to_device"), ("", "")]
    return [
        a_row(at * MIB, at, name=line, operation=operation, time_ns=NOON_NS - at * 1_000_000_000)
        for at in range(1, 9)
        for line, operation in [makers[at % 3]]
    ]


def summed(by: By, most: int = 0, **processes: Any) -> DumpGroup:
    snapshot = a_snapshot(
        devices=[a_device()],
        device_pools=[(0, 0, 36 * MIB, 36 * MIB, 8, 36 * MIB, NOON_NS, NOON_NS, False)],
        processes=[a_process(1)],
        **processes,
    )
    [device] = dump_of(snapshot, {1: rows_with_makers()}, by=by, most=most).devices
    [group] = device.groups
    assert group.allocations == ()
    return group


def test_sums_are_by_line_and_by_operation_largest_first() -> None:
    by_line = [(one.stack, one.size_bytes // MIB, one.count) for one in summed("site").sums]
    assert [one.name for one in summed("site").sums] == [""] * 3
    by_operation = [(one.name, one.size_bytes // MIB, one.count) for one in summed("operation").sums]

    assert by_line == [
        ((), 2 + 5 + 8, 3),
        (("/app/model.py:9 load", "/app/run.py:7 main"), 1 + 4 + 7, 3),
        (("/app/model.py:40 attention", "/app/run.py:7 main"), 3 + 6, 2),
    ]
    assert by_operation == [("", 15, 3), ("ttnn.to_device", 12, 3), ("ttnn.matmul", 9, 2)]


def test_sums_beyond_the_largest_few_are_folded_and_nothing_is_missing() -> None:
    group = summed("site", most=1)

    assert (len(group.sums), group.more_sum_count, group.more_count, group.more_bytes) == (1, 2, 5, 21 * MIB)


def test_sums_by_phase_show_open_phases_apart_and_what_was_before() -> None:
    second = 1_000_000_000
    phases = [(1, "serve", NOON_NS - 6 * second, 1), (1, "decode", NOON_NS - 3 * second, 1)]
    by_phase = {one.name: one.count for one in summed("phase", open_phases=phases).sums}

    assert by_phase == {"decode": 3, "serve": 3, "before serve": 2}
    assert {one.name: one.count for one in summed("phase").sums} == {"": 8}


@pytest.mark.parametrize("by", [by for by in BY if by])
def test_sums_read_back_say_the_same(by: By) -> None:
    dump = a_dump(by=by)

    assert dump.by == by
    assert decoded(encoded(dump), Dump) == dump


def test_incidents_and_unknown_lines_of_processes_are_shown_and_read_back() -> None:
    snapshot = a_snapshot(
        devices=[a_device()],
        processes=[
            a_process(1, incidents=[an_incident(devices=(0,))], incident_count=3),
            a_process(2, sites_off="CPython 3.14 is not known"),
            a_process(3),
        ],
    )
    dump = dump_of(snapshot, {})

    assert [(note.pid, note.incident_count, note.sites_off) for note in dump.process_notes] == [
        (4001, 3, ""),
        (4002, 0, "CPython 3.14 is not known"),
    ]
    assert dump.process_notes[0].unlisted_incident_count == 2
    assert [device.index for device in dump.process_notes[0].devices] == [0]
    assert " OUT OF MEMORY  chip 0  pid 4001-1 " in plain(
        dump_page(dump, PageOptions())
    )  # though nothing is alive there
    assert decoded(encoded(dump), Dump) == dump
