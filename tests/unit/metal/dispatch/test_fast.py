"""Fast dispatch: what the first run of a workload brings, and what later ones do not."""

import gc
import sys

import pytest

from tests.support.metal.heard import Heard, HeardAll
from tests.support.metal.operations import a_kernel, a_workload, add_program
from ttmem.devices import BinaryStatus, BufferType, Kind, Pool
from ttmem.metal import (
    CoreRanges,
    MeshWorkload,
    Processor,
    Program,
    enqueue,
    open_device,
    open_mesh,
)
from ttmem.metal.memory import BufferSpec
from ttmem.metal.programs import ProgramMisuse
from ttmem.tracking import Cache, CacheOutcome, CoreType, KernelType, Stall

GRID = CoreRanges.grid(8, 8)


def test_a_first_run_is_reported_in_the_order_of_the_server_protocol() -> None:
    heard = HeardAll()
    with open_device("n150", tracker=heard) as device:
        heard.forget()

        enqueue(device, MeshWorkload(add_program(GRID)))

        told = [call.name for call in heard.calls if call.name != "cache"]
        loaded = ["cb"] * 3 + ["kernel"] * 3 + ["allocate", "status"]
        assert told == [*loaded, "program", "ring", "launch", "status"]


def test_a_cached_run_is_counted_and_not_charged() -> None:
    heard = HeardAll()
    with open_device("n150", tracker=heard) as device:
        workload = MeshWorkload(add_program(GRID))
        enqueue(device, workload)
        before = device.truth()[0]
        heard.forget()

        for _ in range(5):
            enqueue(device, workload)

        assert heard.counts == {"program": 5, "launch": 5, "ring": 5, "cache": 5}
        after = device.truth()[0]
        assert (after.used_bytes, after.counts) == (before.used_bytes, before.counts)
        assert after.launch_count == before.launch_count + 5


def test_kernels_are_reported_once_each_with_all_that_is_known() -> None:
    heard = Heard()
    with open_device("n150", tracker=heard) as device:
        heard.forget()
        program = add_program(GRID)

        enqueue(device, MeshWorkload(program))

        reader, writer, compute = heard.of("kernel")
        assert [call.size for call in (reader, writer, compute)] == [2352, 1504, 3536]
        assert [call.id for call in (reader, writer, compute)] == [program.id << 12 | handle for handle in range(3)]
        assert {call.cores for call in (reader, writer, compute)} == {64}
        assert reader.facts.program == program.id
        assert reader.facts.owner is KernelType.APPLICATION
        assert reader.facts.core_type is CoreType.TENSIX
        assert reader.facts.exact_bytes == 2352 * 64
        assert reader.facts.payload_bytes == 4096
        assert sum(call.facts.binary_times_cores_bytes for call in heard.of("kernel")) == 12_288 * 64
        assert "binary_ng" in reader.facts.source_path


def test_binaries_go_to_the_top_of_dram_and_belong_to_their_program() -> None:
    heard = HeardAll()
    with open_device("n150", tracker=heard) as device:
        workload = MeshWorkload(add_program(GRID))

        enqueue(device, workload)

        [allocated] = heard.of("allocate")
        assert allocated.program == workload.id
        assert allocated.buffer.requested_bytes == 12_288
        assert allocated.buffer.spec.page_bytes == 2048
        bank = device.allocator.statistics(BufferType.DRAM)
        top = device.allocator.base_address(BufferType.DRAM) + bank.bank_bytes
        assert allocated.buffer.address + allocated.buffer.per_bank_bytes == top
        assert device.truth()[0].counts[Kind.PROGRAM_BINARY] == 1


@pytest.mark.parametrize(("board", "reserved_bytes"), [("n150", 24_576), ("p150", 32_768)])
def test_a_payload_reserves_whole_rows_of_banks(board: str, reserved_bytes: int) -> None:
    with open_device(board) as device:
        program = Program()
        program.add_kernel(a_kernel(24_576 - 100))

        enqueue(device, MeshWorkload(program))

        assert device.truth()[0].used_bytes[Pool.DRAM] == reserved_bytes


