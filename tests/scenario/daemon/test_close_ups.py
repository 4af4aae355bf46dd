"""The map and the kernels of a chip: a daemon's answer is that of a collector of one's own."""

import os
from pathlib import Path

import pytest

from tests.support.processes.programs import a_program
from tests.support.server.server_serving import a_daemon
from ttmem.devices import Pool
from ttmem.errors import SelectionError
from ttmem.figures.source import FigureSource
from ttmem.snapshot import TimeNs, replace

PROGRAM = (
    "chip = ttmem.open_device(0xA1B2_C3D4_0000_0000, index=0, arch='wormhole_b0', board='n150', grid=(8, 8),",
    "    banks=(12, 64), capacities={0: 12 * 1072693184, 2: 64 * 1393312}, kernel_ring_bytes=70656)",
    "ttmem.report_buffer_alloc(chip, 1, 12 * 4096, 12 * 4096, 1_048_640 + 8_192, 4_096, 0)",
    "ttmem.report_kernel_load(chip, 7, 2048, 5, 16)",
    "meet()",
)


@pytest.mark.slow
def test_every_client_sees_the_same_chip(directory: Path) -> None:
    journals = directory / "j"
    environ = {"TTMEM_DIR": str(journals)}
    with a_daemon(directory=directory) as daemon, a_program(journals, *PROGRAM) as program:
        program.arrive()
        with (
            FigureSource(environ, uid=os.geteuid()) as asking,
            FigureSource(environ, uid=os.geteuid(), has_daemon=False) as own,
        ):
            told, seen = asking.chip("0"), own.chip("0")
            kernels = asking.kernels("0", 10), own.kernels("0", 10)
            with pytest.raises(SelectionError, match="no device 5 here; known are 0"):
                asking.chip("5")
            [chip] = asking.overview().devices
            used = [usage for usage in chip.pools if not usage.is_untouched]
            largest = {usage.pool: (usage.largest_free_bank_bytes, usage.largest_free_bytes) for usage in used}
        refused = [daemon.get(path)[0] for path in ("/chip", "/chip?device=9", "/kernels?device=0&most=many")]

    assert replace(told, time_ns=TimeNs(0), device=seen.device) == replace(seen, time_ns=TimeNs(0))
    assert seen.dram is not None
    assert seen.dram.regions[0].largest_free_bytes == 1_072_680_896
    assert largest == {Pool.DRAM: (1_072_680_896, 12_872_170_752), Pool.KERNEL: (None, None)}
    listed = [[replace(row, time_ns=None) for row in table.rows] for table in kernels]
    assert listed[0] == listed[1]
    assert [row.id for row in listed[0]] == [7]
    assert refused == [400, 404, 400]
