"""Kernels as a `GraphTracker` hears of them: charged once, under the type that is known best."""

import os
import re
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.processes.programs import command_of, tracked
from tests.support.tracked.own_journal import OwnJournal, an_own_journal
from tests.support.tracked.runtime import SmallDevice, a_chip_alone, a_mesh
from ttmem import GraphTracker
from ttmem.client.tracked import kernels
from ttmem.client.tracked.kernel_log import FRAMES_MOST, KernelLog
from ttmem.client.tracked.kernel_types import UNSAID, kernel_kind, kernel_pool, kernel_type_of
from ttmem.devices import Kind, Pool
from ttmem.tracking import Cache, CoreType, FoundBy, KernelFacts, KernelType

CHIP = 0xC0
APPLICATION, FABRIC, DISPATCH = KernelType.APPLICATION, KernelType.FABRIC, KernelType.DISPATCH
FABRIC_SOURCE = "tt_metal/fabric/impl/kernels/edm_fabric/fabric_erisc_router.cpp"
DISPATCH_SOURCE = "/opt/tt-metal/tt_metal/impl/dispatch/kernels/cq_prefetch.cpp"


@pytest.fixture
def journal() -> Iterator[OwnJournal]:
    with an_own_journal() as one:
        yield one


@pytest.fixture
def tracker(journal: OwnJournal) -> Iterator[GraphTracker]:
    with GraphTracker() as one:
        yield one
        assert one.fault_count == 0


@pytest.fixture
def device(tracker: GraphTracker) -> SmallDevice:
    device = a_chip_alone()
    tracker.track_device_opened(device)
    return device


# ---- bytes


def test_a_kernel_is_charged_its_exact_bytes(tracker: GraphTracker, journal: OwnJournal, device: SmallDevice) -> None:
    facts = KernelFacts(program=1, exact_bytes=18_400 * 56, binary_times_cores_bytes=24_576 * 64)

    tracker.track_kernel_load(18_400, 1 << 12, device, APPLICATION, 56, facts=facts)

    assert journal.kinds(CHIP) == {Kind.KERNEL_APPLICATION: (18_400 * 56, 1, False)}
    [row] = journal.allocations(Kind.KERNEL_APPLICATION)
    assert (row[5], row[6]) == (18_400 * 56, 24_576 * 64)


@pytest.mark.parametrize(("given", "name"), [("compute", "compute"), ("", ""), ("compute\0007", "compute")])
def test_a_kernel_is_shown_with_what_each_processor_gets(
    given: str, name: str, tracker: GraphTracker, journal: OwnJournal, device: SmallDevice
) -> None:
    facts = KernelFacts(program=1, name=given, exact_bytes=3552, packed_bytes=(1252, 860, 1428))

    tracker.track_kernel_load(3552, 1 << 12, device, APPLICATION, 1, facts=facts)

    [row] = journal.allocations(Kind.KERNEL_APPLICATION)
    assert row[-3:-1] == ((1252, 860, 1428), name)


def test_without_exact_bytes_the_allocation_servers_rule_stands_in_and_is_marked(
    tracker: GraphTracker, journal: OwnJournal, device: SmallDevice
) -> None:
    tracker.track_kernel_load(57_344, 1, device, FABRIC, 16)

    assert journal.kinds(CHIP) == {Kind.KERNEL_FABRIC: (917_504, 1, True)}


def test_a_kernel_that_both_dispatch_paths_report_is_charged_once(
    tracker: GraphTracker, journal: OwnJournal, device: SmallDevice
) -> None:
    for _ in range(2):  # equal facts, though not the same object
        facts = KernelFacts(program=1, exact_bytes=6400, image=9, payload_bytes=2048)
        tracker.track_kernel_load(100, 1 << 12, device, APPLICATION, 64, facts=facts)

    assert journal.kinds(CHIP) == {Kind.KERNEL_APPLICATION: (6400, 1, False)}
    assert journal.findings() == {}
    assert journal.caches(CHIP)[Cache.IMAGE].misses == 1


