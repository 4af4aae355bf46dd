"""Room for stacks: taken as it is needed, and where there is none sites are lost, nothing else."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.support.processes.native_programs import CLIENT_LIBRARY
from tests.support.processes.permitted import needs_mounts
from tests.support.processes.programs import a_command, command_of
from ttmem._native import testing
from ttmem.collector import Collector
from ttmem.devices import Pool
from ttmem.sources import Places
from ttmem.sources.inspected.journal import journal_document


def staged(size: str, count: int, stacks: int) -> list[list[object]]:
    command = ["unshare", "--mount", "--propagation", "private", *command_of("sites.small_shared_memory")]
    asked = json.dumps([size, count, stacks, str(CLIENT_LIBRARY)])
    done = subprocess.run(command, input=asked, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    codes, documents = json.loads(done.stdout)
    assert codes == [0] * count
    return list(documents)


@pytest.mark.slow
@needs_mounts
def test_four_journals_with_two_thousand_stacks_each_fit_a_containers_shared_memory() -> None:
    assert staged("64m", 4, 2000) == [[2000, 2000, 0, {}, 20_000]] * 4


@pytest.mark.slow
@needs_mounts
@pytest.mark.parametrize("size", ["16080k", "16100k"])
def test_a_full_file_system_costs_sites_and_no_figures(size: str) -> None:
    [[alive, _, other, findings, used]] = staged(size, 1, 3000)

    assert (alive, used) == (3000, 30_000)
    assert isinstance(other, int)
    assert findings == {"stacks_refused": other}
    assert other > 0


@pytest.mark.slow
def test_twenty_thousand_stacks_cost_no_figure_no_chip_and_no_phase(tmp_path: Path) -> None:
    with (
        a_command(command_of("sites.crowd"), tmp_path) as program,
        Collector(Places(uid=os.geteuid(), directory=str(tmp_path))) as seen,
    ):
        program.arrive()
        assert seen.wait_settled(30.0)
        told = seen.snapshot()
        rows = testing.flat_rows(seen.ledger)["processes"]
        entries = seen.ledger.allocations(rows[0]["key"])
        [path] = tmp_path.glob("*.journal")
        with path.open("rb") as file:
            listed = journal_document(str(path), file, 30_000)

    [process] = told.processes
    assert (process.is_complete, process.findings, process.live_count) == (True, (), 20_001)
    assert len(entries) == 20_001
    expected = [(at, f"board {at}", (at + 1) << 30, 2500 * (3 + at) if at < 8 else 50) for at in range(9)]
    found = [
        (one.device.index, one.device.board, one.device.capacity(Pool.DRAM), one.used_bytes(Pool.DRAM))
        for one in told.devices
    ]
    assert found == expected
    peaks = {(one.name, one.device.index): (one.peak_bytes, one.run_count) for one in process.phases}
    assert peaks == {
        (f"layer {phase}" if phase < 8 else "late", at): (used, 1)
        for phase in range(9)
        for at, _, _, used in expected[: phase + 1]
    }
    [incident] = process.incidents
    assert (incident.phase, incident.requested_bytes) == ("late", 77)
    assert incident.site is not None
    assert len(incident.site.frames) == 1
    innermost = {entry["id"]: entry["site_text"].splitlines()[0] for entry in listed["live"] if entry["id"] != 1}
    lines = {
        at * 10_000 + n: f"crowd/of_{at}_{n // 100 * 100}.py:{n % 100 * 2 + 1} f{n}"
        for at in range(8)
        for n in range(2500)
    }
    del lines[1]  # the late buffer has that number, too
    assert innermost == lines
