"""What a runtime tells a `GraphTracker` is what a collector then sees, once."""

import gc
import inspect
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.processes.programs import tracked
from tests.support.tracked.own_journal import OwnJournal, an_own_journal
from tests.support.tracked.runtime import SmallBuffer, SmallCores, SmallDevice, a_chip_alone, a_mesh
from ttmem import GraphTracker
from ttmem.client import notices
from ttmem.devices import BinaryStatus, BufferType, Kind, Pool
from ttmem.tracking import KernelFacts, KernelType, Tracker

CHIP = 0xC0
CORES = SmallCores(64, "0,0-7,7")


@pytest.fixture
def journal() -> Iterator[OwnJournal]:
    with an_own_journal() as one:
        yield one


@pytest.fixture
def tracker(journal: OwnJournal) -> Iterator[GraphTracker]:
    with GraphTracker() as one:
        yield one
        assert one.fault_count == 0


def a_watched(device: SmallDevice, tracker: GraphTracker) -> SmallDevice:
    tracker.track_device_opened(device)
    return device


CALLS = sorted(name for name in vars(Tracker) if name.startswith("track_"))


@pytest.mark.parametrize("call", CALLS)
def test_every_call_of_a_tracker_is_reported_with_its_own_parameters(call: str) -> None:
    mine, base = (inspect.signature(getattr(owner, call)) for owner in (GraphTracker, Tracker))

    assert call in vars(GraphTracker)
    assert mine == base


def test_the_allocation_servers_parameters_keep_their_names_and_defaults() -> None:
    load = inspect.signature(GraphTracker.track_kernel_load).parameters

    assert list(load)[1:6] == ["kernel_size", "kernel_id", "device", "kernel_type", "num_cores"]
    assert (load["kernel_type"].default, load["num_cores"].default) == (KernelType.APPLICATION, 1)


# ---- buffers


@pytest.mark.parametrize(
    ("buffer_type", "pool"),
    [
        (BufferType.DRAM, Pool.DRAM),
        (BufferType.L1, Pool.L1),
        (BufferType.L1_SMALL, Pool.L1_SMALL),
        (BufferType.TRACE, Pool.TRACE),
        (BufferType.SYSTEM_MEMORY, Pool.HOST),
    ],
)
def test_a_buffer_is_charged_what_its_banks_give_up(
    tracker: GraphTracker, journal: OwnJournal, buffer_type: BufferType, pool: Pool
) -> None:
    buffer = SmallBuffer(a_chip_alone(), 4096, 4000, buffer_type=buffer_type)

    tracker.track_allocate(buffer)

    assert journal.used(CHIP) == {pool: 4096}
    [row] = journal.allocations(Kind.BUFFER)
    assert row[2:9] == (buffer.unique_id, pool, row[4], 4096, 4000, 0x1000, 352)


def test_a_freed_buffer_is_given_back(tracker: GraphTracker, journal: OwnJournal) -> None:
    buffer = SmallBuffer(a_chip_alone())
    tracker.track_allocate(buffer)

    tracker.track_deallocate(buffer)

    assert (journal.used(CHIP), journal.findings()) == ({}, {})


def test_a_buffer_that_is_freed_twice_is_a_finding(tracker: GraphTracker, journal: OwnJournal) -> None:
    buffer = SmallBuffer(a_chip_alone(0xD0))  # no other test's: frees after a close would be excused there
    tracker.track_allocate(buffer)
    tracker.track_deallocate(buffer)

    tracker.track_deallocate(buffer)

    assert journal.findings() == {"double_free": 1}


# ---- devices


def test_a_mesh_is_one_record_for_all_its_chips(tracker: GraphTracker, journal: OwnJournal) -> None:
    mesh = a_watched(a_mesh(2, 2), tracker)

    tracker.track_allocate(SmallBuffer(mesh, 4096))

    assert [journal.used(CHIP + index) for index in range(4)] == [{Pool.DRAM: 4096}] * 4
    assert journal.live_count() == 1