def test_the_path_that_knows_less_changes_nothing(
    tracker: GraphTracker, journal: OwnJournal, device: SmallDevice
) -> None:
    tracker.track_kernel_load(57_344, 1, device, num_cores=2, facts=KernelFacts(owner=DISPATCH))

    tracker.track_kernel_load(57_344, 1, device, num_cores=2)

    assert journal.used(CHIP) == {Pool.DISPATCH: 114_688}


def test_the_path_that_knows_more_moves_the_kernel(
    tracker: GraphTracker, journal: OwnJournal, device: SmallDevice
) -> None:
    tracker.track_kernel_load(57_344, 1, device, num_cores=2)
    assert journal.used(CHIP) == {Pool.ETH: 114_688}

    tracker.track_kernel_load(57_344, 1, device, num_cores=2, facts=KernelFacts(owner=DISPATCH))

    assert (journal.used(CHIP), journal.findings()) == ({Pool.DISPATCH: 114_688}, {})


def test_a_load_with_another_size_sets_the_size(
    tracker: GraphTracker, journal: OwnJournal, device: SmallDevice
) -> None:
    for size_bytes in (100, 300, 200):
        tracker.track_kernel_load(size_bytes, 1, device, APPLICATION)

    assert journal.used(CHIP) == {Pool.KERNEL: 200}
    assert journal.findings() == {"shrunk_kernel": 1}


def test_an_unloaded_kernel_is_given_back(tracker: GraphTracker, journal: OwnJournal, device: SmallDevice) -> None:
    tracker.track_kernel_load(57_344, 1, device, FABRIC, 16)

    tracker.track_kernel_unload(1, device)

    assert (journal.used(CHIP), journal.findings()) == ({}, {})


@pytest.mark.parametrize(
    ("size_bytes", "facts"),
    [
        ("x", KernelFacts()),
        (200, KernelFacts(exact_bytes=1.5)),  # type: ignore[arg-type]
        (200, KernelFacts(image=5, payload_bytes="x")),  # type: ignore[arg-type]
        (200, KernelFacts(image=[])),  # type: ignore[arg-type]
        (200, KernelFacts(packed_bytes=(1, "x"))),  # type: ignore[arg-type]
    ],
)
def test_a_kernel_outlives_a_report_that_cannot_take_its_place(
    journal: OwnJournal, size_bytes: int, facts: KernelFacts
) -> None:
    with GraphTracker() as tracker:
        device = a_chip_alone()
        tracker.track_kernel_load(100, 3, device, APPLICATION, facts=KernelFacts(image=5, payload_bytes=2048))

        tracker.track_kernel_load(size_bytes, 3, device, FABRIC, facts=facts)
        assert (tracker.fault_count, journal.used(CHIP)) == (1, {Pool.KERNEL: 100})
        assert journal.caches(CHIP)[Cache.IMAGE].state == (1, 2048, 0)
        tracker.track_kernel_unload(3, device)

        assert (journal.used(CHIP), journal.findings()) == ({}, {})
        assert journal.caches(CHIP)[Cache.IMAGE].state == (0, 0, 0)


def test_an_unload_of_what_was_never_loaded_is_a_finding(tracker: GraphTracker, journal: OwnJournal) -> None:
    device = a_chip_alone(0xD1)  # no other test's: frees after a close would be excused there
    tracker.track_device_opened(device)

    tracker.track_kernel_unload(99, device)

    assert journal.findings() == {"unknown_free": 1}


@pytest.mark.parametrize("ids", [(1 << 64, (1 << 64) + 1), (1 << 70, 1 << 75)])
def test_ids_that_no_journal_can_hold_are_still_two_kernels(
    tracker: GraphTracker, journal: OwnJournal, device: SmallDevice, ids: tuple[int, int]
) -> None:
    for kernel_id in ids:
        tracker.track_kernel_load(100, kernel_id, device, APPLICATION)
    assert journal.used(CHIP) == {Pool.KERNEL: 200}

    for kernel_id in ids:
        tracker.track_kernel_unload(kernel_id, device)

    assert (journal.used(CHIP), journal.findings()) == ({}, {})


def test_kernels_of_a_mesh_are_charged_on_every_chip(tracker: GraphTracker, journal: OwnJournal) -> None:
    tracker.track_kernel_load(100, 1, a_mesh(1, 4), APPLICATION, 8)

    assert [journal.used(CHIP + index) for index in range(4)] == [{Pool.KERNEL: 800}] * 4
    assert journal.live_count() == 1


