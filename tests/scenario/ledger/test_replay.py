"""What holds for any records, however they are read: twice, in parts, in another order, or damaged.

The records are those of a real process that did random things; the properties need no more processes.
"""

import random
import struct
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.journals.reporters import CHIP_FACTS, Command, Nursery, a_nursery
from ttmem._native import Ledger, testing
from ttmem.devices import BufferLayout, Kind, Pool
from ttmem.events import BufferAllocated, decode_record, encode_record

RECORD_BYTES = 64
ALLOCATED, FREED = 1, 2
COMMANDS = 120
CHIPS, MESH = (1, 2), 3  # targets, in the order they are opened

FAST = settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck), database=None)


class Log(NamedTuple):
    """What was read from one process."""

    records: list[bytes]
    arena: bytes


def some_command(dice: random.Random) -> Command:
    """Anything a process may say about two chips, a mesh of both, and a target nobody opened."""
    target, id, size = dice.choice([*CHIPS, MESH, 77]), dice.randrange(1, 6), dice.randrange(0, 1 << 20)
    kind = dice.choice([Kind.KERNEL_APPLICATION, Kind.KERNEL_FABRIC])
    commands: list[Command] = [
        ("report_buffer_alloc", target, id, size, size // 2, 0, 0, dice.randrange(5), 0, dice.choice([0, 0, 1, 2])),
        ("report_buffer_alloc", target, id, size),
        ("report_buffer_free", target, id),
        ("report_cb_alloc", target, id, 0, size, dice.randrange(64)),
        ("report_cb_free", target, id),
        ("report_kernel_load", target, id, kind, size, 8, dice.choice([0, size])),
        ("report_kernel_unload", target, id, kind),
        ("report_binary_status", target, id, dice.randrange(3), dice.choice([0, size])),
        ("report_launch", target, id),
        ("report_program_end", target, id),
    ]
    rare: list[Command] = [
        ("close_target", target),
        ("open_device", 0xA0, *CHIP_FACTS),
        ("open_mesh", 9, 1, 2, CHIPS),
        ("set_label", "other"),
        ("report_out_of_memory", target, 0, size),
    ]
    return dice.choice(commands) if dice.random() < 0.93 else dice.choice(rare)


def a_log(nursery: Nursery, directory: Path, seed: int) -> Log:
    dice = random.Random(seed)
    reporter = nursery.start(directory, TTMEM_RING="1024", TTMEM_TABLE="512")
    ledger = testing.tapped_ledger()
    key = reporter.attach_to(ledger)
    opening = [("open_device", 0xA0, *CHIP_FACTS), ("open_device", 0xA1, *CHIP_FACTS), ("open_mesh", 9, 1, 2, CHIPS)]
    reporter.do(*opening, *(some_command(dice) for _ in range(COMMANDS)))
    ledger.drain()
    records, arena = testing.taken(ledger, key)
    reporter.kill()
    return Log([records[at : at + RECORD_BYTES] for at in range(0, len(records), RECORD_BYTES)], arena)


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Log]]:
    directory = tmp_path_factory.mktemp("logs")
    with a_nursery() as nursery:
        yield [a_log(nursery, directory, seed) for seed in range(40)]


def fed(records: list[bytes], arena: bytes, ledger: Ledger | None = None) -> tuple[Ledger, int]:
    ledger = ledger or Ledger()
    return ledger, testing.feed(ledger, b"".join(records), arena, (1, 0, 0, "fed"))


def balances(ledger: Ledger, key: int) -> dict[str, Any]:
    """Everything about what is held now; no peaks, no findings, no history."""
    rows = testing.flat_rows(ledger)
    names = [row["unique_id"] or row["name"] for row in rows["devices"]]
    return {
        "pools": {(names[d], p): rest[:3] for k, d, p, *rest in rows["process_pools"] if k == key and any(rest[:3])},
        "kinds": {(names[d], kind): rest for k, d, kind, *rest in rows["process_kinds"] if k == key},
        "devices": {(names[d], p): rest[:3] for d, p, *rest in rows["device_pools"] if any(rest[:3])},
        "list": Counter(without_number(names, row) for row in ledger.allocations(key)),
        "programs": Counter((names[d], *rest) for k, d, *rest in rows["programs"] if k == key),
        "launches": {names[d]: count for k, d, count in rows["launches"] if k == key},
        "open": {names[row["number"]]: row["open_count"] for row in rows["devices"]},
    }


def without_number(names: list[Any], row: tuple[Any, ...]) -> tuple[Any, ...]:
    """An entry under its devices' names; a program's address is where a reader keeps its status's place."""
    devices, kind, id, *rest = row
    address = 0 if kind == Kind.PROGRAM_BINARY else rest[4]
    return (frozenset(names[device] for device in devices), kind, id, *rest[:4], address, *rest[5:])


def outcome(records: list[bytes], arena: bytes) -> dict[str, Any]:
    return balances(*fed(records, arena))


@FAST
@given(seed=st.integers(0, 39), data=st.data())
def test_reading_a_stretch_again_changes_nothing(logs: list[Log], seed: int, data: st.DataObject) -> None:
    log = logs[seed]
    until = data.draw(st.integers(0, len(log.records)))
    again_from = data.draw(st.integers(0, until))

    assert outcome(log.records[:until] + log.records[again_from:], log.arena) == outcome(*log)