def test_closing_a_device_ends_everything_on_it(tracker: GraphTracker, journal: OwnJournal) -> None:
    mesh = a_watched(a_mesh(1, 2), tracker)
    buffer = SmallBuffer(mesh)
    tracker.track_allocate(buffer)
    tracker.track_kernel_load(100, 1, mesh, KernelType.FABRIC)
    tracker.track_allocate_cb(CORES, 0, 64, False, mesh, program=1)
    tracker.track_launch(1, mesh)

    tracker.track_device_closed(mesh)

    assert (journal.used(CHIP), journal.live_count(), journal.open_chips()) == ({}, 0, set())


def test_what_is_freed_after_the_end_of_its_device_is_no_finding(tracker: GraphTracker, journal: OwnJournal) -> None:
    device = a_watched(a_chip_alone(), tracker)
    buffer = SmallBuffer(device)
    tracker.track_allocate(buffer)
    tracker.track_kernel_load(100, 1, device, KernelType.APPLICATION)
    tracker.track_device_closed(device)

    tracker.track_deallocate(buffer)
    tracker.track_kernel_unload(1, device)
    tracker.track_deallocate_cb(device, program=1)
    tracker.track_program_end(1, device)

    assert (journal.findings(), journal.live_count(), journal.open_chips()) == ({}, 0, set())


def test_two_open_devices_on_one_chip_do_not_end_each_other(tracker: GraphTracker, journal: OwnJournal) -> None:
    first, second, mesh = (a_watched(device, tracker) for device in (a_chip_alone(), a_chip_alone(), a_mesh(1, 2)))
    for number, device in enumerate((first, second, mesh), start=1):
        tracker.track_allocate(SmallBuffer(device, 4096, address=0x1000 * number))

    tracker.track_device_closed(first)
    assert journal.used(CHIP) == {Pool.DRAM: 8192}
    tracker.track_device_closed(mesh)

    assert journal.used(CHIP) == {Pool.DRAM: 4096}
    assert journal.open_chips() == {CHIP}


def test_devices_opened_repeatedly_need_no_more_targets(tracker: GraphTracker, journal: OwnJournal) -> None:
    for _ in range(300):  # a journal has room for 255
        mesh = a_watched(a_mesh(1, 2), tracker)
        tracker.track_device_closed(mesh)
    last = a_watched(a_mesh(1, 2), tracker)

    tracker.track_allocate(SmallBuffer(last, 4096))

    assert journal.used(CHIP + 1) == {Pool.DRAM: 4096}


def test_a_part_of_a_mesh_that_was_never_opened_by_itself_ends_with_it(
    tracker: GraphTracker, journal: OwnJournal
) -> None:
    mesh, part = a_watched(a_mesh(1, 4), tracker), a_mesh(1, 2)
    tracker.track_kernel_load(100, 1, part, KernelType.APPLICATION)
    assert [journal.used(CHIP + index) for index in (1, 2)] == [{Pool.KERNEL: 100}, {}]

    tracker.track_device_closed(mesh)

    assert (journal.live_count(), journal.open_chips()) == (0, set())


def test_leaving_a_tracker_closes_its_devices(journal: OwnJournal) -> None:
    with GraphTracker() as tracker:
        tracker.track_allocate(SmallBuffer(a_mesh(1, 2)))

    assert (journal.used(CHIP), journal.open_chips()) == ({}, set())


# ---- programs


def test_binaries_of_a_program_are_charged_once_and_as_the_programs(tracker: GraphTracker, journal: OwnJournal) -> None:
    device = a_watched(a_chip_alone(), tracker)

    tracker.track_allocate(SmallBuffer(device, 24_576, program=7))
    tracker.track_binary_status(7, BinaryStatus.IN_FLIGHT, device)
    tracker.track_launch(7, device)
    tracker.track_binary_status(7, BinaryStatus.COMMITTED, device)

    assert journal.used(CHIP) == {Pool.DRAM: 24_576}
    assert journal.programs(CHIP) == {7: (BinaryStatus.COMMITTED.number, 1, 24_576)}
    assert journal.allocations(Kind.BUFFER) == []