def test_one_kernel_on_two_devices_is_two_charges(tracker: GraphTracker, journal: OwnJournal) -> None:
    first, second = a_chip_alone(CHIP), a_chip_alone(CHIP + 1)
    for device in (first, second):
        tracker.track_kernel_load(100, 1, device, APPLICATION, 8)

    tracker.track_kernel_unload(1, first)

    assert (journal.used(CHIP), journal.used(CHIP + 1)) == ({}, {Pool.KERNEL: 800})


# ---- images


def test_equal_images_are_counted_and_what_they_would_save(
    tracker: GraphTracker, journal: OwnJournal, device: SmallDevice
) -> None:
    images = {1: (77, 4096), 2: (77, 4096), 3: (78, 2048), 4: (0, 2048), 5: (77, 4096)}
    for kernel_id, (image, payload_bytes) in images.items():
        facts = KernelFacts(image=image, payload_bytes=payload_bytes)
        tracker.track_kernel_load(100, kernel_id, device, APPLICATION, facts=facts)
    assert journal.caches(CHIP)[Cache.IMAGE].state == (2, 4096 + 2048, 2 * 4096)

    for kernel_id in (1, 3, 4):
        tracker.track_kernel_unload(kernel_id, device)

    found = journal.caches(CHIP)[Cache.IMAGE]
    assert found.state == (1, 4096, 4096)
    assert (found.hits, found.misses, found.evicted) == (2, 2, 2)


def test_an_image_keeps_the_size_that_was_reported_first(
    tracker: GraphTracker, journal: OwnJournal, device: SmallDevice
) -> None:
    for kernel_id, payload_bytes in ((1, 100), (2, 200)):
        facts = KernelFacts(image=5, payload_bytes=payload_bytes)
        tracker.track_kernel_load(100, kernel_id, device, APPLICATION, facts=facts)
    assert journal.caches(CHIP)[Cache.IMAGE].state == (1, 100, 100)

    for kernel_id in (1, 2):
        tracker.track_kernel_unload(kernel_id, device)

    assert journal.caches(CHIP)[Cache.IMAGE].state == (0, 0, 0)
    assert journal.findings() == {}


