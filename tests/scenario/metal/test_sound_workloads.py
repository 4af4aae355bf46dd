"""Workloads in which nothing goes wrong, whole: no incident and no finding at their end, nor when they are gone."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.processes.programs import tracked
from tests.support.timing.waiting import wait_until
from ttmem.collector import Collector
from ttmem.metal.workloads import WORKLOADS
from ttmem.sources import Places


@contextmanager
def played(name: str, journals: Path, round_count: int) -> Iterator["tuple[subprocess.Popen[str], Collector]"]:
    """A workload that has come to its end and still holds its chips, and who sees it."""
    order = json.dumps({"name": name, "speed": 0, "round_count": round_count})
    command = [sys.executable, "-m", "ttmem.cli.demonstration.workload", order]
    with (
        subprocess.Popen(
            command, env=tracked(journals), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as process,
        Collector(Places(uid=os.geteuid(), directory=str(journals))) as collector,
    ):
        assert process.stdout is not None
        for line in process.stdout:
            if json.loads(line)["event"] == "done":
                break
        assert collector.wait_settled(30.0)
        yield process, collector
        process.communicate()
    assert process.returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["llama-8b", "resnet-trace", "galaxy-70b"])
def test_a_workload_without_faults_has_no_incident_and_no_finding(name: str, journals: Path) -> None:
    with played(name, journals, WORKLOADS[name].round_count) as (process, collector):
        told = [collector.snapshot()]
        process.communicate()
        wait_until(lambda: collector.tick() >= 0 and not collector.snapshot().live)
        told.append(collector.snapshot())

    for one in told:
        [row] = one.processes
        assert row.devices
        assert (row.incident_count, row.incidents, row.refusal_count, row.clash_count) == (0, (), 0, 0)
        assert (row.findings, row.is_complete, row.lost_record_count, row.skipped_count) == ((), True, 0, 0)
        assert (one.findings, one.errors, one.is_complete) == ((), (), True)
