"""Incidents as text: the block of `ttmem run` word for word, the whole story by what it must say, both at any width."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.metal.refused_memory import KIB, MIB, NOW, RefusingChip, site
from tests.unit.analysis.test_refusals import REFUSALS, Refusal
from ttmem.analysis import Explanation, explain
from ttmem.snapshot.incidents import HeldEntry, Incident, IncidentCopy, Site
from ttmem.snapshot.values import Device, TimeNs, replace
from ttmem.view import plain
from ttmem.view.incidents.block import incident_block
from ttmem.view.incidents.story import incident_story
from ttmem.view.incidents.words import headline
from ttmem.view.page import PageOptions
from ttmem.view.table import width_of
from ttmem.view.texts import size_text

SECOND = 1_000_000_000
WIDE = PageOptions()


def chips(count: int) -> list[Device]:
    """As the incidents of `RefusingChip` name them."""
    bare = (Device.bare(number, number, index=number, name=f"chip{number}") for number in range(count))
    return [replace(device, is_known=True) for device in bare]


def aged(copy: IncidentCopy, **ages: int) -> IncidentCopy:
    """With entries that are so many seconds old."""
    entries = tuple(
        replace(entry, time_ns=TimeNs(NOW - ages[entry.id] * SECOND)) if entry.id in ages else entry
        for entry in copy.entries
    )
    return replace(copy, entries=entries)


def asked_of_a_mesh() -> Explanation:
    """Eight chips as one; one large holder in the middle, and many small ones below."""
    chip = RefusingChip("n300", chip_count=8)
    chip.hold("mask", chip.l1(182 * KIB), "model.py:12 masks")
    chip.hold("attention", chip.l1(430 * KIB), "model.py:77 attention")
    chip.hold("gone", chip.l1(301 * KIB))
    for number in range(42):
        chip.hold(f"scale{number}", chip.l1(4 * KIB), f"model.py:{200 + number} scale")
    chip.free("gone")
    copy = chip.refused(
        chip.l1(512 * KIB),
        "model.py:118 forward < model.py:201 main",
        phase="decode",
        operation="ttnn.matmul",
        operations_since=0,
        launches_since=0,
    )
    cb = HeldEntry(
        kind="circular_buffer",
        memory="cb",
        id="3",
        address=105_824,
        reserved_bytes=9,
        requested_bytes=9,
        per_bank_bytes=0x51000 - 105_824,
        program=12,
        cores="0,0-7,7",
        time_ns=NOW,
        sequence=500,
    )
    return explain(aged(chip.copy(copy.incident, [cb]), attention=12, mask=300), phase_run=41)


def text_of(found: Explanation, count: int = 8, options: PageOptions = WIDE) -> str:
    return plain(incident_block(found, chips(count), options, "ttmem explain 4711"))


def test_the_block_of_memory_that_ran_out_is_word_for_word_this() -> None:
    lines = text_of(asked_of_a_mesh()).splitlines()

    assert lines[0] == (
        "  OUT OF MEMORY  chips 0-7 (one mesh), L1: asked 512 KiB per core on 64 cores, free 581 KiB, "
        "largest block 301 KiB per core"
    )
    assert lines[1] == (
        "    asked by   model.py:118 forward < model.py:201 main   (ttnn.matmul, phase decode, its 41st run); "
        "the last thing it did"
    )
    assert lines.pop(2) == (
        "    why        581 KiB are free per core, but in 2 holes, and the largest is 301 KiB: 211 KiB too little"
    )
    assert lines[2] == (
        "    held by     430 KiB  model.py:77 attention   1 buffer, 12 s old: freeing it opens a block of 731 KiB"
    )
    assert lines[3] == "                182 KiB  model.py:12 masks       1 buffer, 5 min old"
    assert lines[4].startswith("               4.00 KiB  model.py:200 scale      1 buffer, ")
    assert lines[7] == "               and 39 more (156 KiB)"
    assert lines[8] == (
        "    floor      lowest L1 buffer 0x5fc00 is a buffer of 4.00 KiB per core (model.py:241 scale); "
        "circular buffers of program 12 need up to 0x51000"
    )
    assert lines[9:] == ["    next       ttmem explain 4711"]


def test_dram_is_told_in_all_banks() -> None:
    chip = RefusingChip()
    chip.hold("weights", chip.dram(900 * MIB), "model.py:12 load")
    found = explain(chip.refused(chip.dram(200 * MIB), launches_since=1204, operations_since=5000))

    lines = text_of(found, 1).splitlines()

    assert lines[0] == (
        "  OUT OF MEMORY  chip 0, DRAM: asked 2.34 GiB (200 MiB in each of 12 banks), free 1.44 GiB, "
        "largest block 1.44 GiB"
    )
    assert lines[1] == "    asked by   line not known; the program went on (1,204 launches since)"
    assert lines[2] == "    why        only 1.44 GiB are free: 924 MiB too little"
    assert "10.5 GiB  model.py:12 load   1 buffer" in lines[3]
    assert lines[3].endswith("freeing it opens a block of 12.0 GiB")


def test_without_a_line_the_operation_is_named_once() -> None:
    chip = RefusingChip()
    copy = chip.refused(chip.l1(1400 * KIB), operation="ttnn.empty")
    asked = replace(copy.incident, site=Site(operation="ttnn.empty", tensor="1x1x8x8 bfloat16 tile"))

    text = text_of(explain(replace(copy, incident=asked)), 1)

    assert "    asked by   ttnn.empty   (1x1x8x8 bfloat16 tile)" in text


def test_where_less_is_free_than_was_asked_the_largest_block_is_named_too() -> None:
    chip = RefusingChip()
    chip.hold("first", chip.l1(500 * KIB), "model.py:1 a")
    chip.hold("gone", chip.l1(100 * KIB))
    chip.hold("second", chip.l1(500 * KIB), "model.py:2 b")
    chip.free("gone")

    [why] = [line for line in text_of(explain(chip.refused(chip.l1(512 * KIB))), 1).splitlines() if " why " in line]

    assert why == "    why        only 361 KiB are free per core, the largest block 261 KiB: 251 KiB too little"


@pytest.mark.parametrize(
    ("changes", "guess"),
    [
        ({}, ", probably a semaphore"),
        ({"page_bytes": 2048}, ""),
        ({"layout": "interleaved"}, ""),
        ({"site": Site(tensor="1x1x8x8 uint32 row major")}, ""),
    ],
)
def test_what_looks_like_a_semaphore_is_called_probably_one(changes: dict[str, Any], guess: str) -> None:
    chip = RefusingChip()
    chip.hold("big", chip.l1(700 * KIB), "model.py:1 a")
    chip.hold("tiny", chip.l1(32), "model.py:31 ready")
    copy = chip.refused(chip.l1(900 * KIB))
    word = {"page_bytes": 4, "layout": "height_sharded"} | changes
    entries = tuple(replace(one, **word) if one.per_bank_bytes == 32 else one for one in copy.entries)

    text = text_of(explain(replace(copy, entries=entries)), 1)

    assert f" is a buffer of 32 B per core{guess} (" in text


def test_buffers_that_must_go_together_are_a_row_of_their_own() -> None:
    chip = RefusingChip()
    for token in range(10):
        chip.hold(f"hidden{token}", chip.l1(112 * KIB), "model.py:131 keep_hidden")
    found = explain(chip.refused(chip.l1(400 * KIB)))

    assert (
        "    to fit     freeing these 2 buffers (224 KiB, model.py:131 keep_hidden) opens a block of 465 KiB\n"
        in text_of(found, 1)
    )


def a_clash() -> Explanation:
    chip = RefusingChip()
    chip.hold("weights", chip.l1(300 * KIB), "model.py:12 load")
    for token in range(7):
        chip.hold(f"hidden{token}", chip.l1(100 * KIB), "model.py:131 keep_hidden")
    lowest = chip.held["hidden6"].placement.address
    incident = Incident(
        number=2,
        kind="clash",
        memory="l1",
        time_ns=NOW,
        device_ids=("0x0000000000000000",),
        is_mesh=False,
        program=3,
        operation="ttnn.rms_norm",
        cores="0,0-7,7",
        cb_end_address=lowest + 85 * KIB,
        lowest_buffer_address=lowest,
        site=site("model.py:140 norm"),
        launches_since=0,
        operations_since=12,
        text="Statically allocated circular buffers in program 3 clash with L1 buffers",
    )
    return explain(chip.copy(incident))


def test_the_block_of_a_clash_names_program_cores_addresses_and_what_is_in_the_way() -> None:
    lines = text_of(a_clash(), 1).splitlines()

    assert lines[0] == (
        "  CIRCULAR BUFFERS CLASH  chip 0, L1: program 3 (ttnn.rms_norm) needs circular buffers up to 0x89400 on cores "
        "0,0-7,7, but L1 buffers begin at 0x74000: 85.0 KiB missing"
    )
    assert lines[1] == "    asked by   model.py:140 norm   (ttnn.rms_norm); nothing was launched after it"
    assert lines[2].startswith("    in the way 0x74000  100 KiB per core  model.py:131 keep_hidden, ")
    assert len([line for line in lines if "keep_hidden" in line]) == 2  # the other is the floor


def test_more_than_there_is_says_how_much_more_and_what_helps() -> None:
    chip = RefusingChip()
    chip.hold("hidden", chip.l1(100 * KIB), "model.py:90 mlp")
    found = explain(chip.refused(chip.l1(1500 * KIB)))
    space = max(line.end_address - line.begin_address for line in found.lines)
    text = plain(incident_story(found, chips(1), WIDE))

    assert f"if everything were freed ({size_text(1500 * KIB - space)} too little); shard it differently" in text
    assert "a smaller data type, or keep it in DRAM" in text
    assert "Nothing that could be freed makes enough room." in text


def test_circular_buffers_that_alone_are_too_large_have_nothing_in_their_way() -> None:
    incident = replace(a_clash().incident, lowest_buffer_address=None, cb_end_address=0x200000)

    text = plain(incident_story(explain(RefusingChip().copy(incident)), chips(1), WIDE))

    assert "program 3 (ttnn.rms_norm) needs circular buffers up to 0x200000 on cores 0,0-7,7\n" in text
    assert "No L1 buffer: the circular buffers alone reach beyond the end of L1." in text


def test_the_block_of_an_unsafe_replay_names_both_sites() -> None:
    incident = Incident(
        number=1,
        kind="unsafe_replay",
        memory="dram",
        time_ns=NOW,
        device_ids=("0x0000000000000000",),
        is_mesh=False,
        trace=5,
        address=0x2900040,
        requested_bytes=3 * MIB,
        site=site("model.py:140 late"),
        other_site=site("model.py:60 capture"),
    )
    found = explain(RefusingChip().copy(incident))
    said = "chip 0, DRAM: trace 5 was replayed while a buffer of 3.00 MiB lies where it writes (0x2900040)"

    assert text_of(found, 1).splitlines() == [
        f"  UNSAFE REPLAY  {said}",
        "    made by    model.py:140 late",
        "    captured   model.py:60 capture",
        "    to avoid   allocate it before the capture, or free it before the replay",
        "    next       ttmem explain 4711",
    ]


def test_an_unsafe_replay_says_how_often_over_what_and_how_sure_it_is() -> None:
    incident = Incident(
        number=1,
        kind="unsafe_replay",
        memory="l1",
        time_ns=NOW,
        device_ids=("0x0000000000000000",),
        is_mesh=False,
        is_uncertain=True,
        repeat_count=1203,
        trace=0,
        address=0x5000,
        cb_end_address=0x5800,
        requested_bytes=4096,
    )
    text = plain(incident_story(explain(RefusingChip().copy(incident)), chips(1), WIDE))

    assert (
        "chip 0, L1: trace 0 was replayed 1,204 times while a buffer of 4.00 KiB may lie where its programs have "
        "circular buffers (up to 0x5800) (0x5000)" in text
    )
    assert "What this trace writes is known roughly" in text


def test_figures_that_nobody_knows_are_said_to_be_unknown() -> None:
    incident = Incident(
        number=1,
        kind="out_of_memory",
        memory="l1",
        time_ns=NOW,
        device_ids=("0x00000000000000ff",),
        is_mesh=False,
        requested_bytes=4096,
    )

    assert headline(incident, []) == (
        "chip 0x00000000000000ff, L1: asked 4.00 KiB, free not known, largest block not known"
    )


def explained(make: Callable[[], Refusal]) -> Explanation:
    refusal = make()
    return explain(refusal.chip.refused(refusal.asked, "model.py:118 forward < model.py:201 main", phase="decode"))


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("make", [*REFUSALS, a_clash, asked_of_a_mesh])
def test_at_any_width_no_line_is_wider_and_ascii_is_ascii(make: Callable[[], object], width: int) -> None:
    found = make()
    if not isinstance(found, Explanation):
        found = explained(lambda: make())  # type: ignore[arg-type, return-value]
    options = PageOptions(width, is_ascii=True)

    text = text_of(found, 1, options) + plain(incident_story(found, chips(1), options))

    assert text.isascii()
    assert max(map(width_of, text.splitlines())) <= width


def test_the_story_has_the_map_the_set_the_holders_and_the_runtimes_words() -> None:
    text = plain(incident_story(asked_of_a_mesh(), chips(8), PageOptions(100, is_ascii=True)))

    why = "581 KiB are free per core, but in 2 holes, and the largest is 301 KiB: 211 KiB too little"
    assert why in " ".join(text.split())
    map_line = next(line for line in text.splitlines() if "####" in line)
    assert len(map_line) == 99
    assert "...." in map_line
    assert "0x19d60" in text
    assert "0x16e000" in text
    assert "[=" in text
    assert " asked 512 KiB =" in text
    for title in (" TO MAKE ROOM", " HELD BY LINE", " HELD BY KIND", " L1\n", " THE RUNTIME SAID"):
        assert f"\n{title}" in text
    assert "Freeing this buffer (430 KiB, model.py:77 attention) opens a block of 731 KiB." in text
    assert "Out of Memory: Not enough space to allocate" in text


def test_the_map_of_a_clash_shows_where_both_meet() -> None:
    incident = replace(a_clash().incident, space_begin_address=105_824, space_end_address=1_499_136)
    chip = RefusingChip()
    for number in range(10):
        chip.hold(f"hidden{number}", chip.l1(100 * KIB), "model.py:131 keep_hidden")

    text = plain(incident_story(explain(chip.copy(incident)), chips(1), PageOptions(80, is_ascii=True)))

    assert re.search(r"\n   =+X+#+\n   0x19d60 +0x16e000\n   # held, = circular buffers, X both\n", text)


def test_a_hole_smaller_than_a_column_still_shows() -> None:
    chip = RefusingChip()
    chip.hold("a", chip.l1(600 * KIB), "model.py:1 a")
    chip.hold("gap", chip.l1(1 * KIB))
    chip.hold("b", chip.l1(700 * KIB), "model.py:2 b")
    chip.free("gap")
    found = explain(chip.refused(chip.l1(500 * KIB)))

    map_line = plain(incident_story(found, chips(1), PageOptions(80, is_ascii=True))).splitlines()

    assert any("#+#" in line for line in map_line)


def test_names_of_others_are_cleaned() -> None:
    chip = RefusingChip()
    chip.hold("a", chip.l1(1000 * KIB), "model.py:1 a\x1b[31m")
    found = explain(chip.refused(chip.l1(700 * KIB), "model.py:2 b\x07", text="no\x1b[2J room"))

    text = text_of(found, 1) + plain(incident_story(found, chips(1), WIDE))

    assert "\x1b" not in text
    assert "\x07" not in text
