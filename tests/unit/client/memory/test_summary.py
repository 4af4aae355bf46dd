"""The table that `memory_summary` writes."""

import subprocess
import sys
from pathlib import Path

import pytest

import ttmem
from tests.support.hooked.process import hook_path
from tests.unit.client.memory.conftest import LEFT, LEFT_INDEX, Stage
from ttmem.devices import BufferType, Pool


def test_chips_that_hold_the_same_share_a_table(stage: Stage) -> None:
    # Chips of this test alone: of others something may have been freed before.
    sizes = {Pool.DRAM: 12 << 30, Pool.L1: 64 << 20}
    chips = [
        ttmem.open_device(
            0xFACE_0000_0000_0011 + one, index=911 + one, arch="wormhole_b0", board="n300", capacities=sizes
        )
        for one in range(2)
    ]
    mesh = ttmem.open_mesh(chips, 1, 2, mesh_id=0xFACE_11)
    ttmem.report_buffer_alloc(mesh, 1, 3 << 30)
    ttmem.report_free(ttmem.report_buffer_alloc(mesh, 2, 1 << 30))
    ttmem.report_buffer_alloc(mesh, 3, 2048, 0, 0, 0, BufferType.L1)

    assert own_part(ttmem.memory_summary(), 911) == (
        "ttmem: device 911, 912 (n300 wormhole_b0), this process, on each of them\n"
        "  pool      used      peak  alive       free      total     freed\n"
        "  dram  3.00 GiB  4.00 GiB      1   9.00 GiB  12.00 GiB  1.00 GiB\n"
        "  l1    2.00 KiB  2.00 KiB      1  64.00 MiB  64.00 MiB       0 B\n"
    )


def test_inventories_have_no_room_and_say_so(stage: Stage) -> None:
    ttmem.report_cb_alloc(stage.left, 1, 0, 1024, 64)

    table = ttmem.memory_summary(LEFT_INDEX)

    assert "  cb*   64.00 KiB            1\n" in table
    assert table.endswith("* planned: of all loaded programs, which share that memory; cb resident now: [N/A]\n")


def test_circular_buffers_of_programs_that_share_addresses_count_once(stage: Stage) -> None:
    for program in (1, 2):
        ttmem.report_cb_alloc(stage.left, program, 4096, 1024 * program, 64, 0, program)

    assert ttmem.memory_allocated(LEFT_INDEX, "cb") == ttmem.max_memory_allocated(LEFT_INDEX, "cb") == 64 * 2048
    assert "  cb*   128.00 KiB " in ttmem.memory_summary(LEFT_INDEX)


def test_figures_are_those_of_the_other_functions(stage: Stage) -> None:
    ttmem.report_buffer_alloc(stage.left, 1, 100)

    [row] = [line.split() for line in ttmem.memory_summary(LEFT).splitlines() if line.startswith("  dram")]

    assert row[1:3] == [str(ttmem.memory_allocated(LEFT)), "B"]
    assert row[5] == str(len(ttmem.memory_snapshot(LEFT)))


def test_a_chip_without_figures_and_a_device_nobody_opened_are_said(stage: Stage) -> None:
    assert "device 4321" not in ttmem.memory_summary()
    assert ttmem.memory_summary(4321).startswith("ttmem: tracking is on; no device has been opened as 4321 yet.\n")


@pytest.mark.parametrize("is_hooked", [True, False])
def test_who_cannot_see_what_ttnn_does_is_told_how_to(is_hooked: bool, tmp_path: Path) -> None:
    code = "import ttmem; print(ttmem.memory_summary())"
    settings = {"TTMEM": "1", "TTMEM_DIR": str(tmp_path)} | ({"LD_PRELOAD": str(hook_path())} if is_hooked else {})

    said = subprocess.run([sys.executable, "-c", code], env=settings, capture_output=True, text=True, check=True).stdout

    assert said.startswith("ttmem: tracking is on; no device has been opened yet.\n")
    assert ("the hook is not loaded. `ttmem run -- python ...` loads it" in said) == (not is_hooked)


def own_part(summary: str, index: int = LEFT_INDEX) -> str:
    """Without chips that other tests of this process have opened."""
    [part] = [part for part in summary.split("\nttmem: ") if f"device {index}" in part]
    return part if part.startswith("ttmem: ") else f"ttmem: {part}"