@FAST
@given(seed=st.integers(0, 39))
def test_after_every_record_the_sums_are_those_of_the_list(logs: list[Log], seed: int) -> None:
    """So no prefix has a balance below zero: a sum of sizes never is."""
    log = logs[seed]
    for length in range(0, len(log.records) + 1, 7):
        ledger, key = fed(log.records[:length], log.arena)
        assert_sums_are_those_of_the_list(ledger, key)


def assert_sums_are_those_of_the_list(ledger: Ledger, key: int) -> None:
    rows = testing.flat_rows(ledger)
    used: Counter[Any] = Counter()
    counts: Counter[Any] = Counter()
    for devices, kind, _, pool, _, reserved, *_ in ledger.allocations(key):
        for device in devices:
            used.update({(device, pool): reserved, (device, "kind", kind): reserved})
            counts.update({(device, pool): 1, (device, "kind", kind): 1})
    pools: dict[Any, Any] = {(d, p): rest for k, d, p, *rest in rows["process_pools"] if k == key}
    kinds: dict[Any, Any] = {(d, "kind", kind): rest for k, d, kind, *rest in rows["process_kinds"] if k == key}
    assert {place: row[0] for place, row in (pools | kinds).items() if row[0]} == +used
    assert {place: row[2] for place, row in pools.items() if row[2]} | {p: row[1] for p, row in kinds.items()} == counts


@settings(FAST, max_examples=12)  # each of them is as many replays as it has records
@given(seed=st.integers(0, 39))
def test_the_peak_is_the_highest_of_all_prefixes(logs: list[Log], seed: int) -> None:
    log = logs[seed]
    highest: Counter[Any] = Counter()
    for length in range(len(log.records) + 1):
        ledger, _ = fed(log.records[:length], log.arena)
        rows = testing.flat_rows(ledger)["process_pools"]
        highest |= Counter({(device, pool): used for _, device, pool, used, *_ in rows})

    ledger, _ = fed(*log)
    assert {(row[1], row[2]): row[6] for row in testing.flat_rows(ledger)["process_pools"] if row[6]} == +highest


@FAST
@given(seed=st.integers(0, 39), order=st.integers(0, 1 << 32))
def test_entries_that_have_nothing_to_do_with_each_other_may_come_in_any_order(
    logs: list[Log], seed: int, order: int
) -> None:
    """Between openings and closings each (target, kind, id) keeps its own order; no more is needed for what is held."""
    log = logs[seed]
    mixed = outcome(shuffled(log.records, random.Random(order)), log.arena)

    assert {**mixed, "launches": {}} == {**outcome(*log), "launches": {}}


def shuffled(records: list[bytes], order: random.Random) -> list[bytes]:
    """The records with the stories of different keys interleaved otherwise."""
    result: list[bytes] = []
    stories: dict[Any, list[bytes]] = {}
    for record in [*records, b""]:
        if record and record[16] <= 4:  # allocated, freed, status changed, launched
            stories.setdefault((record[24:32], record[46:48], record[17]), []).append(record)
            continue
        queues = [story for story in stories.values() if story]
        while queues:
            story = order.choice(queues)
            result.append(story.pop(0))
            queues = [story for story in queues if story]
        stories = {}
        result.append(record)
    return result[:-1]


@pytest.mark.slow
@FAST
@given(order=st.permutations(range(6)))
def test_it_does_not_matter_which_process_is_read_first(logs: list[Log], order: list[int]) -> None:
    def together(seeds: list[int]) -> dict[Any, Any]:
        ledger = Ledger()
        for seed in seeds:
            fed(logs[seed].records, logs[seed].arena, ledger)
        rows = testing.flat_rows(ledger)
        chips = {row["number"]: row["unique_id"] for row in rows["devices"] if row["known"]}
        held = {(chips[d], p): rest[:3] for d, p, *rest in rows["device_pools"] if d in chips}
        return held | {chips[row["number"]]: row["open_count"] for row in rows["devices"] if row["known"]}

    assert together(order) == together(sorted(order))


@FAST
@given(seed=st.integers(0, 39), data=st.data())
def test_records_of_a_newer_version_are_skipped(logs: list[Log], seed: int, data: st.DataObject) -> None:
    log = logs[seed]
    records = list(log.records)
    for _ in range(data.draw(st.integers(1, 5))):
        words = data.draw(st.lists(st.integers(0, (1 << 64) - 1), min_size=8, max_size=8))
        words[2] = words[2] & ~0xFF | data.draw(st.integers(21, 255))
        records.insert(data.draw(st.integers(0, len(records))), struct.pack("<8Q", *words))
    ledger, key = fed(records, log.arena)

    assert balances(ledger, key) == outcome(*log)
    assert "impossible_record" not in testing.flat_rows(ledger)["processes"][0]["findings"]