@pytest.mark.parametrize("is_program_first", [True, False])
def test_binaries_go_with_their_buffer_whenever_the_program_ends(
    tracker: GraphTracker, journal: OwnJournal, is_program_first: bool
) -> None:
    device = a_watched(a_chip_alone(), tracker)
    buffer = SmallBuffer(device, 24_576, program=7)
    tracker.track_allocate(buffer)

    if is_program_first:
        tracker.track_program_end(7, device)
        assert journal.used(CHIP) == {Pool.DRAM: 24_576}
    tracker.track_deallocate(buffer)
    tracker.track_program_end(7, device)

    assert (journal.used(CHIP), journal.live_count(), journal.findings()) == ({}, 0, {})


def test_two_buffers_of_one_programs_binaries_add_up(tracker: GraphTracker, journal: OwnJournal) -> None:
    device = a_watched(a_chip_alone(), tracker)
    first, second = SmallBuffer(device, 4096, program=7), SmallBuffer(device, 2048, program=7)
    tracker.track_allocate(first)
    tracker.track_binary_status(7, BinaryStatus.COMMITTED, device)
    tracker.track_allocate(second)
    assert journal.programs(CHIP) == {7: (BinaryStatus.COMMITTED.number, 0, 6144)}

    tracker.track_deallocate(first)

    assert journal.programs(CHIP) == {7: (BinaryStatus.COMMITTED.number, 0, 2048)}


def test_a_launch_reported_as_program_and_as_launch_counts_once(tracker: GraphTracker, journal: OwnJournal) -> None:
    device = a_watched(a_chip_alone(), tracker)

    for _ in range(3):
        tracker.track_program(7, device)
        tracker.track_launch(7, device)

    assert (journal.launches(CHIP), journal.programs(CHIP)[7][1]) == (3, 3)


def test_a_runtime_of_the_server_protocol_calls_alone_has_its_launches_counted(
    tracker: GraphTracker, journal: OwnJournal
) -> None:
    device = a_chip_alone()

    for _ in range(3):
        tracker.track_program(7, device)

    assert journal.launches(CHIP) == 3


def test_a_program_of_the_server_protocol_calls_alone_ends_with_its_kernel(
    tracker: GraphTracker, journal: OwnJournal
) -> None:
    device = a_chip_alone()
    tracker.track_kernel_load(100, 7, device)
    tracker.track_program(7, device)

    tracker.track_kernel_unload(7, device)

    assert (journal.live_count(), journal.findings()) == (0, {})


# ---- circular buffers


def test_a_local_circular_buffer_is_listed_with_size_times_cores(tracker: GraphTracker, journal: OwnJournal) -> None:
    device = a_watched(a_chip_alone(), tracker)

    tracker.track_allocate_cb(CORES, 105_824, 2048, False, device, program=1, cb_id=0)

    assert journal.used(CHIP) == {Pool.CB: 2048 * 64}


def test_a_global_circular_buffer_is_listed_and_charged_nothing(tracker: GraphTracker, journal: OwnJournal) -> None:
    device = a_watched(a_chip_alone(), tracker)
    tracker.track_allocate(SmallBuffer(device, 2048 * 64, buffer_type=BufferType.L1))

    tracker.track_allocate_cb(CORES, 0x1000, 2048, True, device, program=1)

    assert journal.used(CHIP) == {Pool.L1: 2048 * 64, Pool.CB: 0}
    assert journal.kinds(CHIP)[Kind.CIRCULAR_BUFFER] == (0, 1, False)


def test_a_layout_reported_again_is_not_listed_twice(tracker: GraphTracker, journal: OwnJournal) -> None:
    device = a_watched(a_chip_alone(), tracker)
    for size_bytes in (2048, 2048, 4096):
        tracker.track_allocate_cb(CORES, 105_824, size_bytes, False, device, program=1, cb_id=0)
        tracker.track_allocate_cb(CORES, 105_824 + size_bytes, 64, False, device, program=1, cb_id=1)

    assert journal.kinds(CHIP)[Kind.CIRCULAR_BUFFER] == ((4096 + 64) * 64, 2, False)
    assert journal.findings() == {}


def test_circular_buffers_without_ids_are_distinguished_by_place(tracker: GraphTracker, journal: OwnJournal) -> None:
    device = a_watched(a_chip_alone(), tracker)

    for address in (105_824, 107_872, 107_872):
        tracker.track_allocate_cb(CORES, address, 2048, False, device, program=1)

    assert journal.kinds(CHIP)[Kind.CIRCULAR_BUFFER] == (2 * 2048 * 64, 2, False)