def test_threads_that_load_the_same_kernels_at_once_count_each_image_once(
    tracker: GraphTracker, journal: OwnJournal, device: SmallDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = KernelFacts(image=77, payload_bytes=2048)

    def slow_kernel_kind(kernel_type: int) -> Kind:
        time.sleep(0)  # in the middle of a load: here another thread may come in
        return kernel_kind(kernel_type)

    monkeypatch.setattr(kernels, "kernel_kind", slow_kernel_kind)
    start = threading.Barrier(4)

    def work() -> None:
        start.wait()
        for kernel_id in range(100):
            tracker.track_kernel_load(100, kernel_id, device, APPLICATION, facts=facts)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    found = journal.caches(CHIP)[Cache.IMAGE]
    assert (found.hits, found.misses, found.state) == (99, 1, (1, 2048, 99 * 2048))


def test_a_forked_child_never_waits_for_a_turn_that_its_parent_had(tmp_path: Path) -> None:
    done = subprocess.run(command_of("client.forked_turn"), env=tracked(tmp_path), capture_output=True, text=True)

    assert done.stdout == "7 0\n", done.stderr


# ---- types


@pytest.mark.parametrize(
    ("kernel_type", "size_bytes", "facts", "answer"),
    [
        (UNSAID, 57_344, KernelFacts(owner=DISPATCH, source_path=FABRIC_SOURCE), (DISPATCH, FoundBy.OWNER)),
        (FABRIC, 47_104, KernelFacts(owner=APPLICATION), (APPLICATION, FoundBy.OWNER)),
        (FABRIC, 47_104, KernelFacts(source_path=DISPATCH_SOURCE), (FABRIC, FoundBy.ARGUMENT)),
        (APPLICATION, 57_344, KernelFacts(source_path=FABRIC_SOURCE), (APPLICATION, FoundBy.ARGUMENT)),
        (0, 57_344, KernelFacts(), (APPLICATION, FoundBy.ARGUMENT)),
        (UNSAID, 47_104, KernelFacts(source_path=FABRIC_SOURCE), (FABRIC, FoundBy.PATH)),
        (UNSAID, 57_344, KernelFacts(source_path=DISPATCH_SOURCE), (DISPATCH, FoundBy.PATH)),
        (UNSAID, 57_344, KernelFacts(source_path="ttnn/cpp/reader.cpp"), (APPLICATION, FoundBy.PATH)),
        (UNSAID, 1, KernelFacts(source_path="my_tt_metal/fabric/x.cpp"), (APPLICATION, FoundBy.PATH)),
        (UNSAID, 57_344, KernelFacts(), (FABRIC, FoundBy.SIZE)),
        (UNSAID, 47_104, KernelFacts(), (DISPATCH, FoundBy.SIZE)),
        (UNSAID, 47_105, KernelFacts(), (APPLICATION, FoundBy.UNKNOWN)),
    ],
)
def test_the_type_is_that_of_the_best_witness(
    kernel_type: int, size_bytes: int, facts: KernelFacts, answer: tuple[KernelType, FoundBy]
) -> None:
    assert kernel_type_of(kernel_type, size_bytes, facts) == answer


def configure_fabric(size_bytes: int, facts: KernelFacts) -> tuple[int, FoundBy]:
    return kernel_type_of(UNSAID, size_bytes, facts)


def configure_command_queue_programs(size_bytes: int, facts: KernelFacts) -> tuple[int, FoundBy]:
    return kernel_type_of(UNSAID, size_bytes, facts)


def test_the_caller_is_asked_before_the_size_and_after_the_path() -> None:
    assert configure_fabric(47_104, KernelFacts()) == (FABRIC, FoundBy.STACK)
    assert configure_command_queue_programs(57_344, KernelFacts()) == (DISPATCH, FoundBy.STACK)
    assert configure_fabric(1, KernelFacts(source_path="ttnn/x.cpp")) == (APPLICATION, FoundBy.PATH)


def test_a_caller_far_up_the_stack_is_found_and_one_too_far_is_not() -> None:
    def deeper(levels: int) -> tuple[int, FoundBy]:
        return deeper(levels - 1) if levels else kernel_type_of(UNSAID, 1, KernelFacts())

    def configure_fabric_of_a_device(levels: int) -> tuple[int, FoundBy]:
        return deeper(levels)

    assert configure_fabric_of_a_device(20) == (FABRIC, FoundBy.STACK)
    assert configure_fabric_of_a_device(200) == (APPLICATION, FoundBy.UNKNOWN)


def test_the_default_is_the_allocation_servers_number_and_not_an_explicit_application() -> None:
    unsaid: object = UNSAID

    assert unsaid == KernelType.APPLICATION
    assert unsaid is not KernelType.APPLICATION


def test_an_unknown_type_is_stored_as_unknown(tracker: GraphTracker, journal: OwnJournal, device: SmallDevice) -> None:
    tracker.track_kernel_load(100, 1, device, 7, 2)

    assert journal.kinds(CHIP) == {Kind.KERNEL_UNKNOWN: (200, 1, True)}


@pytest.mark.parametrize(
    ("kernel_type", "core_type", "pool"),
    [
        (APPLICATION, CoreType.TENSIX, Pool.KERNEL),
        (APPLICATION, CoreType.UNKNOWN, Pool.KERNEL),
        (APPLICATION, CoreType.ACTIVE_ETH, Pool.ETH),
        (APPLICATION, CoreType.IDLE_ETH, Pool.ETH),
        (APPLICATION, CoreType.DRAM, Pool.KERNEL),
        (DISPATCH, CoreType.TENSIX, Pool.DISPATCH),
        (DISPATCH, CoreType.IDLE_ETH, Pool.DISPATCH),
        (FABRIC, CoreType.ACTIVE_ETH, Pool.ETH),
        (FABRIC, CoreType.UNKNOWN, Pool.ETH),
        (FABRIC, CoreType.TENSIX, Pool.KERNEL),
        (7, CoreType.TENSIX, Pool.KERNEL),
    ],
)
def test_a_kernel_lies_where_its_cores_are(kernel_type: int, core_type: CoreType, pool: Pool) -> None:
    assert kernel_pool(kernel_type, core_type) == pool


def test_every_type_has_its_kind() -> None:
    assert [kernel_kind(number) for number in (0, 1, 2, 3)] == [
        Kind.KERNEL_APPLICATION,
        Kind.KERNEL_FABRIC,
        Kind.KERNEL_DISPATCH,
        Kind.KERNEL_UNKNOWN,
    ]


def test_how_a_type_was_found_and_on_which_cores_is_reported(
    tracker: GraphTracker, journal: OwnJournal, device: SmallDevice
) -> None:
    facts = KernelFacts(source_path=FABRIC_SOURCE, core_type=CoreType.ACTIVE_ETH, exact_bytes=100)
    tracker.track_kernel_load(100, 1, device, facts=facts)
    tracker.track_kernel_load(57_344, 2, device)

    assert journal.kernels(CHIP) == {1: (CoreType.ACTIVE_ETH, FoundBy.PATH), 2: (CoreType.UNKNOWN, FoundBy.SIZE)}


# ---- the allocation server's log


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reading, writing = os.pipe()
    yield reading, writing
    os.close(reading)
    os.close(writing)


def told(pipe: tuple[int, int], *, kernel_type: int = FABRIC, size_bytes: int = 57_344, cores: int = 16) -> list[str]:
    figures = {"size_bytes": size_bytes, "cores": cores, "total_bytes": size_bytes * cores}
    KernelLog(pipe[1]).write_load(a_chip_alone(), 0x7F3A, kernel_type, **figures)
    return os.read(pipe[0], 1 << 16).decode().splitlines()


def test_the_line_is_the_allocation_servers(pipe: tuple[int, int]) -> None:
    assert told(pipe)[0] == (
        "\N{LEFT-POINTING MAGNIFYING GLASS} KERNEL_LOAD Backtrace (Device 0, Type: Fabric, Binary Size: 56 KB, "
        "Cores: 16, Total L1: 896 KB, ID: 0x7f3a)"
    )


def test_numbers_are_written_as_a_cpp_stream_writes_them(pipe: tuple[int, int]) -> None:
    line = told(pipe, kernel_type=DISPATCH, size_bytes=1_234_567_890, cores=1)[0]

    assert "Type: Dispatch, Binary Size: 1.20563e+06 KB, Cores: 1, Total L1: 1.20563e+06 KB" in line


def test_below_the_line_stands_who_called_without_our_own_frames(pipe: tuple[int, int]) -> None:
    frames = told(pipe)[1:]

    assert re.fullmatch(rf"  #0 told {re.escape(__file__)}:\d+", frames[0])
    assert len(frames) <= FRAMES_MOST
    assert not [frame for frame in frames if "kernel_log.py" in frame]


def test_the_log_ends_by_itself(pipe: tuple[int, int]) -> None:
    log = KernelLog(pipe[1], loads_most=2)

    for _ in range(5):
        log.write_load(a_chip_alone(), 1, APPLICATION, size_bytes=1, cores=1, total_bytes=1)

    text = os.read(pipe[0], 1 << 16).decode()
    assert text.count("KERNEL_LOAD Backtrace") == 2
    assert text.count("that is enough") == 1


def test_a_log_that_cannot_be_written_harms_no_process() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    os.close(writing)

    KernelLog(writing).write_load(a_chip_alone(), 1, APPLICATION, size_bytes=1, cores=1, total_bytes=1)


@pytest.mark.parametrize(("switch", "lines"), [("1", 2), ("0", 0), ("", 0)])
def test_the_environment_asks_for_the_log(tmp_path: Path, switch: str, lines: int) -> None:
    environ = tracked(tmp_path, TT_METAL_KERNEL_BACKTRACE=switch)

    done = subprocess.run(command_of("client.fabric_kernels"), env=environ, capture_output=True, text=True, check=True)

    assert done.stderr.count("KERNEL_LOAD Backtrace (Device ") == lines  # one for each chip, told twice
    assert bool(re.search(r"#0 configure_fabric \S+/fabric_kernels.py:12\n", done.stderr)) is bool(lines)
    assert done.stdout == ""
