"""A journal as `ttmem inspect` tells it: everything in it, by the same layouts as everybody's, and nobody judged."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.faces.documents import described
from tests.support.journals.journal_file import counters, live_entries
from tests.support.processes.programs import a_command, a_program, command_of
from ttmem.devices import Pool
from ttmem.errors import NothingToRead
from ttmem.events.parts import sizes_of
from ttmem.sources.inspected import inspected

MOST = 50


def test_the_page_about_it_names_every_part(document: dict[str, Any]) -> None:
    assert described("A journal") == set(document) - {"path", "kind", "bytes"}


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Left behind by a program that is gone."""
    directory = tmp_path_factory.mktemp("journals")
    with a_command(command_of("journals.inspected"), directory) as program:
        program.arrive()
    [path] = directory.glob("*.journal")
    return path


@pytest.fixture(scope="module")
def document(journal: Path) -> dict[str, Any]:
    return inspected(str(journal), most=MOST)


def test_it_says_what_the_file_is_and_whose(journal: Path, document: dict[str, Any]) -> None:
    identity = document["identity"]

    assert (document["kind"], document["path"], document["bytes"]) == ("journal", str(journal), journal.stat().st_size)
    assert (identity["magic"], identity["uid"], identity["table"]) == ("TMEMJNL1", os.geteuid(), 131_072)
    assert identity["pid"] == int(journal.name.split("-")[0])
    assert (document["label"], identity["clock_kind"] in ("tsc", "monotonic")) == ("a job", True)


def test_incidents_are_listed_with_what_was_said(document: dict[str, Any]) -> None:
    [incident] = document["incidents"]

    assert (document["incident_count"], document["incident_counts"]) == (1, {"out_of_memory": {"dram": 1}})
    given = {name: incident[name] for name in ("number", "kind", "pool", "target", "phase", "text", "flags", "banks")}
    assert given == {
        "number": 1,
        "kind": "out_of_memory",
        "pool": "dram",
        "target": 1,
        "phase": "decode",
        "text": "no room",
        "flags": ["of_text"],
        "banks": 2,
    }
    assert (incident["requested"], incident["free"], incident["entries"], incident["left_out"]) == (64, None, 1, 0)


def test_targets_are_described_with_their_counters(journal: Path, document: dict[str, Any]) -> None:
    chip, gone, mesh = document["targets"]

    assert [target["state"] for target in (chip, gone, mesh)] == ["open", "closed", "open"]
    assert chip["described"]["device"]["board"] == "n300"
    assert (chip["described"]["device"]["grid"], chip["described"]["device"]["index"]) == ([8, 7], 3)
    assert chip["described"]["device"]["capacity_bytes"] == {"dram": 1 << 30}
    assert mesh["described"]["mesh"] == {"mesh_id": 9, "rows": 1, "columns": 2, "chips": [0x1A2B, 0x1A2C]}
    assert {pool: figures["used"] for pool, figures in chip["pools"].items()} == {
        "dram": 512 << 10,
        "cb": 64 << 10,
        "kernel": 4000,
    }
    assert chip["kinds"]["kernel_application"] == {"used": 4000, "count": 1}
    given = {
        (target["target"], pool): figures["used"]
        for target in document["targets"]
        for pool, figures in target["pools"].items()
    }
    assert given == {
        (target, Pool.numbered(pool).word): held.used_bytes for (target, pool), held in counters(journal).items()
    }


def test_what_is_alive_is_listed_and_what_a_close_ended_is_not(journal: Path, document: dict[str, Any]) -> None:
    assert [(one["event"], one["id"], one["reserved_bytes"]) for one in document["live"]] == [
        ("BufferAllocated", 1, 512 << 10),
        ("CircularBufferAllocated", 7, 64 << 10),
        ("KernelLoaded", 9, 4000),
    ]
    assert (document["live"][2]["site_text"], document["live"][2]["packed_bytes"]) == ("reader", [928, 72])
    assert document["live_count"] == 3
    assert {one["id"] for one in document["live"]} <= {entry.id for entry in live_entries(journal)}


