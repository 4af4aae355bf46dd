"""What a process has given back, by pool: every output says the same, also when it was asked late or after the end."""

import csv
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.faces.scraped import rows_of, samples_of, text_of
from tests.support.one_number.faces import private_environment
from tests.support.processes.inside import ttmem_inside
from tests.support.processes.programs import PRELUDE
from ttmem.collector import Collector
from ttmem.daemon.metrics.exporter import Extras
from ttmem.monitor.parts.drawing import DrawArea, MonitorFrame
from ttmem.monitor.screens import process_page
from ttmem.snapshot.process_detail import ProcessDetail
from ttmem.sources import Places
from ttmem.view import plain
from ttmem.view.pages.summary import summary

KIB, MIB = 1 << 10, 1 << 20
DRAM, L1 = 41 * 5 * MIB, 3 * KIB  # on each of two chips
STEPS = f"""
chips = [ttmem.open_device(0x10 + at, index=at, arch="wormhole_b0", board="n300") for at in range(2)]
mesh = ttmem.open_mesh(chips)
for step in range(40):  # more than a late reader can find in the ring, for it is small
    ttmem.report_free(ttmem.report_buffer_alloc(mesh, step, 5 * {MIB}))
for chip in chips:
    ttmem.report_free(ttmem.report_buffer_alloc(chip, 100, 5 * {MIB}))
    ttmem.report_free(ttmem.report_buffer_alloc(chip, 101, {L1}, 0, 0, 0, 1))
for pool in (0, 1):
    ttmem.report_buffer_alloc(mesh, 200 + pool, 64 * {KIB}, 0, 0, 0, pool)
print(ttmem.memory_summary(), flush=True)
meet()
"""


class Freeing:
    """A program that has freed so much, and stands still."""

    def __init__(self, directory: Path) -> None:
        self.environ = private_environment(directory)
        self.directory = directory
        tracked = {**self.environ, "TTMEM": "1", "TTMEM_RING": "16"}
        command = [sys.executable, "-c", PRELUDE + STEPS]
        self.process = subprocess.Popen(command, env=tracked, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        lines = iter(self.process.stdout.readline, "here\n")
        self.memory_summary = "".join(lines)

    def collector(self) -> Collector:
        return Collector(Places(uid=os.geteuid(), directory=str(self.directory)))

    def said(self, *arguments: str) -> str:
        """What `ttmem` prints of it."""
        answer = ttmem_inside(*arguments, environ={**self.environ, "COLUMNS": "200"})
        assert answer.returncode == 0, answer.stderr
        return answer.stdout


@pytest.fixture(scope="module")
def freeing(tmp_path_factory: pytest.TempPathFactory) -> "Freeing":  # type: ignore[misc]
    program = Freeing(tmp_path_factory.mktemp("freed"))
    yield program
    program.process.kill()
    program.process.communicate()


def test_json_has_it_of_processes_and_on_each_of_their_chips(freeing: Freeing) -> None:
    [process] = json.loads(freeing.said("ps", "-s"))["processes"]
    held = [{pool["pool"]: pool["freed_bytes"] for pool in chip["pools"]} for chip in process["devices"]]

    assert held == [{"dram": DRAM, "l1": L1}] * 2
    assert {pool["pool"]: pool["freed_bytes"] for pool in process["pools"]} == {"dram": 2 * DRAM, "l1": 2 * L1}


def test_of_a_chip_it_is_not_known(freeing: Freeing) -> None:
    document = json.loads(freeing.said("ps", "-s"))

    assert {pool["freed_bytes"] for chip in document["device_info"] for pool in chip["ttmem"]["pools"]} == {None}


def test_the_report_and_csv_have_it(freeing: Freeing) -> None:
    rows = list(csv.reader(io.StringIO(freeing.said("--query-apps=dram.freed,l1.freed", "--format=csv,noheader"))))
    report = freeing.said("ps", "-q")

    assert rows == [["205 MiB", " 3 KiB"]] * 2
    assert re.findall(r"Freed (\w+) +: (.*)", report) == [("DRAM", "205 MiB"), ("L1", "3.00 KiB")] * 2


def test_a_dump_has_it_by_chip_and_pool(freeing: Freeing) -> None:
    devices = json.loads(freeing.said("dump", "--json"))["devices"]
    totals = freeing.said("dump").splitlines()

    assert [{group["type"]: group["freed_bytes"] for group in one["groups"]} for one in devices] == [
        {"dram": DRAM, "l1": L1}
    ] * 2
    assert any(re.search(r"ALIVE +BYTES +FREED", line) for line in totals)
    assert any(re.search(r"dram +1 +64.0 KiB +205 MiB", line) for line in totals)


def test_metrics_have_it_by_workload(freeing: Freeing) -> None:
    with freeing.collector() as collector:
        collector.wait_settled()
        snapshot = collector.snapshot()
    page = samples_of(text_of(rows_of(snapshot, extras=Extras(processes=snapshot.processes))))
    found = {
        (dict(labels)["device"], dict(labels)["memory"]): value
        for (name, labels), value in page.items()
        if name == "ttmem_workload_memory_freed_bytes"
    }

    assert found == {("0", "dram"): DRAM, ("1", "dram"): DRAM, ("0", "l1"): L1, ("1", "l1"): L1}


def test_the_monitor_has_it_on_the_page_of_a_process(freeing: Freeing) -> None:
    with freeing.collector() as collector:
        collector.wait_settled()
        snapshot = collector.snapshot()
    detail = ProcessDetail(time_ns=snapshot.time_ns, process=snapshot.processes[0])
    drawing = process_page.draw(MonitorFrame(detail=detail), DrawArea(120, 60), process_page.ProcessPageState())
    lines = ["".join(span.text for span in line) for line in drawing.lines]

    assert any("device 0-1: dram 205 MiB freed, l1 3.00 KiB freed" in line for line in lines), lines


def test_memory_summary_has_it(freeing: Freeing) -> None:
    [dram] = [line for line in freeing.memory_summary.splitlines() if line.startswith("  dram")]

    assert dram.split()[-2:] == ["205.00", "MiB"]
    assert "freed" in freeing.memory_summary


def test_the_summary_of_a_run_has_it_after_the_end(tmp_path: Path) -> None:
    program = Freeing(tmp_path)
    program.process.communicate("\n")
    with program.collector() as collector:
        collector.wait_settled()
        title, *lines = plain(summary(collector.snapshot().processes)).splitlines()

    assert re.search(r"PEAK +FREED", title)
    assert any(re.search(r"0-1 +dram .* 205 MiB ", line) for line in lines), lines
