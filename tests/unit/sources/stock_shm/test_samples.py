"""Real regions of the stock runtime, copied at known states: every figure of every file, and who holds it in truth."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.machine.stock_regions import KnownOwners, put
from ttmem.devices import Pool
from ttmem.snapshot import ReadChip
from ttmem.sources.stock_shm.region import CounterRegion, decode_region
from ttmem.sources.stock_shm.regions import StockCounters

DATA = Path(__file__).parents[3] / "data" / "shm"
SPECIAL = DATA / "special"
POOLS = {"dram": Pool.DRAM, "l1": Pool.L1, "l1_small": Pool.L1_SMALL, "trace": Pool.TRACE, "cb": Pool.CB}
MIB = 1 << 20


def states() -> list[Any]:
    """(file, its figures, what each device must hold) of every state of every topology."""
    found = []
    for listing in sorted(DATA.glob("*/expected.json")):
        for state in json.loads(listing.read_text(encoding="utf-8")):
            for file in state["files"]:
                path = listing.parent / file["file"]
                name = f"{listing.parent.name}-{path.stem}"
                found.append(pytest.param(path, file["decoded"], state["expected_per_device"], id=name))
    return found


def special(name: str) -> bytes:
    return (SPECIAL / f"{name}.bin").read_bytes()


def as_recorded(region: CounterRegion) -> dict[str, Any]:
    """The region in the words of whoever recorded the samples."""
    return {
        "version": region.layout.version,
        "num_active": region.active_process_count,
        "ts": region.last_update_ns,
        "refcount": region.reference_count,
        "board": region.board_serial,
        "asic": hex(region.asic_id),
        "device_id": region.device_id,
        **region.totals._asdict(),
        "chips": [
            {"slot": chip.slot, "chip_id": chip.chip_id, "is_remote": int(chip.is_remote), **chip.sums._asdict()}
            for chip in region.chips
        ],
        "procs": [
            {
                "slot": process.slot,
                "pid": process.pid,
                **process.sums._asdict(),
                "ts": process.last_update_ns,
                "name": process.name,
            }
            for process in region.processes
        ],
        "size": region.size_bytes,
    }


def read(directory: Path, data: bytes, *alive: int) -> ReadChip:
    """What is made of a region while these pids live."""
    put(directory, 123_456_789, data)
    [chip] = StockCounters(lambda: [str(directory)], owners=KnownOwners(alive)).read().chips
    return chip


def test_every_topology_and_every_special_sample_is_here() -> None:
    assert (len(states()), len(list(SPECIAL.glob("*.bin")))) == (28, 10)


@pytest.mark.parametrize(("path", "decoded", "per_device"), states())
def test_a_state_reads_as_recorded(path: Path, decoded: dict[str, Any], per_device: dict[str, int]) -> None:
    region = decode_region(path.read_bytes())
    expected = {**per_device}

    assert as_recorded(region) == decoded
    assert expected.pop("refcount", region.reference_count) == region.reference_count
    assert {word: getattr(region.totals, word) for word in expected} == expected


@pytest.mark.parametrize(("path", "decoded", "per_device"), states())
def test_a_state_gives_the_figures_of_its_device(
    tmp_path: Path, path: Path, decoded: dict[str, Any], per_device: dict[str, int]
) -> None:
    chip = read(tmp_path, path.read_bytes(), *(process["pid"] for process in decoded["procs"]))
    expected = {POOLS[word]: size for word, size in per_device.items() if word in POOLS}

    assert {pool: chip.used[pool] for pool in expected} == expected
    assert sum(process.used[Pool.DRAM] for process in chip.processes) == chip.used[Pool.DRAM]


@pytest.mark.parametrize("path", sorted(SPECIAL.glob("*.bin")), ids=lambda path: path.stem)
def test_a_special_sample_reads_as_recorded(path: Path) -> None:
    recorded = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))

    assert as_recorded(decode_region(path.read_bytes())) == recorded


def test_what_a_killed_process_left_behind_belongs_to_no_process(tmp_path: Path) -> None:
    chip = read(tmp_path, special("stale-after-kill9"))

    assert set(chip.used.values()) == {0}
    assert (chip.stale[Pool.DRAM], chip.stale[Pool.L1], chip.processes) == (2 * MIB, 128 << 10, ())


def test_the_second_process_holds_its_own_and_no_more(tmp_path: Path) -> None:
    chip = read(tmp_path, special("second-process-after-kill9"), 31867)

    assert (chip.used[Pool.DRAM], chip.used[Pool.L1], chip.stale[Pool.DRAM]) == (2 * MIB, 0, 2 * MIB)
    assert [(process.pid, process.used[Pool.DRAM]) for process in chip.processes] == [(31867, 2 * MIB)]


def test_a_clean_exit_after_a_kill_leaves_nothing(tmp_path: Path) -> None:
    assert set(read(tmp_path, special("closed-after-stale")).used.values()) == {0}


def test_two_processes_hold_what_each_of_them_allocated(tmp_path: Path) -> None:
    chip = read(tmp_path, special("two-b-both-attached"), 31792, 31811)

    assert chip.used[Pool.DRAM] == 4 * MIB
    assert {process.pid: process.used[Pool.DRAM] for process in chip.processes} == {31792: 2 * MIB, 31811: 2 * MIB}


@pytest.mark.parametrize("name", ["two-a-second-on-entry", "two-c-second-left", "two-processes-first-left"])
def test_of_two_processes_the_one_that_is_there_counts_alone(tmp_path: Path, name: str) -> None:
    chip = read(tmp_path, special(name), 31792)

    assert chip.used[Pool.DRAM] == 2 * MIB
    assert [process.pid for process in chip.processes] == [31792]


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ("opened", {"dram": 0, "l1": 0, "l1_small": 0, "trace": 0, "cb": 0}),
        ("two-tensors", {"dram": 8192, "l1": 8192}),
        ("after-add", {"dram": 8192 + 12_288, "l1": 16_384, "cb": 3 * 4096 * 72}),  # with the kernels' binaries
        ("after-matmul", {"dram": 20_480 + 8192 + 10_240, "l1": 8192, "cb": 3 * 4096 * 72}),
        ("trace-captured", {"trace": 14_336}),
        ("trace-released", {"trace": 0}),
    ],
)
def test_a_simulated_chip_that_runs_real_kernels_reads_as_recorded(state: str, expected: dict[str, int]) -> None:
    [path] = (DATA / "simulated_wormhole").glob(f"shm-{state}--*.bin")
    region = decode_region(path.read_bytes())

    assert {word: getattr(region.totals, word) for word in expected} == expected
    assert [slot.sums for slot in region.processes] == ([] if state == "opened" else [region.totals])


@pytest.mark.parametrize("side", [256, 512, 1024])
def test_circular_buffers_of_add_are_three_times_four_kilobytes_on_64_cores(tmp_path: Path, side: int) -> None:
    chip = read(tmp_path, special(f"cb-after-add-{side}"), 8620)

    assert chip.used[Pool.CB] == 3 * 4096 * 64
