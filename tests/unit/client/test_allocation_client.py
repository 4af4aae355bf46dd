"""The older client's calls through the journal: real programs make them, a real collector says what came of them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.faces.json_documents import opened
from tests.support.processes.programs import PRELUDE, a_program, tracked
from ttmem.collector import Collector
from ttmem.devices import Kind
from ttmem.snapshot import ProcessUsage, Snapshot
from ttmem.sources import Places

CLIENT = "A = ttmem.AllocationClient"
OFF = {"TTMEM": "", "TT_ALLOC_TRACKING_ENABLED": ""}


@pytest.fixture
def journals(tmp_path: Path) -> Path:
    return tmp_path


def seen_in(directory: Path) -> Snapshot:
    with Collector(Places(uid=os.geteuid(), directory=str(directory))) as collector:
        assert collector.wait_settled(5)
        return collector.snapshot()


def used(process: ProcessUsage) -> dict[tuple[int | None, str], int]:
    """What is held, by index of the device and pool, as far as it is not 0."""
    usages = [(held.device.index, usage) for held in process.devices for usage in held.pools]
    return {(index, usage.pool.word): usage.used_bytes for index, usage in usages if usage.used_bytes}


def kernels(process: ProcessUsage) -> dict[str, tuple[int, int, bool]]:
    kinds = [
        usage for held in process.devices for usage in held.kinds if usage.kind.number >= Kind.KERNEL_APPLICATION.number
    ]
    return {usage.kind.name: (usage.used_bytes or 0, usage.count, usage.is_estimated) for usage in kinds if usage.count}


def findings(process: ProcessUsage) -> dict[str, int]:
    return {finding.name: finding.count for finding in process.findings}


def process_after(journals: Path, *lines: str, **settings: str) -> ProcessUsage:
    """The process as it is seen after these lines, while it lives."""
    with a_program(journals, CLIENT, *lines, "meet()", **settings) as program:
        program.arrive()
        [process] = seen_in(journals).processes
    assert process.pid == program.pid
    return process


def output_of(journals: Path, *lines: str, **settings: str) -> tuple[str, str]:
    """What a program says on stdout and on stderr."""
    command = [sys.executable, "-c", "\n".join([PRELUDE, CLIENT, *lines])]
    done = subprocess.run(command, env=tracked(journals, **settings), check=True, capture_output=True, text=True)
    return done.stdout, done.stderr


def test_all_six_calls_come_out_as_the_older_server_counted_them(journals: Path) -> None:
    process = process_after(
        journals,
        "A.report_allocation(0, 4096, 0, 0x1000)",
        "A.report_allocation(0, 512, 1, 0x1000 + 1)",
        "A.report_allocation(0, 64, 0, 3)",
        "A.report_cb_allocation(0, 2048, 7)",
        "A.report_cb_allocation(0, 1024, 8)",
        "A.report_kernel_load(0, 917_504, 21, 1)",
        "A.report_kernel_load(0, 94_208, 22, 2)",
        "A.report_kernel_load(0, 300, 23)",
        "A.report_kernel_load(0, 200, 24, 0)",
        "A.report_deallocation(0, 3)",
        "A.report_cb_deallocation(0, 1024, 8)",
        "A.report_kernel_unload(0, 200, 24)",
    )

    assert used(process) == {
        (0, "dram"): 4096,
        (0, "l1"): 512,
        (0, "cb"): 2048,
        (0, "kernel"): 300,
        (0, "eth"): 917_504,
        (0, "dispatch"): 94_208,
    }
    assert kernels(process) == {
        "KERNEL_APPLICATION": (300, 1, True),
        "KERNEL_FABRIC": (917_504, 1, True),
        "KERNEL_DISPATCH": (94_208, 1, True),
    }
    assert findings(process) == {}


def test_ps_shows_it_on_the_device_that_the_socket_would_name(journals: Path) -> None:
    with a_program(journals, CLIENT, "A.report_allocation(3, 4096, 0, 1)", "meet()") as program:
        program.arrive()
        command = [sys.executable, "-m", "ttmem", "ps", "--json", "--no-daemon"]
        said = subprocess.run(command, env=tracked(journals), check=True, capture_output=True, text=True).stdout
    [process] = opened(json.loads(said))["processes"]
    [device] = process["devices"]

    assert (process["pid"], device["name"], device["index"]) == (program.pid, "server:3", 3)
    assert device["memory"]["dram"]["used_bytes"] == 4096


def test_buffer_types_are_those_of_the_runtime(journals: Path) -> None:
    process = process_after(
        journals, "for type in (0, 1, 2, 3, 4, 5, 255): A.report_allocation(0, 1 << type, type, type)"
    )

    assert used(process) == {
        (0, "dram"): 1,
        (0, "l1"): 2,
        (0, "host"): 4,
        (0, "l1_small"): 8,
        (0, "trace"): 16,
        (0, "unknown"): (1 << 42) + 32,  # 2^255 bytes are cut to the most that is believed
    }
    assert findings(process) == {"clamped": 1}


@pytest.mark.parametrize("type", [3, 255, -1, 1 << 40])
def test_a_kernel_of_another_type_is_unknown_and_counted_apart(journals: Path, type: int) -> None:
    process = process_after(journals, f"A.report_kernel_load(0, 500, 1, {type})")

    assert kernels(process) == {"KERNEL_UNKNOWN": (500, 1, True)}


@pytest.mark.parametrize("type", [0, 1, 2, 9])
@pytest.mark.parametrize("size", [500, 0, 7])
def test_an_unload_finds_its_kernel_whatever_its_type_and_whatever_size_it_names(
    journals: Path, type: int, size: int
) -> None:
    process = process_after(
        journals, f"A.report_kernel_load(0, 500, 1, {type})", f"A.report_kernel_unload(0, {size}, 1)"
    )

    assert (used(process), kernels(process), findings(process)) == ({}, {}, {})


def test_a_kernel_loaded_again_has_its_new_size_and_is_unloaded_once(journals: Path) -> None:
    again = [f"A.report_kernel_load(0, {size}, 1, 2)" for size in (500, 500, 700)]

    assert kernels(process_after(journals / "a", *again)) == {"KERNEL_DISPATCH": (700, 1, True)}
    process = process_after(journals / "b", *again, "A.report_kernel_unload(0, 0, 1)")

    assert (kernels(process), findings(process)) == ({}, {})


def test_a_kernel_loaded_again_under_another_type_is_another_ones(journals: Path) -> None:
    again = ["A.report_kernel_load(0, 500, 1, 0)", "A.report_kernel_load(0, 400, 1, 2)"]

    assert kernels(process_after(journals / "a", *again)) == {"KERNEL_DISPATCH": (400, 1, True)}
    process = process_after(journals / "b", *again, "A.report_kernel_unload(0, 0, 1)")

    assert (kernels(process), findings(process)) == ({}, {"replaced": 1})


def test_a_kernel_that_shrinks_is_a_finding(journals: Path) -> None:
    process = process_after(journals, "A.report_kernel_load(0, 500, 1)", "A.report_kernel_load(0, 400, 1)")

    assert kernels(process) == {"KERNEL_APPLICATION": (400, 1, True)}
    assert findings(process) == {"shrunk_kernel": 1}


def test_a_buffer_reported_by_two_owners_lives_until_both_have_freed_it(journals: Path) -> None:
    twice = ["A.report_allocation(0, 4096, 0, 1)"] * 2 + ["A.report_cb_allocation(0, 64, 1)"] * 2
    one_free = ["A.report_deallocation(0, 1)", "A.report_cb_deallocation(0, 64, 1)"]

    assert used(process_after(journals / "a", *twice)) == {(0, "dram"): 4096, (0, "cb"): 64}
    assert used(process_after(journals / "b", *twice, *one_free)) == {(0, "dram"): 4096, (0, "cb"): 64}
    process = process_after(journals / "c", *twice, *one_free, *one_free)

    assert (used(process), findings(process)) == ({}, {})


def test_a_live_address_with_another_size_or_type_is_taken_again_and_a_finding(journals: Path) -> None:
    process = process_after(
        journals,
        "A.report_allocation(0, 1000, 0, 1)",
        "A.report_allocation(0, 5000, 0, 1)",
        "A.report_allocation(0, 5000, 1, 1)",
        "A.report_cb_allocation(0, 64, 1)",
        "A.report_cb_allocation(0, 32, 1)",
    )

    assert used(process) == {(0, "l1"): 5000, (0, "cb"): 32}
    assert findings(process) == {"replaced": 3}


def test_frees_that_make_no_sense_are_findings_and_take_nothing_away(journals: Path) -> None:
    process = process_after(
        journals,
        "A.report_allocation(0, 4096, 0, 1)",
        "A.report_allocation(1, 4096, 0, 2)",
        "A.report_cb_allocation(0, 64, 5)",
        "A.report_deallocation(0, 99)",
        "A.report_deallocation(0, 2)",
        "A.report_cb_deallocation(0, 4096, 98)",
        "A.report_kernel_unload(0, 4096, 97)",
        "A.report_deallocation(1, 2)",
        "A.report_deallocation(1, 2)",
    )

    assert used(process) == {(0, "dram"): 4096, (0, "cb"): 64}
    assert findings(process) == {"double_free": 1, "unknown_free": 3, "wrong_target_free": 1}


def test_three_hundred_devices_are_all_counted_the_last_of_them_together(journals: Path) -> None:
    process = process_after(
        journals,
        "for device in range(300): A.report_allocation(device, 1000 + device, 0, 7)",
        "for device in range(0, 300, 2): A.report_deallocation(device, 7)",
        "A.report_allocation(-1, 1 << 20, 0, 7)",
        "A.report_allocation(-2, 1 << 21, 0, 7)",
        "A.report_allocation(65_536, 1 << 22, 0, 7)",
        "A.report_allocation(65_536, 1 << 22, 0, 7)",
        "A.report_deallocation(65_536, 7)",
    )
    by_device = used(process)
    known = {device: 1000 + device for device in range(1, 255, 2)}
    beyond = sum(1000 + device for device in range(255, 300, 2)) + (1 << 20) + (1 << 21) + (1 << 22)

    assert {index: size for (index, _), size in by_device.items() if index is not None and index >= 0} == known
    assert sum(by_device.values()) - sum(known.values()) == beyond
    assert set(findings(process)) <= {"target_refused"}


def test_ids_of_64_bits_and_impossible_numbers_are_taken_without_a_word(journals: Path) -> None:
    said, complaints = output_of(
        journals,
        "A.report_allocation(0, 100, 0, (1 << 64) - 1)",
        "A.report_deallocation(0, (1 << 64) - 1)",
        "A.report_allocation(0, -5, -1, -1)",
        "A.report_allocation(0, 1 << 200, 1 << 200, 1 << 200)",
        "A.report_cb_allocation(-(1 << 31), -1, -1)",
        "A.report_kernel_load(0, 1 << 63, 1, -7)",
        "A.report_allocation(True, False, True, True)",
        "print(A.lost_count())",
    )

    assert (said, complaints) == ("0\n", "")


def test_an_id_wider_than_32_bits_is_no_device_and_its_reports_are_lost(journals: Path) -> None:
    wide = "(1 << 31, 1 << 40, (1 << 40) + 1, (1 << 64) - 1, 1 << 99, -(1 << 31) - 1, -(1 << 99))"
    lines = [
        f"for wide in {wide}:",
        "    A.report_allocation(wide, 10, 0, 4096); A.report_deallocation(wide, 4096)",
        "    A.report_kernel_load(wide, 10, 1); A.report_cb_allocation(wide, 10, 1)",
        "for device in (-1, -2, -(1 << 31)): A.report_allocation(device, 10, 0, 4096)",
    ]
    process = process_after(journals, *lines)
    said, complaints = output_of(journals, *lines, "print(A.lost_count())")

    assert sum(used(process).values()) == 30
    assert findings(process) == {}
    assert (said, complaints.count("\n")) == ("28\n", 1)


def test_what_cannot_be_understood_is_counted_and_said_once_and_raises_nothing(journals: Path) -> None:
    said, complaints = output_of(
        journals,
        "A.report_allocation()",
        "A.report_allocation(0, 1.5, 0, 1)",
        "A.report_allocation('0', None, [], {})",
        "A.report_allocation(0, 1, 0, 1, 2)",
        "A.report_deallocation(0, buffer=1)",
        "A.report_deallocation(0, 1, buffer_id=1)",
        "class Stubborn:",
        "    def __index__(self): raise RuntimeError('no')",
        "A.report_cb_allocation(0, Stubborn(), 1)",
        "A.report_cb_deallocation(0, 1)",
        "A.report_kernel_load(0, 1)",
        "A.report_kernel_unload(0, 1, 2, 3)",
        "print(A.lost_count())",
    )

    assert said == "10\n"
    assert complaints.count("\n") == 1
    assert "AllocationClient.report_allocation" in complaints


def test_an_interrupt_is_not_taken_for_a_bad_report(journals: Path) -> None:
    said, _ = output_of(
        journals,
        "class Interrupted:",
        "    def __index__(self): raise KeyboardInterrupt",
        "try: A.report_allocation(0, Interrupted(), 0, 1)",
        "except KeyboardInterrupt: print('interrupted', A.lost_count())",
    )

    assert said == "interrupted 0\n"


def test_arguments_may_be_named(journals: Path) -> None:
    process = process_after(
        journals,
        "A.report_allocation(device_id=0, size=4096, buffer_type=1, buffer_id=1)",
        "A.report_allocation(0, 512, buffer_id=2, buffer_type=0)",
        "A.report_allocation(0, 64, buffer_type=0, buffer_id=3)",
        "A.report_deallocation(0, buffer_id=3)",
        "A.report_cb_allocation(0, size=64, cb_id=1)",
        "A.report_kernel_load(0, 500, kernel_type=1, kernel_id=3)",
        "A.report_kernel_load(0, 500, 4, kernel_type=1)",
        "A.report_kernel_unload(device_id=0, kernel_id=4, size=0)",
    )

    assert used(process) == {(0, "l1"): 4096, (0, "dram"): 512, (0, "cb"): 64, (0, "eth"): 500}


@pytest.mark.parametrize("value", ["0", "", "yes", "true", "11", " 1", "2"])
def test_the_older_switch_is_on_only_at_exactly_1(journals: Path, value: str) -> None:
    settings = {**OFF, "TT_ALLOC_TRACKING_ENABLED": value}
    said, complaints = output_of(journals, "A.report_allocation(0, 1, 0, 1)", "print(A.is_enabled())", **settings)

    assert (said, complaints, list(journals.iterdir())) == ("False\n", "", [])


@pytest.mark.parametrize("switch", ["TTMEM", "TT_ALLOC_TRACKING_ENABLED"])
def test_either_switch_turns_it_on(journals: Path, switch: str) -> None:
    process = process_after(journals, "A.report_allocation(0, 4096, 0, 1)", **{**OFF, switch: "1"})

    assert used(process) == {(0, "dram"): 4096}


def test_off_means_nothing_whatever_is_reported(journals: Path) -> None:
    said, complaints = output_of(
        journals,
        "A.report_allocation(0, 4096, 0, 1)",
        "A.report_allocation('nonsense')",
        "A.report_deallocation(0, 1); A.report_cb_allocation(0, 1, 1); A.report_cb_deallocation(0, 1, 1)",
        "A.report_kernel_load(0, 1, 1); A.report_kernel_unload(0, 1, 1)",
        "print(A.is_enabled(), A.lost_count())",
        **OFF,
    )

    assert (said, complaints, list(journals.iterdir())) == ("False 0\n", "", [])


def test_an_unknown_transport_is_reported_and_the_journal_taken(journals: Path) -> None:
    said, complaints = output_of(
        journals, "A.report_allocation(0, 1, 0, 1)", "print(A.is_enabled())", TTMEM_TRANSPORT="pigeon"
    )

    assert said == "True\n"
    assert complaints == "ttmem: TTMEM_TRANSPORT=pigeon: expected journal or socket; reports go to the journal\n"
    assert len(list(journals.iterdir())) == 1


def test_what_was_ended_by_turning_tracking_off_is_not_held_afterwards(journals: Path) -> None:
    process = process_after(
        journals,
        "A.report_allocation(0, 4096, 0, 1); A.report_kernel_load(0, 500, 1)",
        "A.report_allocation(0, 64, 0, 2)",
        "ttmem.disable(); A.report_allocation(0, 1, 0, 3); ttmem.enable()",
        "A.report_allocation(0, 4096, 0, 1)",  # not a second holder: the first is over
        "A.report_deallocation(0, 2)",  # ended before, and no mistake
        "A.report_deallocation(0, 1)",
        "A.report_allocation(0, 512, 0, 5)",
    )

    assert used(process) == {(0, "dram"): 512}
    assert findings(process) == {}
    [held] = process.devices
    assert held.device.name == "server:0"


def test_ids_that_come_and_go_for_ever_are_all_found_again(journals: Path) -> None:
    process = process_after(
        journals,
        "import random; draw = random.Random(5).randrange; alive = {}",
        "for step in range(60_000):",
        "    device, id = draw(3), draw(40_000) << 11",
        "    if (device, id) in alive:",
        "        A.report_deallocation(device, id); del alive[device, id]",
        "    else:",
        "        alive[device, id] = 32 + step; A.report_allocation(device, 32 + step, device, id)",
        "sums = [sum(size for key, size in alive.items() if key[0] == device) for device in range(3)]",
        "ttmem.label(' '.join(map(str, sums)))",
    )
    expected = [int(word) for word in process.label.split()]

    assert used(process) == {(0, "dram"): expected[0], (1, "l1"): expected[1], (2, "host"): expected[2]}
    assert findings(process) == {}


def test_a_full_table_keeps_the_sums_right(journals: Path) -> None:
    process = process_after(
        journals,
        "for id in range(5000): A.report_allocation(0, 100, 0, id)",
        "for id in range(0, 5000, 2): A.report_deallocation(0, id)",
        TTMEM_TABLE="1024",
    )

    assert used(process) == {(0, "dram"): 2500 * 100}
    assert process.reason == "table_full"


def test_a_forked_child_holds_nothing_of_its_parent_and_reports_for_itself(journals: Path) -> None:
    with a_program(
        journals,
        "import os",
        CLIENT,
        "A.report_allocation(0, 4096, 0, 1); A.report_kernel_load(0, 500, 1, 1); A.report_allocation('lost')",
        "ready, told = os.pipe()",
        "child = os.fork()",
        "if child == 0:",
        "    A.report_deallocation(0, 1); A.report_kernel_unload(0, 500, 1)",  # the parent's: no mistake here
        "    A.report_allocation(0, 4096, 0, 1)",  # no second holder: it is the child's first
        "    A.report_allocation(1, 64, 0, 1); A.report_deallocation(1, 1)",
        "    A.report_kernel_load(0, 70, 1, 2)",
        "    assert A.lost_count() == 0",
        "    os.write(told, b'x')",
        "    sys.stdin.read()",
        "    os._exit(0)",
        "os.read(ready, 1)",
        "A.report_deallocation(0, 1)",
        "A.report_allocation(0, 1 << 20, 0, 1)",
        "meet()",
    ) as program:
        program.arrive()
        processes = {process.pid: process for process in seen_in(journals).processes}
        parent = processes.pop(program.pid)
        [child] = processes.values()
        program.go_on()

    assert used(parent) == {(0, "dram"): 1 << 20, (0, "eth"): 500}
    assert used(child) == {(0, "dram"): 4096, (0, "dispatch"): 70}
    assert findings(parent) == findings(child) == {}


def test_threads_may_report_at_once(journals: Path) -> None:
    process = process_after(
        journals,
        "import threading",
        "def work(device):",
        "    for id in range(5000):",
        "        A.report_allocation(device, 8, 0, id)",
        "        A.report_cb_allocation(0, 8, device << 32 | id)",
        "        if id % 2: A.report_deallocation(device, id); A.report_cb_deallocation(0, 8, device << 32 | id)",
        "threads = [threading.Thread(target=work, args=(device,)) for device in range(4)]",
        "[thread.start() for thread in threads]; [thread.join() for thread in threads]",
    )

    assert used(process) == {(0, "cb"): 4 * 2500 * 8} | {(device, "dram"): 2500 * 8 for device in range(4)}
    assert findings(process) == {}


def test_a_report_from_within_a_report_is_taken_too(journals: Path) -> None:
    process = process_after(
        journals,
        "class Nested:",
        "    def __index__(self):",
        "        for id in range(5000): A.report_allocation(1, 8, 0, id)",
        "        return 4096",
        "A.report_allocation(0, Nested(), 0, 1)",
    )

    assert used(process) == {(0, "dram"): 4096, (1, "dram"): 5000 * 8}