@pytest.mark.parametrize("kind", [Kind.DATAFLOW_BUFFER, Kind.SCRATCHPAD])
def test_what_is_laid_out_among_circular_buffers_keeps_its_kind(
    tracker: GraphTracker, journal: OwnJournal, kind: Kind
) -> None:
    device = a_watched(a_chip_alone(), tracker)

    tracker.track_allocate_cb(CORES, 105_824, 2048, False, device, program=1, kind=kind)

    assert journal.kinds(CHIP) == {kind: (2048 * 64, 1, False)}


def test_a_release_ends_the_circular_buffers_of_one_program(tracker: GraphTracker, journal: OwnJournal) -> None:
    device = a_watched(a_chip_alone(), tracker)
    for program in (1, 2, 3):
        tracker.track_allocate_cb(CORES, 105_824, 2048, False, device, program=program)

    tracker.track_deallocate_cb(device, program=1)
    assert journal.used(CHIP) == {Pool.CB: 2 * 2048 * 64}
    tracker.track_deallocate_cb(device)

    assert (journal.used(CHIP), journal.findings()) == ({}, {})


def test_a_release_of_a_program_without_circular_buffers_is_no_finding(
    tracker: GraphTracker, journal: OwnJournal
) -> None:
    device = a_watched(a_chip_alone(), tracker)

    tracker.track_deallocate_cb(device, program=9)

    assert journal.findings() == {}


# ---- the host comes first


class Broken:
    """Nothing that a runtime is made of."""

    def __getattr__(self, name: str) -> object:
        raise RuntimeError(name)


@pytest.mark.parametrize("call", CALLS)
def test_what_cannot_be_understood_is_counted_and_never_raised(journal: OwnJournal, call: str) -> None:
    tracker, parameters = GraphTracker(), inspect.signature(getattr(Tracker, call)).parameters.values()
    needed = {one.name: Broken() for one in parameters if one.default is one.empty and one.name != "self"}

    getattr(tracker, call)(**needed)

    assert tracker.fault_count == 1


@pytest.mark.parametrize("call", CALLS)
def test_a_tracker_that_overrides_nothing_ignores_every_call(call: str) -> None:
    parameters = list(inspect.signature(getattr(Tracker, call)).parameters)[1:]

    assert getattr(Tracker(), call)(**{name: Broken() for name in parameters}) is None


class Wordless(Exception):
    """A runtime's own, with a defect of its own."""

    def __str__(self) -> str:
        raise self


class Raising:
    """A buffer whose runtime raises when it is asked for its device."""

    def __init__(self, fault: BaseException) -> None:
        self._fault = fault

    @property
    def device(self) -> object:
        raise self._fault


