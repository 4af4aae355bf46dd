"""What the daemon tells of the past, and of the driver: the same to whoever asks."""

import os
from pathlib import Path

import pytest

from tests.support.machine.driver_tree import DriverTree
from tests.support.processes.programs import a_program
from tests.support.server.server_serving import a_daemon
from tests.support.timing.waiting import wait_until
from ttmem.devices import Pool
from ttmem.figures.daemon_client import DaemonClient
from ttmem.figures.source import FigureSource
from ttmem.snapshot.history import History

PROGRAM = (
    "chip = ttmem.open_device(0xA1B2_C3D4_0000_0000, index=0)",
    "meet()",
    "ttmem.report_buffer_alloc(chip, 1, 1 << 20)",
    "ttmem.report_buffer_free(chip, 1)",
    "ttmem.report_buffer_alloc(chip, 2, 4096)",
    "meet()",
)


def highest(history: History) -> int | None:
    """Of DRAM; None if there is no chip yet."""
    return next((series.highest_bytes for series in history.series if series.pool is Pool.DRAM), None)


@pytest.mark.slow
def test_a_daemon_remembers_what_no_viewer_saw_and_knows_the_drivers_chips(directory: Path) -> None:
    tree = DriverTree(directory / "root")
    tree.chip(0)
    journals = directory / "j"
    with a_daemon(directory=directory, **tree.environ) as daemon, a_program(journals, *PROGRAM) as program:
        client = DaemonClient(str(journals / "daemon.sock"))
        program.arrive()
        wait_until(lambda: highest(client.history(60)) == 0)
        program.go_on()
        program.arrive()
        wait_until(lambda: highest(client.history(60)) == 1 << 20)
        with FigureSource({"TTMEM_DIR": str(journals), **tree.environ}, uid=os.geteuid()) as looking:
            seen, telemetry = looking.history(300), looking.telemetry()
        told = client.telemetry()
        device = daemon.ps()["device_info"][0]
        refused = [daemon.get(f"/history?seconds={seconds}")[0] for seconds in ("0", "3601", "soon")]

    assert highest(seen) == 1 << 20
    assert (len(telemetry), told) == (1, telemetry)
    assert (device["dev_node"], device["board_info"]["bus_id"]) == ("/dev/tenstorrent/0", "0000:01:00.0")
    assert refused == [400, 400, 400]