@pytest.mark.slow
@FAST
@given(seed=st.integers(0, 39), data=st.data())
def test_damaged_records_never_make_the_sums_and_the_list_disagree(
    logs: list[Log], seed: int, data: st.DataObject
) -> None:
    log = logs[seed]
    damaged = bytearray(b"".join(log.records))
    for _ in range(data.draw(st.integers(1, 20))):
        at = data.draw(st.integers(0, len(damaged) - 1))
        damaged[at] = data.draw(st.integers(0, 255))
    ledger = Ledger()
    key = testing.feed(ledger, bytes(damaged), log.arena, (1, 0, 0, ""))

    assert_sums_are_those_of_the_list(ledger, key)
    testing.end(ledger, key)
    assert [row for row in testing.flat_rows(ledger)["device_pools"] if any(row[2:5])] == []


@FAST
@given(st.lists(st.binary(min_size=RECORD_BYTES, max_size=RECORD_BYTES), max_size=60), st.binary(max_size=300))
def test_any_bytes_at_all_may_be_fed(records: list[bytes], arena: bytes) -> None:
    ledger, key = fed(records, arena)

    assert_sums_are_those_of_the_list(ledger, key)
    assert testing.flat_rows(ledger)["processes"][0]["events"] == len(records)


@FAST
@given(seed=st.integers(0, 39), data=st.data())
def test_a_damaged_arena_moves_figures_but_loses_none(logs: list[Log], seed: int, data: st.DataObject) -> None:
    log = logs[seed]
    arena = bytearray(log.arena)
    for _ in range(data.draw(st.integers(1, 10))):
        arena[data.draw(st.integers(0, len(arena) - 1))] = data.draw(st.integers(0, 255))
    ledger, key = fed(log.records, bytes(arena[: data.draw(st.integers(0, len(arena)))]))

    assert_sums_are_those_of_the_list(ledger, key)
    assert len(ledger.allocations(key)) == sum(outcome(*log)["list"].values())


def test_half_a_record_at_the_end_is_left_out() -> None:
    record = encode_record(BufferAllocated(sequence=1, id=5, reserved_bytes=10, requested_bytes=10))
    ledger = Ledger()

    key = testing.feed(ledger, record + record[:40], b"", (1, 0, 0, ""))

    assert len(ledger.allocations(key)) == 1


def test_many_entries_of_the_highest_size_do_not_wrap() -> None:
    most = 1 << 42
    count = 50_000
    words = [struct.pack("<8Q", n << 1, 1, ALLOCATED | 1 << 8, n, 0, most, most, 0) for n in range(1, count + 1)]

    ledger, _ = fed(words, b"")

    [(_, _, _, used, requested, entries, peak, *_)] = testing.flat_rows(ledger)["process_pools"]
    assert (used, requested, entries, peak) == (count * most, count * most, count, count * most)


def test_sizes_that_no_writer_leaves_in_a_record_are_refused() -> None:
    too_much = (1 << 48) - 1
    good = encode_record(BufferAllocated(sequence=1, id=1, reserved_bytes=7, requested_bytes=7))
    bad = [
        encode_record(BufferAllocated(sequence=2, id=2, reserved_bytes=too_much, requested_bytes=7)),
        encode_record(BufferAllocated(sequence=3, id=3, reserved_bytes=7, requested_bytes=too_much)),
        encode_record(BufferAllocated(sequence=4, id=4, reserved_bytes=7, requested_bytes=7, target=256)),
    ]

    ledger, _ = fed([good, *bad], b"")

    rows = testing.flat_rows(ledger)
    assert [row[3:6] for row in rows["process_pools"]] == [(7, 7, 1)]
    assert rows["processes"][0]["findings"] == {"impossible_record": 3}


def test_kinds_and_pools_of_a_newer_version_are_stored_as_unknown() -> None:
    words = struct.pack("<8Q", 2, 1, ALLOCATED | 77 << 8 | 88 << 16, 5, 0, 4096, 4096, 0)
    freed = struct.pack("<8Q", 4, 1, FREED | 77 << 8 | 88 << 16, 5, 1, 4096, 4096, 0)

    ledger, _ = fed([words], b"")

    assert [row[2:6] for row in testing.flat_rows(ledger)["process_pools"]] == [(9, 4096, 4096, 1)]
    assert [row[2:5] for row in testing.flat_rows(ledger)["process_kinds"]] == [(Kind.UNKNOWN, 4096, 1)]
    assert outcome([words, freed], b"")["list"] == Counter()


def test_what_is_fed_is_what_events_decode_to() -> None:
    event = BufferAllocated(
        sequence=3,
        id=9,
        reserved_bytes=2048,
        requested_bytes=2000,
        address=64,
        layout=BufferLayout.BLOCK_SHARDED,
        page_low=0x234,
        page_high=1,
        pool=Pool.L1,
    )

    ledger, key = fed([encode_record(event)], b"")

    assert decode_record(encode_record(event)) == event
    [(_, kind, id, pool, _, reserved, requested, address, *_, layout, page, _, _, _, _, _)] = ledger.allocations(key)
    assert (kind, id, pool, reserved, requested, address) == (1, 9, 2, 2048, 2000, 64)
    assert (layout, page) == (event.layout.number, event.page_bytes) == (5, 0x1234)