@pytest.mark.parametrize(
    "fault", [OSError("x"), AssertionError(), MemoryError(), StopIteration(), Wordless()], ids=repr
)
def test_no_exception_of_a_runtime_comes_out_of_a_tracker(
    journal: OwnJournal, monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    monkeypatch.setattr(notices, "_SAID", set())  # so that the warning is put into words
    tracker = GraphTracker()

    tracker.track_allocate(Raising(fault))  # type: ignore[arg-type]

    assert tracker.fault_count == 1


@pytest.mark.parametrize("end", [KeyboardInterrupt, SystemExit])
def test_what_ends_the_program_passes_through_a_tracker(journal: OwnJournal, end: type[BaseException]) -> None:
    with pytest.raises(end):
        GraphTracker().track_allocate(Raising(end()))  # type: ignore[arg-type]


def test_a_device_without_chips_is_shown_in_its_own_words(
    journal: OwnJournal, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(notices, "_SAID", set())
    tracker, device = GraphTracker(), SmallDevice((), (0, 0))

    tracker.track_allocate(SmallBuffer(device))

    assert (tracker.fault_count, journal.findings()) == (1, {})
    assert f"device {device.id} has no chips, expected at least one" in capfd.readouterr().err


@pytest.mark.parametrize(("address", "size_bytes", "core_count"), [("x", 4, 1), (0, 1.5, 1), (0, 4, None)])
def test_a_circular_buffer_outlives_a_report_that_cannot_take_its_place(
    journal: OwnJournal, address: int, size_bytes: int, core_count: int
) -> None:
    with GraphTracker() as tracker:
        device = a_watched(a_chip_alone(), tracker)
        tracker.track_allocate_cb(CORES, 0, 2048, False, device, program=7, cb_id=1)

        cores = SmallCores(core_count, "0,0")
        tracker.track_allocate_cb(cores, address, size_bytes, False, device, program=7, cb_id=1)
        assert (tracker.fault_count, journal.used(CHIP)) == (1, {Pool.CB: 2048 * 64})
        tracker.track_deallocate_cb(device, program=7)

        assert (journal.used(CHIP), journal.findings()) == ({}, {})


def test_a_program_keeps_the_state_it_had_before_a_bad_report(journal: OwnJournal) -> None:
    with GraphTracker() as tracker:
        device = a_watched(a_chip_alone(), tracker)
        tracker.track_allocate(SmallBuffer(device, 4096, program=7))
        tracker.track_allocate(SmallBuffer(device, 1.5, program=7))  # type: ignore[arg-type]
        tracker.track_binary_status(7, "x", device)  # type: ignore[arg-type]
        assert tracker.fault_count == 2

        tracker.track_allocate(SmallBuffer(device, 2048, program=7))

        assert journal.programs(CHIP) == {7: (BinaryStatus.NOT_SENT.number, 0, 6144)}


def test_with_tracking_off_nothing_is_opened_and_nothing_fails() -> None:
    tracker, device = GraphTracker(), a_chip_alone()

    tracker.track_device_opened(device)
    tracker.track_allocate(SmallBuffer(device))
    tracker.track_kernel_load(100, 1, device, facts=KernelFacts(program=1))
    tracker.track_launch(1, device)

    assert tracker.fault_count == 0


def test_tracking_that_begins_later_is_heard_from_then_on() -> None:
    tracker, device = GraphTracker(), a_chip_alone()
    tracker.track_device_opened(device)

    with an_own_journal() as journal:
        tracker.track_allocate(SmallBuffer(device, 4096))

        assert journal.used(CHIP) == {Pool.DRAM: 4096}


def test_several_threads_may_report_at_once(tracker: GraphTracker, journal: OwnJournal) -> None:
    device = a_mesh(1, 2)

    def work(program: int) -> None:
        for handle in range(50):
            buffer = SmallBuffer(device)
            tracker.track_allocate(buffer)
            tracker.track_kernel_load(100, 7 << 12 | handle, device, KernelType.APPLICATION, 2)
            tracker.track_allocate_cb(CORES, handle, 64, False, device, program=program)
            tracker.track_deallocate(buffer)

    threads = [threading.Thread(target=work, args=(program,)) for program in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert journal.used(CHIP) == {Pool.KERNEL: 50 * 200, Pool.CB: 4 * 50 * 64 * 64}
    assert journal.findings() == {}


def test_a_tracker_forgets_what_has_ended(tracker: GraphTracker, journal: OwnJournal) -> None:
    device = a_watched(a_chip_alone(), tracker)

    def one_life(program: int) -> None:
        tracker.track_kernel_load(100, program, device, facts=KernelFacts(program=program, image=program))
        tracker.track_allocate_cb(CORES, 0, 64, False, device, program=program)
        tracker.track_binary_status(program, BinaryStatus.COMMITTED, device)
        tracker.track_kernel_unload(program, device)
        tracker.track_deallocate_cb(device, program=program)
        tracker.track_program_end(program, device)

    one_life(1)
    gc.collect()
    before = len(gc.get_objects())
    for program in range(2, 300):
        one_life(program)
    gc.collect()

    assert len(gc.get_objects()) - before < 50
    assert journal.live_count() == 0


def test_the_front_door_loads_the_tracker_only_when_it_is_used(tmp_path: Path) -> None:
    program = (
        "import sys, ttmem; ttmem.Client; "
        "print('ttmem.client.tracked.tracker' in sys.modules, ttmem.GraphTracker.__name__)"
    )
    command = [sys.executable, "-c", program]

    done = subprocess.run(command, env=tracked(tmp_path), capture_output=True, text=True, check=True)

    assert done.stdout == "False GraphTracker\n"