def test_a_buffer_by_core_is_shown_by_its_parts_and_counts_once(tmp_path: Path) -> None:
    cores = "square, column = (_native.client.intern(text) for text in ('0,0-1,1', '2,0-2,1'))"
    alloc = "ttmem.report_core_buffer_alloc(chip, 5, 2048, [(8192, square, 4), (4096, column, 2)], 12000)"
    with a_program(tmp_path, "from ttmem import _native", "chip = ttmem.open_device(7)", cores, alloc, "meet()") as one:
        one.arrive()
    [path] = tmp_path.glob("*.journal")
    document = inspected(str(path), most=MOST)
    first, further = sorted(document["live"], key=lambda part: part["is_further"])

    shown = ("event", "id", "address", "size_per_core_bytes", "core_count", "core_set_text", "layout", "is_further")
    assert [first[name] for name in shown] == ["CoreBufferAllocated", 5, 8192, 2048, 4, "0,0-1,1", "unknown", False]
    assert [further[name] for name in shown] == ["CoreBufferAllocated", 5, 4096, 2048, 2, "2,0-2,1", "unknown", True]
    assert [(part["reserved_bytes"], part["requested_bytes"]) for part in (first, further)] == [
        (8192, 8000),
        (4096, 4000),
    ]
    assert document["live_count"] == 1
    assert not {"page_bytes", "per_bank_bytes"} & {*first, *further}


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        (b"reader", []),
        (b"compute\x001252,860,1428", [1252, 860, 1428]),
        (b"reader\0", []),
        (b"reader\x001,", []),
        (b"reader\x00-1", []),
        (b"reader\x00" + b"9" * 5000, []),
        (b"reader\x00" + b",".join([b"1"] * 17), []),
    ],
)
def test_sizes_behind_a_name_are_shown_if_they_are_sizes(text: bytes, sizes: list[int]) -> None:
    assert sizes_of(text) == sizes


def test_phases_findings_and_the_newest_events_are_shown(document: dict[str, Any]) -> None:
    [phase] = document["phases"]
    events = [one["event"] for one in document["recent"]]

    assert (phase["phase"], phase["pool"], phase["peak"], phase["runs"]) == ("decode", "dram", 512 << 10, 1)
    assert document["findings"] == {"unmatched_frees": 1}
    assert (events[0], events[-1]) == ("TargetOpened", "AllocationFreed")
    assert [one["sequence"] for one in document["recent"]] == list(range(1, document["counters"]["next_sequence"]))


def test_lists_are_cut_and_counts_are_not(journal: Path) -> None:
    cut = inspected(str(journal), most=2)

    assert (len(cut["live"]), len(cut["recent"]), cut["live_count"]) == (2, 2, 3)
    assert cut["recent"][-1]["event"] == "AllocationFreed"


def test_a_link_to_a_journal_is_the_journal(journal: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(journal)

    assert inspected(str(link), most=MOST)["label"] == "a job"


@pytest.mark.parametrize("size_bytes", [8, 4000, 1 << 20])
def test_a_journal_that_was_cut_is_refused_with_the_reason(journal: Path, tmp_path: Path, size_bytes: int) -> None:
    cut = tmp_path / "cut.journal"
    cut.write_bytes(journal.read_bytes()[:size_bytes])

    with pytest.raises(NothingToRead, match=r"a journal that cannot be read: .+"):
        inspected(str(cut), most=MOST)


@settings(max_examples=25)
@given(data=st.data())
def test_a_journal_with_any_bytes_changed_is_shown_or_refused(
    journal: Path, document: dict[str, Any], data: st.DataObject
) -> None:
    """Where something is: the head, targets, live entries, records, phases, names."""
    parts = ("targets", "slab", "ring", "phases", "arena")
    starts = [0, 1024, *(document["identity"][f"{part}_offset"] for part in parts)]
    places = st.builds(sum, st.tuples(st.sampled_from(starts), st.integers(0, 450)))
    changes = data.draw(st.dictionaries(places, st.integers(0, 255), min_size=1, max_size=6))
    with journal.open("r+b", buffering=0) as file:
        before = {at: os.pread(file.fileno(), 1, at) for at in changes}
        try:
            for at, value in changes.items():
                os.pwrite(file.fileno(), bytes([value]), at)
            given = _told(journal)
        finally:
            for at, byte in before.items():
                os.pwrite(file.fileno(), byte, at)

    assert given == "journal" or given.startswith(f"{journal}: ")


def _told(path: Path) -> str:
    """What it is, or why nobody can tell."""
    try:
        return str(json.loads(json.dumps(inspected(str(path), most=MOST)))["kind"])
    except NothingToRead as refused:
        return str(refused)


def test_a_journal_that_is_still_written_is_shown_as_it_stands(tmp_path: Path) -> None:
    with a_program(tmp_path, "chip = ttmem.open_device(5)", "meet()", "ttmem.disable()", "meet()") as program:
        program.arrive()
        [path] = tmp_path.glob("*.journal")
        given = inspected(str(path), most=MOST)

    assert (given["identity"]["pid"], given["live"]) == (program.pid, [])
