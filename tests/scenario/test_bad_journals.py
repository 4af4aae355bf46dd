"""Files that are no journals, or no longer: each is named once, and harms nobody else."""

import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.journals.bad_journals import (
    IDENTITY,
    SAMPLE_CHIP,
    AnyReader,
    Look,
    NativeReader,
    Sample,
    Vandal,
    a_healthy_process,
    a_vandal,
    assert_unharmed,
)
from tests.support.journals.reporters import Nursery
from ttmem._native import testing

NAME = "4000-77-0123abcd.journal"
STRUCTURE = [
    name
    for name in IDENTITY
    if name.endswith(("_offset", "_bytes", "_count"))
    or name in ("magic", "version", "table", "ring_slots", "phase_peaks")
]
CLAIMS = [name for name in IDENTITY if name not in STRUCTURE]
EXTREMES = [
    b"\x00",
    b"\xff",
    b"\x01\x00\x00\x00\x00\x00\x00\x00",
    b"\xff\xff\xff\x7f",
    b"\x00" * 7 + b"\x80",
    b"\x1b[31m\n",
]


@pytest.fixture(scope="module")
def vandal() -> Iterator[Vandal]:
    with a_vandal() as vandal:
        yield vandal


def assert_refused(look: Look, path: Path, *words: str) -> None:
    assert_unharmed(look)
    assert look.damaged == {str(path): 1}
    assert all(word in look.refused[str(path)] for word in words), look.refused


def cuts(sample: Sample) -> list[int]:
    """Lengths that end in, at, or just beside every part."""
    ends = {end for _, end in sample.parts.values()} | {0, 1, 7, 8, 100, 456, 457, 1024}
    near = {length + step for length in ends for step in (-1, 0, 1)}
    return sorted(length for length in near if 0 <= length < len(sample.content))


def test_an_untouched_copy_is_the_journal_of_a_dead_process(
    sample: Sample, read: Callable[[], AnyReader], journals: Path
) -> None:
    sample.put(journals / NAME)

    look = read().look()

    assert_unharmed(look)
    assert (look.damaged, look.states[str(journals / NAME)]) == ({}, "ended")


def test_a_journal_cut_at_any_place_is_named_once(
    sample: Sample, read: Callable[[], AnyReader], journals: Path
) -> None:
    lengths = cuts(sample)
    assert len(lengths) > 20
    for length in lengths:
        sample.put(journals / f"{length}-1-00000000.journal")
        os.truncate(journals / f"{length}-1-00000000.journal", length)
    reader = read()
    reader.look()

    look = reader.look()

    assert_unharmed(look)
    assert look.damaged == {str(journals / f"{length}-1-00000000.journal"): 1 for length in lengths}


def test_a_journal_that_is_longer_than_its_header_says_is_named(
    sample: Sample, read: Callable[[], AnyReader], journals: Path
) -> None:
    (journals / NAME).write_bytes(sample.content + b"more")

    assert_refused(read().look(), journals / NAME, "bytes long")


@pytest.mark.parametrize("length", [1, 100, 4096, 70_000, -1])
def test_zeros_are_no_journal(sample: Sample, read: Callable[[], AnyReader], journals: Path, length: int) -> None:
    (journals / NAME).write_bytes(bytes(length if length >= 0 else len(sample.content)))

    assert_refused(read().look(), journals / NAME)


@pytest.mark.parametrize("length", [1, 100, 4096, 70_000, -1])
def test_another_users_file_is_no_journal(
    sample: Sample, read: Callable[[], AnyReader], journals: Path, length: int
) -> None:
    noise = random.Random(length).randbytes(length if length >= 0 else len(sample.content))
    (journals / NAME).write_bytes(noise)

    assert_refused(read().look(), journals / NAME)


@pytest.mark.parametrize("version", [0, 1, 2, 3, 255, (1 << 32) - 1])
def test_another_version_is_named_with_both_numbers(
    sample: Sample, read: Callable[[], AnyReader], journals: Path, version: int
) -> None:
    sample.put(journals / NAME, sample.identity("version", version.to_bytes(4, "little")))

    assert_refused(read().look(), journals / NAME, f"version {version}", "version 5", "upgrade")


@pytest.mark.parametrize("name", STRUCTURE)
def test_a_header_that_draws_another_file_is_refused(
    sample: Sample, read: Callable[[], AnyReader], journals: Path, name: str
) -> None:
    original = sample.identity(name, sample.number(name).to_bytes(IDENTITY[name][1], "little"))
    assert sample.edited(original) == sample.content
    edited = {sample.identity(name, value) for value in EXTREMES} - {original}
    for number, edit in enumerate(edited):
        sample.put(journals / f"{number}-1-00000000.journal", edit)

    look = read().look()

    assert_unharmed(look)
    assert look.damaged == {str(journals / f"{number}-1-00000000.journal"): 1 for number in range(len(edited))}


@pytest.mark.parametrize("is_alive", [False, True], ids=["dead", "alive"])
@pytest.mark.parametrize("name", CLAIMS)
def test_a_header_that_claims_nonsense_misleads_no_viewer(
    sample: Sample, read: Callable[[], AnyReader], journals: Path, vandal: Vandal, name: str, is_alive: bool
) -> None:
    for number, value in enumerate(EXTREMES):
        path = journals / f"{number}-1-00000000.journal"
        sample.put(path, sample.identity(name, value))
        if is_alive:
            vandal.hold(path)
    reader = read()
    reader.look()

    look = reader.look()

    assert_unharmed(look)
    assert set(look.damaged.values()) <= {1}
    assert len(look.states) + len(look.refused) >= len(EXTREMES) + 1


