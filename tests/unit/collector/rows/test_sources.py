"""Two ways to report: journals and the allocation server's socket, told apart and never added."""

import pytest

from tests.support.simulated.figures import (
    GIB,
    MIB,
    NOON_NS,
    a_device,
    a_process,
    a_server_device,
    a_server_snapshot,
    a_snapshot,
)
from ttmem.devices import Kind, Pool
from ttmem.snapshot import KindUsage, Selection, Snapshot, selected
from ttmem.snapshot.codec import decoded, encoded


def test_a_device_of_the_server_protocol_has_its_number_and_nothing_else() -> None:
    [usage] = a_snapshot(devices=[a_server_device(4, index=3)]).devices
    device = usage.device

    assert (device.index, device.uuid, device.name, device.is_server_chip, device.is_known) == (
        3,
        None,
        "server:3",
        True,
        False,
    )


def test_a_chip_and_an_unknown_target_are_no_server_chips() -> None:
    usages = a_server_snapshot().devices

    assert [usage.device.is_server_chip for usage in usages] == [False, True, True]


def test_an_index_chooses_the_chip_and_the_server_chip_of_that_number() -> None:
    snapshot = a_snapshot(devices=[a_device(0, index=0), a_server_device(1, index=0), a_server_device(2, index=1)])

    def chosen(word: str) -> list[str]:
        return [usage.device.name for usage in selected(snapshot, Selection((word,))).devices]

    assert chosen("0") == ["", "server:0"] or chosen("0") == ["server:0", ""]
    assert chosen("server:0") == chosen("seed:0") == ["server:0"]
    assert chosen("1") == ["server:1"]


def test_how_a_process_reports_is_shown() -> None:
    by_journal, by_socket, _ = a_server_snapshot().processes

    assert (by_journal.source, by_journal.claimed_pid) == ("journal", None)
    assert (by_socket.source, by_socket.claimed_pid, by_socket.path) == ("socket", 17, "")
    assert by_socket.label == "python job_2.py"


def test_a_restored_process_is_not_complete() -> None:
    snapshot = a_server_snapshot()

    assert (snapshot.processes[2].reason, snapshot.processes[2].is_complete) == ("restored", False)
    assert snapshot.reason == "restored"


@pytest.mark.parametrize("worse", ["damaged", "table_full", "outrun"])
def test_a_restored_process_is_not_the_worst_of_reasons(worse: str) -> None:
    reasons = ["restored", worse]
    processes = [a_process(key, complete=False, reason=reason) for key, reason in enumerate(reasons)]

    assert a_snapshot(processes=processes).reason == worse


def test_the_other_source_of_a_process_counts_for_nothing() -> None:
    snapshot = a_server_snapshot()
    process, chip = snapshot.processes[0], snapshot.devices[0]
    [other] = process.other_devices

    assert {usage.pool: usage.used_bytes for usage in other.pools} == {
        Pool.DRAM: 2 * GIB - MIB,
        Pool.CB: 65_536,
        Pool.KERNEL: 917_504,
    }
    assert [usage.used_bytes for usage in process.devices[0].pools] == [2 * GIB]
    assert [(usage.used_bytes, usage.unattributed_bytes) for usage in chip.pools if usage.count] == [(2 * GIB, 0)]


def test_both_sources_are_in_an_answer() -> None:
    process, second, _ = decoded(encoded(a_server_snapshot()), Snapshot).processes
    [finding] = process.findings

    assert (process.source, process.claimed_pid) == ("journal", None)
    assert (finding.name, finding.count) == ("two_sources", 1)
    assert process.devices[0].pools[0].used_bytes == 2 * GIB
    assert process.other_devices[0].pools[0].used_bytes == 2 * GIB - MIB
    assert process.other_devices[0].kernels == (KindUsage(Kind.KERNEL_FABRIC, 917_504, 1, False),)
    assert (second.source, second.claimed_pid, second.other_devices) == ("socket", 17, ())


def test_kernels_of_an_unknown_type_are_counted_apart() -> None:
    snapshot = a_server_snapshot()
    expected = KindUsage(Kind.KERNEL_UNKNOWN, 12_288, 1, False)

    assert expected in snapshot.devices[1].kernels
    assert expected in snapshot.processes[1].devices[0].kernels


def test_a_choice_of_devices_holds_for_the_other_source_too() -> None:
    pools = [(1, number, 0, MIB, MIB, 1, MIB, NOON_NS, False) for number in range(2)]
    snapshot = a_snapshot(
        devices=[a_device(0), a_device(1)], processes=[a_process(1)], process_pools=pools, other_pools=pools
    )
    [process] = selected(snapshot, Selection(("1",))).processes

    assert [held.device.index for held in process.other_devices] == [1]
