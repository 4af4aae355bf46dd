"""What an explanation says of doubts, of what came after, of phases, and of traces."""

import pytest

from tests.support.metal.refused_memory import KIB, MIB, NOW, PID, RefusingChip, site
from ttmem.analysis import Explanation, explain
from ttmem.analysis.core_sets import cores_of, cores_text, share_cores
from ttmem.snapshot import replace
from ttmem.snapshot.codec import decoded_row, encoded
from ttmem.snapshot.incidents import HeldEntry, Incident, IncidentCopy, Site


def changed(copy: IncidentCopy, **changes: object) -> IncidentCopy:
    return replace(copy, incident=replace(copy.incident, **changes))


def a_refusal() -> tuple[RefusingChip, IncidentCopy]:
    chip = RefusingChip()
    chip.hold("mask", chip.l1(60 * KIB), "model.py:31 masks", phase="load")
    chip.hold("attention", chip.l1(700 * KIB), "model.py:77 attention", phase="decode")
    chip.hold("hidden", chip.l1(100 * KIB), "model.py:90 mlp")
    return chip, chip.refused(chip.l1(612 * KIB), "model.py:118 forward", phase="decode")


@pytest.mark.parametrize(
    ("since", "after"),
    [
        ({"operations_since": 0, "launches_since": 0}, "last"),
        ({"operations_since": 40, "launches_since": 0}, "no_launch"),
        ({"operations_since": 40, "launches_since": 12}, "went_on"),
        ({"operations_since": None, "launches_since": None}, "unknown"),
    ],
)
def test_what_came_after_is_distinguished(since: dict[str, int | None], after: str) -> None:
    _, copy = a_refusal()

    assert explain(changed(copy, **since)).after == after


def test_what_its_own_phase_made_is_shown_from_what_was_there_before() -> None:
    chip, copy = a_refusal()
    share = explain(copy).phase_share

    assert share is not None
    reserved = {name: held.placement.reserved_bytes for name, held in chip.held.items()}
    told = share.total_bytes_in_phase, share.total_bytes_before, share.total_bytes_unknown
    assert told == (reserved["attention"], reserved["mask"], reserved["hidden"])


def test_entries_that_were_left_out_make_holes_upper_bounds() -> None:
    _, copy = a_refusal()

    [note] = explain(changed(copy, left_out_count=12, left_out_bytes=4096)).notes

    assert "12 " in note
    assert "upper bounds" in note


def test_without_a_copy_nothing_is_claimed_of_holes() -> None:
    _, copy = a_refusal()
    bare = replace(changed(copy, entry_count=None), entries=())

    found = explain(bare)

    assert (found.lines, found.freeing, found.holders, found.floor) == ((), None, (), None)
    assert found.cause == "full"  # by the figures alone
    assert "not recorded" in found.notes[0]


def test_what_other_threads_did_meanwhile_is_said() -> None:
    _, copy = a_refusal()

    [note] = explain(replace(copy, sequence_after=copy.sequence_after + 7)).notes

    assert "7 times" in note


def test_of_two_that_overlap_the_newer_counts() -> None:
    chip, copy = a_refusal()
    old = copy.entries[1]
    newer = replace(old, id="newer", sequence=old.sequence + 50, site=site("model.py:5 newer"))

    found = explain(chip.copy(copy.incident, [newer]))

    assert found.freeing is not None
    assert [entry.id for entry in found.freeing.entries] == ["newer"]
    assert found.lines[0].free_bytes == explain(copy).lines[0].free_bytes


def test_a_view_takes_no_addresses() -> None:
    chip, copy = a_refusal()
    view = replace(copy.entries[1], id="view", is_view=True, sequence=99, reserved_bytes=0)

    found = explain(chip.copy(copy.incident, [view]))

    assert found.freeing == explain(copy).freeing
    assert found.holders == explain(copy).holders


def test_where_the_end_of_addresses_is_not_reported_it_follows_from_what_is_free() -> None:
    _, copy = a_refusal()
    told = explain(copy).lines[0]

    found = explain(changed(copy, space_begin_address=None, space_end_address=None))

    assert found.lines[0].is_inferred
    assert (found.lines[0].begin_address, found.lines[0].end_address) == (told.begin_address, told.end_address)
    assert any("inferred" in note for note in found.notes)


def test_what_another_mesh_over_the_same_chips_holds_is_of_another_allocator() -> None:
    """It lies where it likes, also where this allocator gave memory to somebody."""
    chip, copy = a_refusal()
    other = replace(
        copy.entries[1], id="other", sequence=90, device_ids=("0x0000000000000001",), site=site("other.py:1 a")
    )

    found = explain(chip.copy(copy.incident, [other]))

    assert found.freeing == explain(copy).freeing
    assert found.holders == explain(copy).holders


def test_buffers_of_the_same_core_on_two_chips_are_both_in_the_way() -> None:
    """One address on all chips must be clear of both."""
    chip = RefusingChip(chip_count=2, is_hybrid=True)
    chip.hold("first", chip.on_cores("3,3-3,3", 300 * KIB), "moe.py:8 first")
    copy = chip.refused(chip.l1(1200 * KIB))
    [first] = copy.entries
    on_chip = [
        replace(first, id=name, sequence=number, device_ids=(name,))
        for number, name in enumerate(("0x0000000000000000", "0x0000000000000001"), start=1)
    ]

    found = explain(replace(copy, entries=tuple(on_chip)))

    assert found.freeing is not None
    assert {entry.id for entry in found.freeing.entries} == {entry.id for entry in on_chip}


