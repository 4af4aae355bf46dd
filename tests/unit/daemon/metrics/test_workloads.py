"""Who holds what: processes of one label and user together, the largest few, the rest as one; never a pid."""

from typing import Any

from tests.support.faces.scraped import NOTHING, rows_of, scraped, value
from tests.support.simulated.figures import GIB, MIB, NOON_NS, a_busy_snapshot, a_device, a_process, a_snapshot
from ttmem.daemon.metrics.exporter import Extras
from ttmem.daemon.metrics.workloads import cut
from ttmem.snapshot import Snapshot


def some_processes(count: int, **changes: Any) -> Snapshot:
    """Processes that hold 1, 2, 3, ... MiB of one chip."""
    keys = range(1, count + 1)
    return a_snapshot(
        devices=[a_device()],
        processes=[a_process(key, **changes) for key in keys],
        process_pools=[(key, 0, 0, key * MIB, key * MIB, 1, key * MIB, NOON_NS, False) for key in keys],
    )


def of_workloads(snapshot: Snapshot, most: int = 20) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    return scraped(rows_of(snapshot, NOTHING, Extras(processes=snapshot.live, workloads_most=most)))


def test_workloads_are_told_on_request_only() -> None:
    assert not [name for name, _ in scraped(rows_of(a_busy_snapshot())) if "workload" in name]


def test_a_workload_is_told_per_chip_and_memory() -> None:
    found = of_workloads(a_busy_snapshot())
    held = {"workload": "job-1", "username": "ada", "memory": "dram"}

    assert value(found, "ttmem_workload_memory_used_bytes", device="0", **held) == 6 * GIB
    assert value(found, "ttmem_workload_memory_used_bytes", device="1", **held) == 6 * GIB
    assert value(found, "ttmem_workload_processes", workload="job-1") == 1
    assert value(found, "ttmem_workload_info", command="python job_1.py") == 1
    assert value(found, "ttmem_workload_processes", workload="gone") is None


def test_processes_of_one_label_are_one_workload() -> None:
    found = of_workloads(some_processes(3, label="rank"))

    assert value(found, "ttmem_workload_memory_used_bytes", workload="rank") == 6 * MIB
    assert value(found, "ttmem_workload_processes", workload="rank") == 3


def test_incidents_of_a_workload_are_those_of_its_living_processes() -> None:
    found = of_workloads(some_processes(3, label="rank", incident_count=2))

    assert value(found, "ttmem_workload_incidents", workload="rank") == 6
    assert (
        value(of_workloads(some_processes(3, incident_count=2), most=1), "ttmem_workload_incidents", workload="other")
        == 4
    )


def test_the_largest_are_told_and_the_rest_is_one() -> None:
    found = of_workloads(some_processes(30), most=2)
    told = {dict(labels)["workload"] for name, labels in found if name == "ttmem_workload_processes"}

    assert told == {"job-30", "job-29", "other"}
    assert value(found, "ttmem_workload_memory_used_bytes", workload="other") == sum(range(1, 29)) * MIB
    assert value(found, "ttmem_workload_processes", workload="other") == 28


def test_no_series_is_told_apart_by_a_pid_or_by_words_that_prometheus_needs() -> None:
    labels = {name for _, labels in of_workloads(a_busy_snapshot()) for name, _ in labels}

    assert labels.isdisjoint({"pid", "job", "instance"})


def test_long_names_are_cut_between_characters() -> None:
    found = of_workloads(some_processes(1, label="é" * 100, command="x" * 500))
    [info] = [dict(labels) for name, labels in found if name == "ttmem_workload_info"]

    assert info["workload"] == "é" * 64
    assert info["command"] == "x" * 256
    assert cut("aé", 2) == "a"
    assert cut("a\0\ud800", 9) == "a?"