def test_a_status_goes_through_all_its_stages_once() -> None:
    heard = HeardAll()
    with open_device("n150", tracker=heard) as device:
        workload = a_workload()
        statuses = [workload.status]

        enqueue(device, workload)
        enqueue(device, workload)

        statuses += [call.status for call in heard.of("status")]
        assert statuses == [BinaryStatus.NOT_SENT, BinaryStatus.IN_FLIGHT, BinaryStatus.COMMITTED]
        assert workload.status is BinaryStatus.COMMITTED


def test_a_status_never_goes_back() -> None:
    workload = a_workload()
    workload.status = BinaryStatus.COMMITTED

    with pytest.raises(ProgramMisuse, match="never go back"):
        workload.status = BinaryStatus.IN_FLIGHT


def test_the_first_run_waits_for_all_before_it_and_later_ones_do_not() -> None:
    heard = HeardAll()
    with open_device("n150", tracker=heard) as device:
        workload = a_workload()
        enqueue(device, workload)
        enqueue(device, workload)

        assert [call.stall for call in heard.of("ring")] == [Stall.IN_FLIGHT, Stall.NONE]
        assert [call.entries for call in heard.of("ring")] == [1, 2]
        assert device.truth().stall_counts == {Stall.IN_FLIGHT: 1}


def test_the_ring_gets_a_slot_per_launch_and_stalls_by_its_table() -> None:
    with open_device("n150") as device:
        workload = a_workload(4000)
        for _ in range(8):
            enqueue(device, workload)

        truth = device.truth()
        assert truth.rings[CoreType.TENSIX].entry_count == 7
        assert truth.rings[CoreType.TENSIX].live_bytes == 7 * 4000
        assert truth.stall_counts[Stall.ENTRIES] == 1


def test_a_count_of_workers_that_starts_again_makes_the_next_launch_wait() -> None:
    with open_device("n150") as device:
        workload = a_workload()
        enqueue(device, workload)
        device.queues[0].expected_count = (1 << 32) - 64

        enqueue(device, workload)
        enqueue(device, workload)

        truth = device.truth()
        assert truth.stall_counts == {Stall.IN_FLIGHT: 1, Stall.FULL: 1}
        assert truth.rings[CoreType.TENSIX].entry_count == 2


def test_binaries_are_fetched_from_dram_once_and_then_from_the_prefetchers_cache() -> None:
    with open_device("n150") as device:
        workload = a_workload()
        for _ in range(4):
            enqueue(device, workload)
        device.read(device.create_buffer(BufferSpec(2048, 2048)))
        enqueue(device, workload)

        counts = device.truth().cache_counts
        assert counts[Cache.PREFETCHER, CacheOutcome.HIT] == 3
        assert counts[Cache.PREFETCHER, CacheOutcome.MISS] == 2
        assert counts[Cache.PREFETCHER, CacheOutcome.EMPTIED] == 1


def test_what_the_prefetcher_lets_go_is_shown_with_its_size() -> None:
    heard = HeardAll()
    with open_device("n300", tracker=heard) as device:  # ethernet cores cache 67 KiB only
        for size_bytes in (24_000, 24_001, 24_002):
            enqueue(device, a_workload(size_bytes))

        evicted = [call for call in heard.of("cache") if call.outcome is CacheOutcome.EVICTED]
        assert [(call.cache, call.size) for call in evicted] == [(Cache.PREFETCHER, 24_576)]


def test_a_workload_without_kernels_runs_and_takes_nothing() -> None:
    heard = HeardAll()
    with open_device("n150", tracker=heard) as device:
        before = device.truth()[0].used_bytes
        heard.forget()
        workload = MeshWorkload(Program())

        enqueue(device, workload)

        assert device.truth()[0].used_bytes == before
        assert heard.counts["launch"] == 1
        assert heard.counts["ring"] == 0
        assert workload.payload is None


def test_destroying_a_workload_gives_everything_back() -> None:
    heard = HeardAll()
    with open_device("n150", tracker=heard) as device:
        before = device.truth()[0]
        workload = MeshWorkload(add_program(GRID))
        enqueue(device, workload)
        heard.forget()

        workload.destroy()
        workload.destroy()

        after = device.truth()[0]
        assert (after.used_bytes, after.counts) == (before.used_bytes, before.counts)
        assert (after.cb_planned_bytes, after.cb_resident_bytes) == (0, 0)
        assert heard.counts == {"cb_end": 1, "kernel_end": 3, "program_end": 1, "deallocate": 1}
        assert not device.buffers
        with pytest.raises(ProgramMisuse, match="destroyed"):
            enqueue(device, workload)


