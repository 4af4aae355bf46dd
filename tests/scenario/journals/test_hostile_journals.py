"""Journals that change under the reader: cut, grown, scribbled on, replaced. No crash, no hang, no harm to others."""

import os
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.journals.bad_journals import (
    HEADER,
    SAMPLE_CHIP,
    AnyReader,
    NativeReader,
    Sample,
    Vandal,
    a_healthy_process,
    a_vandal,
    assert_unharmed,
    is_locked,
)
from tests.support.journals.reporters import Nursery
from ttmem._native import testing
from ttmem.events import BufferAllocated, PhaseBegan, encode_record

NAME = "4000-77-0123abcd.journal"
SCRIBBLING_SECONDS = 0.4


@pytest.fixture
def vandal() -> Iterator[Vandal]:
    with a_vandal() as vandal:
        yield vandal


@pytest.fixture
def victim(sample: Sample, journals: Path, vandal: Vandal) -> Path:
    """A copy of the sample that counts as alive."""
    path = journals / NAME
    sample.put(path)
    vandal.hold(path)
    assert is_locked(path)
    return path


def assert_same_as_before(reader: AnyReader, victim: Path) -> None:
    look = reader.look()
    assert_unharmed(look)
    assert (look.damaged, look.states[str(victim)]) == ({}, "live")


PLACES = ["header", "targets", "threads", "slab", "index", "ring", "phases", "arena"]


