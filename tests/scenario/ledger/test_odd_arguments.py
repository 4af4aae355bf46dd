"""What no program should say: impossible sizes are cut and counted, unknown places are kept and shown as unknown."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.journals.reporters import CHIP_FACTS, Nursery, Reporter
from ttmem._native import Ledger, testing
from ttmem.devices import BinaryStatus, Kind, Pool

MOST = 1 << 42
NEGATIVE = [-1, -(1 << 40), -(1 << 63), -(1 << 64), -(1 << 70)]
HUGE = [MOST + 1, 1 << 48, 1 << 62, (1 << 63) - 1, 1 << 63, (1 << 64) - 1, 1 << 64, 1 << 70, 1 << 300]
ODD = [*((size, 0) for size in NEGATIVE), *((size, MOST) for size in HUGE)]
ODD_NUMBERS = [-1, 256, 1 << 16, 1 << 32, 1 << 63, 1 << 64, 1 << 70, -(1 << 70)]


class Told:
    """A process, and what a ledger makes of what it says."""

    def __init__(self, reporter: Reporter) -> None:
        self.call = reporter.call
        self.ledger = Ledger()
        self.key = reporter.attach_to(self.ledger)
        self.chip = reporter.open_device(0xA0)

    @property
    def rows(self) -> dict[str, Any]:
        self.ledger.drain()
        return testing.flat_rows(self.ledger)

    @property
    def findings(self) -> dict[str, int]:
        return dict(self.rows["processes"][0]["findings"])

    def pool(self, pool: int | Pool) -> tuple[int, int, int, int]:
        """Used, requested, count and peak, summed over devices."""
        rows = [row[3:7] for row in self.rows["process_pools"] if row[2] == pool]
        return tuple(map(sum, zip(*rows, strict=True))) if rows else (0, 0, 0, 0)  # type: ignore[return-value]

    def kinds(self) -> dict[int, tuple[int, int]]:
        return {kind: (used, count) for _, _, kind, used, count, _ in self.rows["process_kinds"]}

    def device_names(self) -> set[str]:
        return {row["name"] or hex(row["unique_id"]) for row in self.rows["devices"]}


@pytest.fixture
def told(nursery: Nursery, tmp_path: Path) -> Iterator[Told]:
    reporter = nursery.start(tmp_path, TTMEM_TABLE="64", TTMEM_RING="256")
    yield Told(reporter)
    reporter.kill()


@pytest.mark.parametrize(("size", "left"), ODD)
def test_an_impossible_buffer_is_cut_and_counted(told: Told, size: int, left: int) -> None:
    told.call("report_buffer_alloc", told.chip, 1, size)

    assert (told.pool(Pool.DRAM.number), told.findings) == ((left, left, 1, left), {"clamped": 1})
    told.call("report_buffer_free", told.chip, 1)
    assert told.pool(Pool.DRAM.number)[:3] == (0, 0, 0)


@pytest.mark.parametrize(("size", "left"), ODD)
def test_what_was_asked_for_is_cut_as_well(told: Told, size: int, left: int) -> None:
    told.call("report_buffer_alloc", told.chip, 1, 4096, size)

    assert told.pool(Pool.DRAM.number)[:3] == (4096, left or 4096, 1)
    assert told.findings == {"clamped": 1}


def test_the_greatest_size_is_no_finding(told: Told) -> None:
    told.call("report_buffer_alloc", told.chip, 1, MOST, MOST, (1 << 64) - 1, MOST)

    assert (told.pool(Pool.DRAM.number)[0], told.findings) == (MOST, {})


@pytest.mark.parametrize(("size", "left"), ODD)
def test_an_impossible_circular_buffer_is_cut_and_counted(told: Told, size: int, left: int) -> None:
    told.call("report_cb_alloc", told.chip, 1, 0, size, 1)

    assert (told.pool(Pool.CB.number)[:3], told.findings) == ((left, left, 1), {"clamped": 1})


@pytest.mark.parametrize(
    ("size", "cores", "charge"),
    [
        (1 << 41, 2, MOST),
        (1 << 41, 3, MOST),
        (1 << 62, 65_535, MOST),
        ((1 << 63) - 1, 2, MOST),
        (-1, 64, 0),
        (4096, 65_535, 4096 * 65_535),
        (4096, 65_536, MOST),
        (4096, 1 << 40, MOST),
        (4096, 1 << 70, MOST),
        (4096, -1, 0),
        (4096, -(1 << 70), 0),
    ],
)
def test_size_times_cores_never_wraps(told: Told, size: int, cores: int, charge: int) -> None:
    told.call("report_cb_alloc", told.chip, 1, 0, size, cores)
    told.call("report_kernel_load", told.chip, 2, Kind.KERNEL_APPLICATION, size, cores)

    is_cut = size * cores != charge
    assert (told.pool(Pool.CB.number)[0], told.pool(Pool.KERNEL.number)[0]) == (charge, charge)
    assert told.findings == ({"clamped": 2} if is_cut else {})


@pytest.mark.parametrize(("size", "left"), ODD)
def test_an_impossible_kernel_is_cut_and_counted(told: Told, size: int, left: int) -> None:
    told.call("report_kernel_load", told.chip, 1, Kind.KERNEL_APPLICATION, 100, 8, size)
    told.call("report_kernel_load", told.chip, 2, Kind.KERNEL_APPLICATION, 100, 8, 0, size)

    assert told.pool(Pool.KERNEL.number)[0] == (left or 800) * 2
    assert told.findings == {"clamped": 2}


@pytest.mark.parametrize(("size", "left"), ODD)
def test_an_impossible_program_is_cut_and_counted(told: Told, size: int, left: int) -> None:
    told.call("report_binary_status", told.chip, 9, BinaryStatus.COMMITTED, size)

    assert [row[3:] for row in told.rows["programs"]] == [(BinaryStatus.COMMITTED, 0, left, "")]
    assert told.findings == {"clamped": 1}


@pytest.mark.parametrize(("size", "left"), ODD)
def test_an_impossible_shortage_is_cut_and_counted(told: Told, size: int, left: int) -> None:
    told.call("report_out_of_memory", told.chip, Pool.L1, size, size, size)

    assert [row[2:6] for row in told.rows["out_of_memory"]] == [(Pool.L1, left, left, left)]
    assert told.findings == {"clamped": 1}


@pytest.mark.parametrize(("size", "left"), ODD)
def test_an_impossible_capacity_is_cut_and_counted(told: Told, size: int, left: int) -> None:
    told.call("open_device", 0xB0, -1, "", "", (0, 0), (0, 0), (size,) * 10, 0)

    [capacities] = [row["capacities"] for row in told.rows["devices"] if row["unique_id"] == 0xB0]
    assert (capacities, told.findings) == ((left,) * 10, {"clamped": 1})


def test_many_impossible_sizes_do_not_wrap_together(told: Told) -> None:
    for id in range(60):
        told.call("report_buffer_alloc", told.chip, id, 1 << 70)

    assert told.pool(Pool.DRAM.number) == (60 * MOST, 60 * MOST, 60, 60 * MOST)


def test_a_phase_whose_peak_no_record_can_hold_is_cut_there_and_right_in_its_row(told: Told) -> None:
    phase = told.call("begin_phase", told.call("intern", "big"))
    for id in range(60):
        told.call("report_buffer_alloc", told.chip, id, MOST)
    told.call("end_phase", phase)

    assert [row[4] for row in told.rows["phases"]] == [60 * MOST]
    assert told.findings == {}


# ---- places nobody knows


@pytest.mark.parametrize("target", [5, 255, *ODD_NUMBERS])
def test_a_target_that_was_never_opened_is_stored_and_shown_as_unknown(told: Told, target: int) -> None:
    told.call("report_buffer_alloc", target, 1, 4096)
    told.call("report_launch", target, 0)

    shown = target if 0 <= target < 256 else 0
    assert told.device_names() == {"0xa0", f"unknown:{shown}"}
    assert told.pool(Pool.DRAM.number)[:3] == (4096, 4096, 1)
    [unknown] = [row["number"] for row in told.rows["devices"] if not row["known"]]
    assert told.rows["launches"] == [(told.key, unknown, 1)]
    told.call("report_buffer_free", target, 1)
    assert (told.pool(Pool.DRAM.number)[:3], told.findings) == ((0, 0, 0), {})


def test_everything_that_can_be_said_about_an_unknown_target_is_shown_there(told: Told) -> None:
    told.call("report_cb_alloc", 99, 1, 0, 64, 2)
    told.call("report_kernel_load", 99, 2, Kind.KERNEL_FABRIC, 100, 2)
    told.call("report_binary_status", 99, 3, 1, 512)
    told.call("report_launch", 99, 3)
    told.call("report_out_of_memory", 99, Pool.DRAM, 10)

    rows = told.rows
    [unknown] = [row["number"] for row in rows["devices"] if row["name"] == "unknown:99"]
    assert {row[1:6] for row in rows["process_pools"]} == {
        (unknown, Pool.CB, 128, 128, 1),
        (unknown, Pool.ETH, 200, 200, 1),
        (unknown, Pool.DRAM, 512, 512, 1),
    }
    assert [row[1:] for row in rows["programs"]] == [(unknown, 3, 1, 1, 512, "")]
    assert [row[1:3] for row in rows["out_of_memory"]] == [(unknown, Pool.DRAM)]
    assert rows["launches"] == [(told.key, unknown, 1)]


def test_what_was_reported_before_a_target_was_opened_moves_to_its_chip(told: Told) -> None:
    told.call("report_buffer_alloc", told.chip + 1, 1, 4096)
    assert told.call("open_device", 0xB0, *CHIP_FACTS) == told.chip + 1

    rows = told.rows
    names = {row["number"]: row["unique_id"] for row in rows["devices"]}
    assert [(names[row[0]], row[2:5]) for row in rows["device_pools"] if any(row[2:5])] == [(0xB0, (4096, 4096, 1))]


@pytest.mark.parametrize("type", [5, 77, *ODD_NUMBERS])
def test_a_buffer_of_an_unknown_type_is_in_an_unknown_pool(told: Told, type: int) -> None:
    told.call("report_buffer_alloc", told.chip, 1, 4096, 0, 0, 0, type)

    assert told.pool(Pool.UNKNOWN.number)[:3] == (4096, 4096, 1)
    told.call("report_buffer_free", told.chip, 1, type)
    assert (told.pool(Pool.UNKNOWN.number)[:3], told.findings) == ((0, 0, 0), {})


@pytest.mark.parametrize("kind", [0, 1, 2, 8, 9, 10, 77, *ODD_NUMBERS])
def test_a_kernel_of_an_unknown_kind_is_an_unknown_kernel(told: Told, kind: int) -> None:
    told.call("report_kernel_load", told.chip, 1, kind, 100, 8)

    assert told.kinds() == {Kind.KERNEL_UNKNOWN: (800, 1)}
    told.call("report_kernel_unload", told.chip, 1, kind)
    assert (told.kinds(), told.findings) == ({}, {})


@pytest.mark.parametrize("kind", [1, 5, 8, 9, 10, 77, *ODD_NUMBERS])
def test_a_circular_buffer_of_an_unknown_kind_is_of_unknown_kind(told: Told, kind: int) -> None:
    told.call("report_cb_alloc", told.chip, 1, 0, 64, 2, 0, 12345, kind)

    assert told.kinds() == {Kind.UNKNOWN: (128, 1)}
    assert told.pool(Pool.CB.number)[:3] == (128, 128, 1)
    told.call("report_cb_free", told.chip, 1, kind)
    assert (told.kinds(), told.findings) == ({}, {})


def test_a_circular_buffer_of_kind_0_is_one(told: Told) -> None:
    told.call("report_cb_alloc", told.chip, 1, 0, 64, 2, 0, 0, 0)
    told.call("report_cb_free", told.chip, 1, 0)

    assert (told.kinds(), told.findings) == ({}, {})


@pytest.mark.parametrize("pool", [9, 10, 77, *ODD_NUMBERS])
def test_an_unknown_pool_is_shown_as_unknown(told: Told, pool: int) -> None:
    told.call("report_kernel_load", told.chip, 1, Kind.KERNEL_APPLICATION, 100, 8, 0, 0, 0, pool)
    told.call("report_out_of_memory", told.chip, pool, 10)

    assert told.pool(Pool.UNKNOWN.number)[:3] == (800, 800, 1)
    assert [row[2] for row in told.rows["out_of_memory"]] == [Pool.UNKNOWN]


@pytest.mark.parametrize("status", [3, 4, 5, 77, *ODD_NUMBERS])
def test_an_unknown_status_is_shown_as_unknown(told: Told, status: int) -> None:
    told.call("report_binary_status", told.chip, 1, status)

    assert [row[3] for row in told.rows["programs"]] == [BinaryStatus.UNKNOWN]


# ---- handles, names and the rest


@pytest.mark.parametrize("handle", [1, -1, 1 << 63, (1 << 63) | 0xF << 47, (1 << 64) - 1, 1 << 70, -(1 << 70), 12345])
def test_a_handle_that_was_never_given_is_an_unknown_free_and_nothing_more(told: Told, handle: int) -> None:
    told.call("report_buffer_alloc", told.chip, 1, 4096)
    before = told.pool(Pool.DRAM.number)

    told.call("report_free", handle)

    assert (told.pool(Pool.DRAM.number), told.findings) == (before, {"unknown_free": 1})


def test_freeing_handle_0_is_allowed(told: Told) -> None:
    told.call("report_free", 0)

    assert told.findings == {}


@pytest.mark.parametrize("number", ODD_NUMBERS)
def test_nothing_raises_for_a_number(told: Told, number: int) -> None:
    told.call("open_device", number, number, "x", "y", (number, number), (number, number), (number,), number)
    told.call("open_mesh", number, number, number, (number,))
    told.call("close_target", number)
    told.call("end_phase", told.call("begin_phase", number))
    told.call("end_phase", number)
    told.call("report_launch", number, number)
    told.call("report_program_end", number, number)

    assert told.rows["processes"][0]["complete"]


@pytest.mark.parametrize("text", ["", "\ud800", "\udcff name", "a\0b", "x" * 100_000, "\x1b[31m", "名前"])
def test_nothing_raises_for_a_text(told: Told, text: str) -> None:
    told.call("set_label", text)
    told.call("end_phase", told.call("begin_phase", told.call("intern", text)))
    told.call("open_device", 0xB0, -1, text, text, (0, 0), (0, 0), (), 0)

    assert isinstance(told.rows["processes"][0]["label"], str)


def test_a_mesh_of_chips_that_were_never_opened_lies_on_unknown_devices(told: Told) -> None:
    mesh = told.call("open_mesh", 7, 1, 2, (200, 201))
    told.call("report_buffer_alloc", mesh, 1, 4096)

    assert told.pool(Pool.DRAM.number)[0] > 0
    held = {row[1] for row in told.rows["process_pools"]}
    assert [row["known"] for row in told.rows["devices"] if row["number"] in held] == [False]
