"""The table of workloads: sums by job, and nothing added up that may not be."""

from tests.support.simulated.overviews import a_pool, a_row, an_overview
from ttmem.devices import Pool
from ttmem.snapshot import ProcessUsage
from ttmem.snapshot.workload import WorkloadIdentity
from ttmem.view.pages.workload_table import workload_table
from ttmem.view.table import plain

GIB = 1 << 30
JOB = WorkloadIdentity(id="71.0", named_by="slurm", slurm_job="71", slurm_step="0")


def a_holder(key: int, workload: WorkloadIdentity | None, used_bytes: int, **changes: object) -> ProcessUsage:
    return a_row(key, workload=workload, pools=(a_pool(Pool.DRAM, used_bytes),), chips=(0,), **changes)


def rows(*processes: ProcessUsage) -> list[list[str]]:
    lines = plain(workload_table(processes, an_overview(1).devices, width=None, is_ascii=True)).splitlines()
    return [line.split() for line in lines[1:]]


def test_processes_of_one_job_are_one_row() -> None:
    [row] = rows(a_holder(1, JOB, GIB), a_holder(2, JOB, 2 * GIB, incident_count=3))

    assert row[0] == "71.0"
    assert "3.00 GiB" in " ".join(row)
    assert row[-2:] == ["3", "counted"]


def test_what_was_read_is_not_added_to_what_was_counted() -> None:
    found = rows(a_holder(1, JOB, GIB), a_holder(2, JOB, 2 * GIB, source="runtime", origin="read"))

    assert [(row[0], row[-1]) for row in found] == [("71.0", "read"), ("71.0", "counted")]


def test_unknown_is_not_nothing() -> None:
    [row] = rows(a_holder(1, JOB, GIB), a_holder(2, JOB, 0, origin="unknown"))

    assert "[N/A]" in row


def test_the_largest_comes_first() -> None:
    other = WorkloadIdentity(id="nightly", named_by="workload")

    assert [row[0] for row in rows(a_holder(1, JOB, GIB), a_holder(2, other, 4 * GIB))] == ["nightly", "71.0"]