@pytest.mark.parametrize("place", PLACES)
def test_a_file_that_shrinks_while_it_is_read_is_named_once(
    sample: Sample, read: Callable[[], AnyReader], victim: Path, place: str
) -> None:
    start, end = sample.parts[place]
    reader = read()
    assert_same_as_before(reader, victim)

    os.truncate(victim, (start + end) // 2)
    for sequence in range(sample.head, sample.head + 40):  # something new to read, all around the ring
        append(sample, victim, sequence)
    reader.look()
    look = reader.look()

    assert_unharmed(look)
    assert look.damaged in ({str(victim): 1}, {})
    assert look.damaged or place in ("arena", "index")  # nobody needed the rest of those


def append(sample: Sample, victim: Path, sequence: int) -> None:
    """Publishes one more record as a writer would, where the file still has room for it."""
    record = encode_record(PhaseBegan(sequence=sequence, phase=sequence))
    with victim.open("r+b") as file:
        size = file.seek(0, os.SEEK_END)
        if sample.slot(sequence) + len(record) <= size:
            os.pwrite(file.fileno(), record, sample.slot(sequence))
        if size >= 4096:
            os.pwrite(file.fileno(), struct.pack("<Q", sequence + 1), HEADER["next_sequence"][0])


def test_a_file_that_shrinks_and_grows_again_is_damaged_or_right(
    sample: Sample, read: Callable[[], AnyReader], victim: Path
) -> None:
    reader = read()
    assert_same_as_before(reader, victim)

    os.truncate(victim, 5000)
    os.truncate(victim, len(sample.content))
    reader.look()
    look = reader.look()

    assert_unharmed(look)
    assert look.damaged in ({}, {str(victim): 1})


def test_a_file_that_is_emptied_and_grows_again_is_damaged(
    sample: Sample, read: Callable[[], AnyReader], victim: Path
) -> None:
    reader = read()
    assert_same_as_before(reader, victim)

    os.truncate(victim, 0)
    os.truncate(victim, len(sample.content))
    reader.look()
    look = reader.look()

    assert_unharmed(look)
    assert look.damaged == {str(victim): 1}


def test_a_file_that_grows_while_it_is_read_says_what_it_said(read: Callable[[], AnyReader], victim: Path) -> None:
    reader = read()
    assert_same_as_before(reader, victim)

    with victim.open("ab") as file:
        file.write(b"x" * 100_000)

    assert_same_as_before(reader, victim)


def test_a_journal_that_was_replaced_by_another_is_read_again(
    sample: Sample, read: Callable[[], AnyReader], victim: Path, vandal: Vandal
) -> None:
    reader = read()
    assert_same_as_before(reader, victim)

    other = victim.with_suffix(".other")
    other.write_bytes(bytes(len(sample.content)))
    other.replace(victim)
    reader.look()
    look = reader.look()

    assert_unharmed(look)
    if not isinstance(reader, NativeReader):  # which was told about the first file only
        assert look.damaged == {str(victim): 1}


def test_what_was_read_before_the_damage_showed_is_in_no_balance(
    sample: Sample, victim: Path, nursery: Nursery, journals: Path
) -> None:
    """A call that was under way comes to its end; then, in the same look, the file turns out to be cut."""
    healthy = a_healthy_process(nursery, journals)
    late, then = sample.head, sample.head + 12
    assert sample.slot(late) < sample.slot(then)
    record = encode_record(
        BufferAllocated(sequence=late, id=999, reserved_bytes=1 << 20, requested_bytes=1 << 20, target=1)
    )
    busy = (late << 1 | 1).to_bytes(8, "little") + record[8:]
    with victim.open("r+b") as file:
        os.pwrite(file.fileno(), busy, sample.slot(late))
        os.pwrite(file.fileno(), struct.pack("<Q", late + 1), HEADER["next_sequence"][0])
    reader = NativeReader(journals)
    reader.look()
    with victim.open("r+b") as file:
        os.pwrite(file.fileno(), record, sample.slot(late))
        os.pwrite(file.fileno(), struct.pack("<Q", then + 1), HEADER["next_sequence"][0])
    os.truncate(victim, sample.slot(late) + len(record))

    look = reader.look()

    rows = testing.flat_rows(reader.ledger)
    healthy.kill()
    assert_unharmed(look)
    assert look.damaged == {str(victim): 1}
    chips = {row["number"] for row in rows["devices"] if row["unique_id"] in (SAMPLE_CHIP, SAMPLE_CHIP + 1)}
    assert chips
    assert [row for row in rows["device_pools"] if row[0] in chips and any(row[2:5])] == []


@pytest.mark.parametrize("place", ["everywhere", *(pytest.param(place, marks=pytest.mark.slow) for place in PLACES)])
def test_bytes_may_change_while_they_are_read(
    sample: Sample, read: Callable[[], AnyReader], victim: Path, vandal: Vandal, place: str
) -> None:
    zones = [zone for name, zone in sample.parts.items() if place in (name, "everywhere")]
    if place == "header":
        zones = [(HEADER["next_sequence"][0], HEADER["target_refused"][0] + 8)]
    vandal.start_scribbling(victim, seed=len(place), zones=zones)
    until = time.monotonic() + SCRIBBLING_SECONDS
    looks = 0
    while time.monotonic() < until:
        reader = read()
        for _ in range(3):
            look = reader.look()
            assert_unharmed(look)
            assert look.damaged in ({}, {str(victim): 1})
            looks += 1
    vandal.stop_scribbling()

    assert looks >= 3


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_bytes_may_change_for_long_while_they_are_read(
    sample: Sample, journals: Path, nursery: Nursery, vandal: Vandal, seed: int
) -> None:
    healthy = a_healthy_process(nursery, journals)
    victims = [journals / f"{number}-1-00000000.journal" for number in range(4)]
    for number, victim in enumerate(victims):
        sample.put(victim)
        vandal.hold(victim)
        name = ["slab", "ring", "targets", "arena"][number]
        hot = (HEADER["next_sequence"][0], HEADER["next_sequence"][0] + 2)
        vandal.start_scribbling(victim, seed=seed, zones=[sample.parts[name], sample.parts[name], hot])
    until = time.monotonic() + 8
    while time.monotonic() < until:
        reader = NativeReader(journals)
        for _ in range(20):
            assert_unharmed(reader.look())
    healthy.kill()


def test_the_largest_journal_that_says_it_is_full_is_read_in_time(
    sample: Sample, read: Callable[[], AnyReader], journals: Path, vandal: Vandal
) -> None:
    """A sparse file: a few bytes on disk, a million entries and a million records to look at."""
    path = journals / NAME
    path.write_bytes(largest(sample))
    os.truncate(path, int.from_bytes(path.read_bytes()[16:24], "little"))
    vandal.hold(path)

    reader = read()
    reader.look()
    look = reader.look()

    assert_unharmed(look)


def largest(sample: Sample) -> bytes:
    """A header of the greatest table and ring there may be, laid out as the drawing says."""
    most, page = 1 << 20, 4096
    parts = {"targets": page}
    parts["threads"] = parts["targets"] + 256 * 1024
    parts["slab"] = parts["threads"] + page
    parts["index"] = parts["slab"] + most * 64
    parts["ring"] = parts["index"] + (4096 + 32_768 + 4 * most) * 4
    parts["phases"] = parts["ring"] + most * 64
    parts["arena"] = parts["phases"] + 1024 * 32
    header = Sample(sample.content[:page])
    numbers = {f"{name}_offset": offset for name, offset in parts.items()}
    numbers |= {"table": most, "ring_slots": most, "file_bytes": parts["arena"] + (1 << 20)}
    drawn = [
        header.identity(name, number.to_bytes(4 if name in ("table", "ring_slots") else 8, "little"))
        for name, number in numbers.items()
    ]
    return header.edited(*drawn, header.hot_word("slab_high", most), header.hot_word("next_sequence", 5_000_000))