def an_ethernet_workload() -> MeshWorkload:
    program = Program()
    core = CoreRanges.at((0, 0))
    program.add_kernel(a_kernel(500, cores=core, processor=Processor.ERISC, core_type=CoreType.IDLE_ETH))
    return MeshWorkload(program)


def test_one_wait_is_counted_once_whatever_core_types_a_launch_uses() -> None:
    heard = HeardAll()
    with open_device("n150", tracker=heard) as device:
        workload = an_ethernet_workload()
        workload.programs[None].add_kernel(a_kernel(1000))

        enqueue(device, workload)

        assert [(call.core_type, call.stall) for call in heard.of("ring")] == [
            (CoreType.TENSIX, Stall.IN_FLIGHT),
            (CoreType.IDLE_ETH, Stall.NONE),
        ]
        assert device.truth().stall_counts == {Stall.IN_FLIGHT: 1}


def test_what_was_reported_of_rings_is_true_whichever_queue_launched() -> None:
    heard = HeardAll()
    with open_device("n150", command_queue_count=2, tracker=heard) as device:
        workloads = [a_workload(30_000), an_ethernet_workload(), a_workload(20_000), MeshWorkload(Program())]
        told = {}
        for step in range(24):
            enqueue(device, workloads[step % 4 if step % 3 else 0], queue=step * 7 // 5 % 2)

            told.update({call.core_type: (call.live, call.retired, call.entries) for call in heard.of("ring")})
            rings = device.truth().rings.items()
            now = {core: (ring.live_bytes, ring.retired_bytes, ring.entry_count) for core, ring in rings}
            assert {core: told.get(core, (0, 0, 0)) for core in now} == now
        assert sum(call.stall is not Stall.NONE for call in heard.of("ring")) == sum(
            device.truth().stall_counts.values()
        )


@pytest.mark.parametrize(
    ("core_types", "worker_count"),
    [
        ([CoreType.TENSIX], 64),
        ([CoreType.ACTIVE_ETH], 2),
        ([CoreType.TENSIX, CoreType.ACTIVE_ETH], 66),
    ],
)
def test_every_core_that_a_launch_goes_to_is_waited_for(core_types: list[CoreType], worker_count: int) -> None:
    """All that compute, and all routers of the chip, however few of them the program uses."""
    program = Program()
    for core_type in core_types:
        processor = Processor.BRISC if core_type is CoreType.TENSIX else Processor.ERISC
        program.add_kernel(a_kernel(160, cores=CoreRanges.at((0, 0)), processor=processor, core_type=core_type))
    workload = MeshWorkload(program)
    with open_mesh("n300") as mesh:
        queue = mesh.queues[0]
        for count in (1, 2, 3):
            enqueue(mesh, workload)
            assert queue.expected_count == count * worker_count

        trace = mesh.begin_trace()
        enqueue(mesh, workload)
        mesh.end_trace(trace)
        mesh.replay_trace(trace)
        assert queue.expected_count == 4 * worker_count


def calls_of_a_cached_run(board: str, cached_count: int) -> int:
    """Python calls that one more run of a cached workload makes: its cost, without a clock."""
    with open_mesh(board, trace_region_bytes=1 << 20) as mesh:
        for size_bytes in range(16, 16 * cached_count, 16):
            enqueue(mesh, a_workload(size_bytes, cb_bytes=2048))
        workload = a_workload(5000, cb_bytes=2048)
        mesh.replay_trace(mesh.end_trace(mesh.begin_trace()).id)  # the same ring for all
        enqueue(mesh, workload)
        count = 0

        def note(frame: object, event: str, argument: object) -> None:
            nonlocal count
            count += event == "call"

        gc.disable()  # what others do after a collection is no cost of ours
        sys.setprofile(note)
        try:
            enqueue(mesh, workload)
        finally:
            sys.setprofile(None)
            gc.enable()
        return count


def test_a_cached_run_costs_the_same_whatever_is_cached_and_however_many_chips() -> None:
    alone = calls_of_a_cached_run("n150", cached_count=2)

    assert calls_of_a_cached_run("n150", cached_count=200) == alone
    assert calls_of_a_cached_run("galaxy", cached_count=2) == alone
    assert alone < 150
