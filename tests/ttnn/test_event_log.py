"""The unmodified wheel under `ttmem run`, beside `allocation_server_poc > out.log &`: what it loads is in the log."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.support.server.server_serving import Daemon, a_daemon
from tests.support.timing.waiting import wait_until
from tests.support.ttnn.runtime import _environment, counters_of
from tests.support.ttnn.stock import Stock

MODEL = """
import sys, ttnn
device = ttnn.open_device(device_id=0)
first = ttnn.zeros([1, 1, 256, 256], ttnn.bfloat16, ttnn.TILE_LAYOUT, device)
for _ in range(3):
    second = ttnn.add(first, first)
third = ttnn.multiply(first, first)
print("here", flush=True)
sys.stdin.readline()
ttnn.close_device(device)
"""


def count_of(daemon: Daemon, word: str) -> int:
    found = subprocess.run(["grep", "-c", word, str(daemon.output)], capture_output=True, text=True)
    return int(found.stdout)


def alive(daemon: Daemon, process: dict[str, Any]) -> dict[str, int]:
    """How many things of each sort a process holds, by the daemon's dump."""
    kernels = ("kernel_application", "kernel_fabric", "kernel_dispatch")
    sorts = {"circular_buffer": "CB_ALLOC", **dict.fromkeys(kernels, "KERNEL_LOAD")}
    counts = dict.fromkeys(("Allocated", "CB_ALLOC", "KERNEL_LOAD"), 0)
    for device in daemon.document("/dump?most=10000")["devices"]:
        for group in device["groups"]:
            for one in group["allocations"]:
                if one["owner"]["pid"] == process["pid"]:
                    counts[sorts.get(one["kind"], "Allocated")] += 1
    return counts


def test_what_the_wheel_loads_is_in_the_log(stock: Stock, tmp_path: Path) -> None:
    environ, chips = _environment(stock, tmp_path, "n300", is_slow=False)
    script = Path(sys.executable).parent / "allocation_server_poc"
    with a_daemon(program=[str(script)]) as daemon:
        private = {"TTMEM_DIR": daemon.environment["TTMEM_DIR"], "TTMEM_SYSTEM_DIR": str(tmp_path)}
        program = subprocess.Popen(
            [sys.executable, "-m", "ttmem", "run", "--", str(stock.python), "-c", MODEL],
            env=environ | private,
            cwd=tmp_path,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            assert program.stdout is not None
            assert program.stdout.readline() == "here\n"
            [process] = [one for one in daemon.document()["processes"] if one["devices"]]
            held = alive(daemon, process)
            assert held["KERNEL_LOAD"] >= 6
            assert held["CB_ALLOC"] >= 6
            assert held["Allocated"] >= 3
            for word, end in (("Allocated", "Freed"), ("CB_ALLOC", "CB_FREE"), ("KERNEL_LOAD", "KERNEL_UNLOAD")):
                wait_until(lambda: count_of(daemon, word) - count_of(daemon, end) == held[word])  # noqa: B023
            assert count_of(daemon, "KERNEL_LOAD") == held["KERNEL_LOAD"]  # three runs of one operation load it once
            assert count_of(daemon, "KERNEL_LOAD. Application kernel on Device 0") == held["KERNEL_LOAD"]
            assert re.search(r"Allocated 131072 bytes of DRAM on device 0 \(buffer_id=0x[1-9a-f]", daemon.text())
            assert "Missed" not in daemon.text()
        finally:
            program.communicate("\n")
            for chip in chips:
                counters_of(chip).unlink(missing_ok=True)
        wait_until(lambda: count_of(daemon, "KERNEL_UNLOAD") == held["KERNEL_LOAD"])
