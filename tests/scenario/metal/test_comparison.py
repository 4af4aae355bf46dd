"""What the comparison of every step rests on: it finds what is wrong, and few rows say the same as all of them."""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.tracked import shown, shown_steps
from tests.support.tracked.chip_rows import ChipTables, Reading, Row, Rows
from tests.support.tracked.own_journal import OwnJournal
from tests.support.tracked.shown_steps import TABLE, ShownSteps
from ttmem import GraphTracker, metal
from ttmem.devices import Kind, Pool
from ttmem.metal import BufferSpec
from ttmem.tracking import Cache, CoreType, Stall

ROOT = Path(__file__).parents[3]
BEFORE_STEPS = 400  # of killed-midway: then there is something in every table
CORRUPTIONS = 14

MOST_BYTES = 1 << 40
sizes = st.integers(0, MOST_BYTES)
counts = st.integers(0, 1000)
clocks = st.integers(0, 1 << 60)


@pytest.mark.slow
def test_one_wrong_figure_of_one_chip_at_one_step_is_found(journals: Path) -> None:
    command = [sys.executable, "-m", "tests.support.tracked.corruption", "killed-midway", str(BEFORE_STEPS)]
    environ = {**os.environ, "TTMEM_DIR": str(journals)}

    done = subprocess.run(command, env=environ, cwd=ROOT, capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
    assert [line for line in done.stdout.splitlines() if not line.endswith(": found")] == []
    assert len(done.stdout.splitlines()) == CORRUPTIONS


@pytest.fixture
def mesh(tracker: GraphTracker) -> Iterator[metal.MeshDevice]:
    with metal.open_mesh("t3000", (1, 4), tracker=tracker) as one:
        yield one


@pytest.fixture
def unused_mesh(tracker: GraphTracker) -> Iterator[metal.MeshDevice]:
    """Of chips that no other test of this process opens: what those did to a chip, its peaks tell for ever."""
    with metal.open_mesh("t3000", (1, 4), chip_offset=96, tracker=tracker) as one:
        yield one


def test_the_ledger_finds_chips_alike_as_long_as_they_hold_the_same(
    journal: OwnJournal, unused_mesh: metal.MeshDevice
) -> None:
    mesh = unused_mesh
    numbers = {row["unique_id"]: row["number"] for row in journal.rows()["devices"]}
    own = [numbers[chip.unique_id] for chip in mesh.chips]

    def parted() -> list[set[int]]:
        journal.read()
        groups = [set(group) & set(own) for group in journal.tables.alike()]
        return sorted((group for group in groups if group), key=sorted)

    before = parted()
    assert before == [{own[0], own[3]}, {own[1], own[2]}]  # by their place on the fabric
    mesh.create_buffer(BufferSpec(2048 * 32, 2048))
    assert parted() == before

    program = metal.Program()
    program.add_kernel(metal.Kernel(name="reader", cores=metal.CoreRanges.at((0, 0)), binaries=(1000,)))
    metal.enqueue(mesh, metal.MeshWorkload({metal.MeshRange((0, 1), (0, 1)): program}))
    assert parted() != before
    assert {own[1]} in parted()


def test_rows_of_some_devices_are_those_among_all(journal: OwnJournal, mesh: metal.MeshDevice) -> None:
    tables = ChipTables()
    everything = tables.read_all(journal)
    chips = {chip.unique_id for chip in mesh.chips}

    for chip, device in everything.chips.items():
        if chip in chips:
            some = Reading(journal.rows([device]), everything.tally, {chip: device}, tables)
            assert some.keys == {device: everything.keys[device]}


@st.composite
def tables_of_chips(draw: st.DrawFn, devices: list[int], key: int, capacities: Sequence[int]) -> dict[str, list[Row]]:
    """Anything that a ledger could say of some chips but more than they have: then all of it is in doubt."""
    tables: dict[str, list[Row]] = {name: [] for name in ("device_pools", "device_kinds", "device_cores")}
    tables |= {name: [] for name in ("process_pools", "process_kinds", "process_cores", "footprints")}
    tables |= {name: [] for name in ("launches", "rings", "stalls", "caches")}
    for device in devices:
        for pool in draw(st.sets(st.sampled_from([one for one in Pool if one.name != "UNKNOWN"]))):
            used = min(draw(sizes), capacities[pool.number] or MOST_BYTES)
            peak = draw(st.integers(1, MOST_BYTES))  # clocks are not compared: a row that has nothing else is no row
            known = (int(pool), used, draw(sizes), draw(counts), peak)
            tables["device_pools"].append((device, *known, draw(clocks), draw(clocks), draw(st.booleans())))
            tables["process_pools"].append((key, device, *known, draw(clocks), draw(st.booleans())))
        for name, words in (("kinds", Kind), ("cores", CoreType)):
            for word in draw(st.sets(st.sampled_from([one for one in words if one.name != "UNKNOWN"]))):
                row = (int(word), draw(sizes), draw(st.integers(1, 1000)), False)
                tables[f"device_{name}"].append((device, *row))
                tables[f"process_{name}"].append((key, device, *row))
        if draw(st.booleans()):
            tables["footprints"].append((key, device, *(draw(sizes) for _ in range(4)), False, False))
        tables["launches"].append((key, device, draw(sizes)))
        for core in draw(st.sets(st.sampled_from(list(CoreType)))):
            live, retired, free = draw(counts), draw(counts), draw(st.integers(1, 1000))
            tables["rings"].append(
                (key, device, int(core), live, retired, *draw(st.tuples(counts, counts)), live + retired + free)
            )
        for stall in draw(st.sets(st.sampled_from(list(Stall)))):
            tables["stalls"].append((key, device, int(stall), draw(st.integers(1, 1000))))
        for cache in draw(st.sets(st.sampled_from(list(Cache)))):
            tables["caches"].append((key, device, int(cache), *(draw(counts) for _ in range(8))))
    return tables


def on_one_page(rows: Rows) -> dict[int, dict[str, Any]]:
    """What is said of every chip when all of them are shown together."""
    snapshot = shown_steps.snapshot_of(rows)
    in_json = shown.in_document(snapshot)
    return {
        chip: {**in_json[chip], TABLE: cells} for chip, cells in zip(in_json, shown.in_table(snapshot), strict=True)
    }


@pytest.mark.slow
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(data=st.data())
def test_ps_says_of_a_chip_what_follows_from_few_of_its_rows(
    journal: OwnJournal, mesh: metal.MeshDevice, data: st.DataObject
) -> None:
    real = journal.rows()
    chips = {chip.unique_id for chip in mesh.chips[:3]}
    devices = [row for row in real["devices"] if row["unique_id"] in chips]
    numbers = [row["number"] for row in devices]
    [process] = real["processes"]
    made = data.draw(tables_of_chips(numbers, process["key"], devices[0]["capacities"]))
    bare = {name: [] if isinstance(one, list) else one for name, one in real.items()}
    rows = {**bare, "devices": devices, "processes": [{**process, "live_count": 0, "incidents": []}], **made}
    tables = ChipTables()
    reading = Reading(rows, [], {row["unique_id"]: row["number"] for row in devices}, tables)

    assert ShownSteps(tables).figures(reading) == on_one_page(rows)