HOT_WORDS = [
    "next_sequence",
    "free_head",
    "slab_high",
    "index_live",
    "skipped",
    "untabled_allocs",
    "untabled_frees",
    "unsized_frees",
    "unmatched_frees",
    "replaced",
    "clamped",
    "shrunk_kernels",
    "arena_used",
    "arena_refused",
    "phases_refused",
    "label",
    "threads_used",
    "target_refused",
]
NUMBERS = [0, 1, 63, 64, 65, 1 << 20, 1 << 32, (1 << 60) - 1, 1 << 62, (1 << 63) - 1, 1 << 63, (1 << 64) - 1]


@pytest.mark.parametrize("is_alive", [False, True], ids=["dead", "alive"])
@pytest.mark.parametrize("name", HOT_WORDS)
def test_a_hot_word_that_says_nonsense_misleads_no_viewer(
    sample: Sample, read: Callable[[], AnyReader], journals: Path, vandal: Vandal, name: str, is_alive: bool
) -> None:
    for number in NUMBERS:
        path = journals / f"{number}-1-00000000.journal"
        sample.put(path, sample.hot_word(name, number))
        if is_alive:
            vandal.hold(path)
    reader = read()
    reader.look()

    look = reader.look()

    assert_unharmed(look)
    assert set(look.damaged.values()) <= {1}


def test_the_owner_of_the_file_is_the_user_whatever_the_header_says(
    sample: Sample, journals: Path, nursery: Nursery
) -> None:
    healthy = a_healthy_process(nursery, journals)
    sample.put(journals / NAME, sample.identity("uid", (12345).to_bytes(4, "little")))
    reader = NativeReader(journals)
    reader.look()
    healthy.kill()

    assert {row["uid"] for row in testing.flat_rows(reader.ledger)["processes"]} == {os.geteuid()}


zones = st.sampled_from(
    ["header", "targets", "slab", "ring", "phases", "arena", "incidents", "copies", "stack_nodes", "stack_texts"]
)
edits = st.lists(
    st.tuples(zones, st.floats(0, 1, exclude_max=True), st.binary(min_size=1, max_size=16)), min_size=1, max_size=12
)


def look_at_edited(
    sample: Sample, reader: AnyReader, path: Path, vandal: Vandal | None, edits: list[tuple[str, float, bytes]]
) -> None:
    """Puts an edited copy beside the healthy journal, alive if a vandal holds it, and looks."""
    path.unlink(missing_ok=True)
    if vandal:
        vandal.release()
    places = [(sample.parts[zone], where, new) for zone, where, new in edits]
    sample.put(path, *[(int(start + (end - start) * where), new) for (start, end), where, new in places])
    if vandal:
        vandal.hold(path)
    reader.look()
    look = reader.look()
    assert_unharmed(look)
    assert look.damaged in ({}, {str(path): 1})


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(edits=edits, is_alive=st.booleans())
def test_any_bytes_may_be_changed_anywhere(
    sample: Sample,
    read: Callable[[], AnyReader],
    journals: Path,
    vandal: Vandal,
    edits: list[tuple[str, float, bytes]],
    is_alive: bool,
) -> None:
    look_at_edited(sample, read(), journals / NAME, vandal if is_alive else None, edits)


@pytest.mark.slow
@settings(max_examples=1000, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(edits=edits, is_alive=st.booleans())
def test_any_bytes_may_be_changed_anywhere_many_times(
    sample: Sample,
    read: Callable[[], AnyReader],
    journals: Path,
    edits: list[tuple[str, float, bytes]],
    is_alive: bool,
) -> None:
    with a_vandal() as vandal:  # each holds one file at a time: locks of removed files would pile up
        look_at_edited(sample, read(), journals / NAME, vandal if is_alive else None, edits)


def test_counters_that_say_everything_is_full_do_not_wrap_the_sums_of_others(
    sample: Sample, journals: Path, nursery: Nursery, vandal: Vandal
) -> None:
    """The table is said to have been full, so the counters are believed: they claim 2^63 - 1 bytes on a shared chip."""
    healthy = a_healthy_process(nursery, journals)
    chip = healthy.open_device(SAMPLE_CHIP)
    healthy.call("report_buffer_alloc", chip, 2, 1000)
    most = ((1 << 63) - 1).to_bytes(8, "little")
    targets, _ = sample.parts["targets"]
    used = [(targets + target * 1024 + 256 + pool * 64, most) for target in range(1, 4) for pool in range(10)]
    sample.put(journals / NAME, sample.hot_word("untabled_allocs", 1), *used)
    vandal.hold(journals / NAME)
    reader = NativeReader(journals)
    reader.look()
    reader.look()
    rows = testing.flat_rows(reader.ledger)
    healthy.kill()

    [device] = [row["number"] for row in rows["devices"] if row["unique_id"] == SAMPLE_CHIP]
    [dram] = [row[2] for row in rows["device_pools"] if row[:2] == (device, 0)]
    [own] = [row["key"] for row in rows["processes"] if row["label"] == "healthy"]
    assert [row[3] for row in rows["process_pools"] if row[:3] == (own, device, 0)] == [1000]
    assert dram >= 1000