def test_figures_of_all_banks_are_divided_where_no_others_were_reported() -> None:
    _, copy = a_refusal()
    bare = changed(
        copy,
        requested_per_bank_bytes=None,
        free_per_bank_bytes=None,
        largest_free_per_bank_bytes=None,
        bank_count=None,
        space_begin_address=None,
        space_end_address=None,
    )

    found, told = explain(bare), explain(copy)

    assert (found.cause, found.freeing, found.missing_bytes) == (told.cause, told.freeing, told.missing_bytes)
    assert found.lines[0].begin_address == told.lines[0].begin_address
    assert "inferred" in found.notes[0]


def test_what_was_reported_of_one_bank_is_not_divided_again() -> None:
    """A request that this memory does not take at all: nobody said what each bank would have had to store."""
    _, copy = a_refusal()

    found = explain(changed(copy, requested_per_bank_bytes=None, requested_bytes=64 * KIB, free_bytes=None))

    assert found.incident.free_per_bank_bytes == copy.incident.free_per_bank_bytes
    assert (found.incident.requested_per_bank_bytes, found.cause, found.freeing) == (1 * KIB, "room_seen", None)


def test_a_site_that_a_program_named_itself_is_shown_without_its_directories() -> None:
    chip = RefusingChip()
    chip.hold("a", chip.l1(1000 * KIB))
    copy = chip.refused(chip.l1(700 * KIB))
    named = Site(text="src/model.py:12 load\nsrc/main.py:9 main")
    entries = tuple(replace(entry, site=named) for entry in copy.entries)

    [holder] = explain(replace(copy, entries=entries)).holders

    assert holder.name == "model.py:12 load"


def test_what_the_allocator_counts_and_no_process_reports_is_said() -> None:
    _, copy = a_refusal()
    figures = copy.incident

    assert figures.free_per_bank_bytes is not None
    [note] = explain(changed(copy, free_per_bank_bytes=figures.free_per_bank_bytes - 4096, free_bytes=None)).notes

    assert "4,096 bytes per bank" in note


def test_a_hole_that_is_large_enough_in_the_copy_is_no_reason_to_free_anything() -> None:
    """Somebody freed while the copy was made, and the runtime's text says that the largest block was large enough."""
    _, copy = a_refusal()
    entries = tuple(entry for entry in copy.entries if entry.id != "attention")
    late = replace(copy, entries=entries)

    found = explain(changed(late, largest_free_per_bank_bytes=700 * KIB, free_per_bank_bytes=700 * KIB))

    assert (found.cause, found.freeing) == ("room_seen", None)


def test_allocations_without_an_address_are_counted_and_make_holes_upper_bounds() -> None:
    chip = RefusingChip()
    chip.hold("weights", chip.dram(900 * MIB), "model.py:12 load")
    copy = chip.refused(chip.dram(200 * MIB))
    binary = HeldEntry(
        kind="program_binary",
        memory="dram",
        id="7",
        address=None,
        reserved_bytes=4096,
        requested_bytes=4096,
        per_bank_bytes=None,
        time_ns=NOW,
        sequence=77,
    )

    found = explain(chip.copy(copy.incident, [binary]))

    assert any("no known address" in note and "upper bounds" in note for note in found.notes)
    assert [holder.kind for holder in found.by_kind] == ["buffer", "program_binary"]


def test_an_unsafe_replay_names_the_trace_both_sites_the_address_and_the_bytes() -> None:
    chip = RefusingChip()
    chip.hold("late", chip.dram(3 * MIB), "model.py:140 late")
    address = chip.held["late"].placement.address
    incident = Incident(
        number=3,
        kind="unsafe_replay",
        memory="dram",
        time_ns=NOW,
        device_ids=("0x0000000000000001",),
        is_mesh=False,
        trace=5,
        address=address,
        site=site("model.py:140 late"),
        other_site=site("model.py:60 capture"),
    )

    found = explain(chip.copy(incident))

    assert found.replay is not None
    assert (found.replay.trace, found.replay.address, found.replay.size_bytes) == (
        5,
        address,
        chip.held["late"].placement.reserved_bytes,
    )
    assert (found.replay.made_by, found.replay.captured_by) == (site("model.py:140 late"), site("model.py:60 capture"))
    assert (found.cause, found.lines, found.clash, found.name) == (None, (), None, f"{PID}-3")


def test_an_explanation_survives_json() -> None:
    _, copy = a_refusal()
    found = explain(copy)

    assert decoded_row(encoded(found), Explanation) == found


@pytest.mark.parametrize(
    ("text", "count"),
    [("0,0-7,7", 64), ("0,0-7,7;0,8-3,8", 68), ("3,4", 1), ("2,2-2,2", 1), ("worker 3", None), ("", None)],
)
def test_sets_of_cores_are_read(text: str, count: int | None) -> None:
    cores = cores_of(text)

    assert (None if cores is None else len(cores)) == count
    if cores is not None:
        assert cores_of(cores_text(cores)) == cores


def test_cores_that_are_unknown_may_be_anywhere() -> None:
    assert share_cores(None, "0,0-1,1")
    assert share_cores("0,0-1,1", "1,1-2,2")
    assert not share_cores("0,0-1,1", "2,2-3,3")
