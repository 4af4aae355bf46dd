"""Regions byte by byte: all four layouts, and bytes that are none."""

import re
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.machine.stock_regions import NOON_NS, READY, SIZES, Slot, a_region
from ttmem.errors import RegionDamaged
from ttmem.sources.stock_shm.layouts import CHIPS, HEAD, LAYOUTS, PROCESSES, LayoutPart
from ttmem.sources.stock_shm.region import CounterSums, decode_region

VERSIONS = sorted(SIZES)
SUMS = st.tuples(*[st.integers(0, 1 << 44)] * 5)
SLOTS = st.builds(Slot, st.integers(1, (1 << 31) - 1), SUMS, st.integers(0, 1 << 62), st.binary(max_size=64))


def test_the_tables_are_those_of_the_runtimes_sources() -> None:
    """Offsets as the facts about the runtime have them, for every layout."""
    head = {part.name: part.offset_bytes for part in HEAD}
    chip = {part.name: part.offset_bytes for part in CHIPS.parts}
    process = {part.name: part.offset_bytes for part in PROCESSES.parts}

    assert head == {
        "version": 0,
        "active_processes": 4,
        "last_update_ns": 8,
        "references": 16,
        "board_serial": 24,
        "asic_id": 32,
        "device_id": 40,
        "dram": 48,
        "l1": 56,
        "l1_small": 64,
        "trace": 72,
        "cb": 80,
    }
    assert (CHIPS.offset_bytes, CHIPS.slot_count, CHIPS.stride_bytes, CHIPS.end_bytes) == (88, 16, 48, 856)
    assert chip == {"chip_id": 0, "is_remote": 4, "dram": 8, "l1": 16, "l1_small": 24, "trace": 32, "cb": 40}
    assert (PROCESSES.slot_count, PROCESSES.stride_bytes, PROCESSES.end_bytes) == (64, 120, 8536)
    assert process == {
        "pid": 0,
        "dram": 8,
        "l1": 16,
        "l1_small": 24,
        "trace": 32,
        "cb": 40,
        "last_update_ns": 48,
        "name": 56,
    }
    assert LAYOUTS[4].tail == (LayoutPart("init_state", 8536, "I"),)
    assert [LAYOUTS[version].sizes_bytes[-1] for version in VERSIONS] == [8576] * 4


def test_the_page_about_them_names_every_layout_and_its_sizes() -> None:
    page = Path(__file__).parents[4] / "docs" / "understanding" / "stock-counters.md"
    table = page.read_text(encoding="utf-8").split("## Layouts")[1]
    rows = re.findall(r"^\| (\d) \| ([\d,]+(?: or [\d,]+)?) \|", table, flags=re.MULTILINE)

    assert {int(version): sizes.replace(",", "").split(" or ") for version, sizes in rows} == {
        version: [str(size) for size in layout.sizes_bytes] for version, layout in LAYOUTS.items()
    }


@pytest.mark.parametrize("version", VERSIONS)
def test_every_layout_is_read(version: int) -> None:
    slot = Slot(17, (1, 2, 3, 4, 5), NOON_NS + 1, b"model")
    region = decode_region(a_region(slot, version=version, references=3, device_id=6, asic_id=99))
    [process] = region.processes
    [chip] = region.chips

    assert (region.layout.version, region.reference_count, region.device_id, region.asic_id) == (version, 3, 6, 99)
    assert region.totals == CounterSums(1, 2, 3, 4, 5) == chip.sums == process.sums
    assert (process.pid, process.name, process.last_update_ns) == (17, "model", NOON_NS + 1)
    assert (region.unnamed_count, region.is_ready) == (2, True)


@pytest.mark.parametrize("version", VERSIONS)
def test_chip_0_is_a_chip_in_all_layouts_but_the_first(version: int) -> None:
    region = decode_region(a_region(version=version, chip_id=0))

    assert [chip.chip_id for chip in region.chips] == ([] if version == 1 else [0])


def test_only_layouts_from_the_second_on_are_named_by_the_chip() -> None:
    assert {layout.version: layout.is_named_by_unique_id for layout in LAYOUTS.values()} == {
        1: False,
        2: True,
        3: True,
        4: True,
    }


@pytest.mark.parametrize(("state", "word", "is_ready"), [(0, "new", False), (1, "busy", False), (READY, "ready", True)])
def test_the_fourth_layout_says_whether_it_is_filled_in(state: int, word: str, is_ready: bool) -> None:
    region = decode_region(a_region(version=4, init_state=state))

    assert (region.init_word, region.is_ready) == (word, is_ready)


def test_a_slot_that_is_being_given_back_is_no_process() -> None:
    assert decode_region(a_region(Slot(-1, (5, 0, 0, 0, 0)), version=4)).processes == ()


@settings(max_examples=20)
@given(slots=st.lists(SLOTS, max_size=64), version=st.sampled_from(VERSIONS))
def test_what_was_written_is_what_is_read(slots: list[Slot], version: int) -> None:
    region = decode_region(a_region(*slots, version=version))

    assert [(one.slot, one.pid, one.sums, one.last_update_ns) for one in region.processes] == [
        (number, slot.pid, CounterSums(*slot.sums), slot.last_update_ns) for number, slot in enumerate(slots)
    ]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "found 0 bytes"),
        (b"\3\0", "found 2 bytes"),
        (bytes(8576), "found version 0; the runtime makes a new one if it is removed"),
        (b"\5" + a_region()[1:], "found version 5; a newer runtime needs a newer ttmem"),
        (a_region()[:8575], "has 8,576 bytes, this one has 8,575"),
        (a_region(version=2)[:8535], "has 8,536 or 8,576 bytes, this one has 8,535"),
        (a_region() + b"\0", "this one has more;"),
        (b"", "found 0 bytes; the runtime makes a new one if it is removed"),
        (a_region(totals=(1 << 51, 0, 0, 0, 0)), "more than any chip has"),
        (a_region(Slot(1, (1 << 63, 0, 0, 0, 0)), totals=(0, 1, 0, 0, 0)), "more than any chip has"),
    ],
)
def test_bytes_that_are_no_region_are_refused_with_the_reason(data: bytes, words: str) -> None:
    with pytest.raises(RegionDamaged, match=words):
        decode_region(data)


def noise(size_bytes: int) -> st.SearchStrategy[bytes]:
    """More bytes than examples are made of one by one."""
    return st.integers(0, 2**64 - 1).map(lambda seed: Random(seed).randbytes(size_bytes))


@settings(max_examples=25)
@given(data=st.integers(0, 9000).flatmap(noise) | noise(8572).map(lambda rest: b"\3\0\0\0" + rest))
def test_no_bytes_raise_anything_else(data: bytes) -> None:
    try:
        region = decode_region(data)
    except RegionDamaged:
        return
    assert len(data) in region.layout.sizes_bytes
