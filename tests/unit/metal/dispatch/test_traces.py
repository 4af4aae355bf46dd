"""Traces: recorded, stored, replayed and released; what they take, and what they refuse."""

import pytest

from tests.support.metal.heard import HeardAll
from tests.support.metal.operations import a_program, a_workload, add_program
from ttmem.devices import BufferType, Pool
from ttmem.metal import CoreRanges, DispatchCores, MeshDevice, MeshRange, MeshWorkload, enqueue, open_device, open_mesh
from ttmem.metal.memory import BufferSpec
from ttmem.metal.programs import ProgramMisuse
from ttmem.metal.state.trace_storage import TraceMisplaced, TraceRegionFull
from ttmem.tracking import Cache, CacheOutcome, CoreType, Stall

REGION_BYTES = 1 << 20
GRID = CoreRanges.grid(8, 8)


def warm(device: MeshDevice, *workloads: MeshWorkload) -> None:
    for workload in workloads:
        enqueue(device, workload)


def capture(device: MeshDevice, *workloads: MeshWorkload) -> int:
    trace = device.begin_trace()
    for workload in workloads:
        enqueue(device, workload)
    device.end_trace(trace)
    return trace


def test_an_empty_capture_takes_one_small_page() -> None:
    with open_device("n150", trace_region_bytes=REGION_BYTES) as device:
        trace = capture(device)

        assert device.traces[trace].buffer.requested_bytes == 1024
        assert device.truth()[0].used_bytes[Pool.TRACE] == 12 * 1024


def test_a_launch_whose_binaries_are_not_sent_takes_fewer_commands() -> None:
    with open_device("n150", trace_region_bytes=REGION_BYTES) as device:
        workload = MeshWorkload(add_program(GRID))
        warm(device, workload)

        none, once, twice = (device.traces[capture(device, *[workload] * count)].stream_bytes for count in range(3))

        assert 0 < twice - once < once - none


def test_what_is_captured_does_not_run() -> None:
    heard = HeardAll()
    with open_device("n150", trace_region_bytes=REGION_BYTES, tracker=heard) as device:
        workload = a_workload()
        warm(device, workload)
        before = device.truth()
        heard.forget()

        trace = device.begin_trace()
        enqueue(device, workload)

        assert heard.calls == []
        assert device.truth() == before
        device.end_trace(trace)
        assert heard.counts == {"allocate": 1}


def test_a_replay_counts_every_launch_and_charges_nothing() -> None:
    heard = HeardAll()
    with open_device("n150", trace_region_bytes=REGION_BYTES, tracker=heard) as device:
        one, other = a_workload(1000), a_workload(2000)
        warm(device, one, other)
        trace = capture(device, one, other, one)
        before = device.truth()[0]
        heard.forget()

        device.replay_trace(trace)
        device.replay_trace(trace)

        assert [call.program for call in heard.of("launch")] == [one.id, other.id, one.id] * 2
        after = device.truth()[0]
        assert (after.used_bytes, after.counts) == (before.used_bytes, before.counts)
        assert after.launch_count == before.launch_count + 6


def test_binaries_still_in_the_ring_are_not_sent_again() -> None:
    with open_device("n150", trace_region_bytes=REGION_BYTES) as device:
        workload = a_workload(8000)
        warm(device, workload)
        trace = capture(device, workload, workload, workload)

        device.replay_trace(trace)

        assert [planned.send_binary for planned in device.traces[trace].plan.nodes] == [True, False, False]
        counts = device.truth().cache_counts
        assert counts[Cache.TRACE, CacheOutcome.MISS] == 1
        assert counts[Cache.TRACE, CacheOutcome.HIT] == 2


@pytest.mark.parametrize(("region_bytes", "pool"), [(REGION_BYTES, Pool.TRACE), (0, Pool.DRAM)])
def test_the_truth_names_what_of_it_is_an_estimate(region_bytes: int, pool: Pool) -> None:
    with open_device("n150", trace_region_bytes=region_bytes) as device:
        workload = a_workload()
        warm(device, workload)
        assert (device.truth().estimated_pools, device.truth().estimated_caches) == (frozenset(), frozenset())

        trace = capture(device, workload)
        assert (device.truth().estimated_pools, device.truth().estimated_caches) == (frozenset({pool}), frozenset())

        device.replay_trace(trace)
        device.release_trace(trace)
        assert (device.truth().estimated_pools, device.truth().estimated_caches) == (
            frozenset(),
            frozenset({Cache.TRACE}),
        )


def test_a_replay_fills_the_ring_and_empties_the_prefetchers_cache() -> None:
    with open_device("n150", trace_region_bytes=REGION_BYTES) as device:
        workload = a_workload()
        warm(device, workload)
        device.replay_trace(capture(device, workload))

        ring = device.truth().rings[CoreType.TENSIX]
        assert (ring.live_bytes, ring.entry_count) == (70_656, 1)
        assert device.queues[0].prefetcher.entry_count == 0

        enqueue(device, workload)
        truth = device.truth()
        assert truth.stall_counts[Stall.FULL] == 1
        assert truth.cache_counts[Cache.PREFETCHER, CacheOutcome.MISS] == 2


def test_a_capture_leaves_the_prefetchers_cache_as_it_was() -> None:
    with open_device("n150", trace_region_bytes=REGION_BYTES) as device:
        workload = a_workload()
        warm(device, workload)
        capture(device, workload)
        enqueue(device, workload)

        assert device.truth().cache_counts[Cache.PREFETCHER, CacheOutcome.HIT] == 1


def test_a_replay_fetches_binaries_by_program_from_a_cache_that_begins_empty() -> None:
    with open_mesh("n300", trace_region_bytes=REGION_BYTES, dispatch=DispatchCores.TENSIX) as mesh:
        left, right = MeshRange((0, 0), (0, 0)), MeshRange((0, 1), (0, 1))
        cores = CoreRanges.grid(8, 7)
        one = MeshWorkload({left: a_program(40_000, cores=cores), right: a_program(38_000, cores=cores)})
        other = a_workload(60_000, cores=cores)
        warm(mesh, one, other)

        trace = mesh.traces[capture(mesh, one, one, other, one)]  # the second finds its binaries in the ring

        assert [answer.is_hit for answer in trace.fetches] == [False, False, False, True, True]
        assert [answer.offset_bytes for answer in trace.fetches] == [0, 40_960, 79_872, 0, 40_960]


def test_a_read_during_a_capture_does_not_touch_what_the_prefetcher_held_before() -> None:
    heard = HeardAll()
    with open_device("n150", trace_region_bytes=REGION_BYTES, tracker=heard) as device:
        buffer = device.create_buffer(BufferSpec(2048, 2048, BufferType.DRAM))
        warm(device, a_workload(60_000))
        trace = device.begin_trace()
        device.read(buffer)
        device.end_trace(trace)
        heard.forget()

        warm(device, *(a_workload(61_000 + 16 * number) for number in range(17)))

        evicted = [call.size for call in heard.of("cache") if call.outcome is CacheOutcome.EVICTED]
        assert evicted == [61_440]


def test_resident_circular_buffers_follow_a_replay() -> None:
    with open_device("n150", trace_region_bytes=REGION_BYTES) as device:
        small, large = a_workload(1000, cb_bytes=2048), a_workload(2000, cb_bytes=8192)
        warm(device, small, large)
        trace = capture(device, small)
        assert device.truth()[0].cb_resident_bytes == 8192 * 64

        device.replay_trace(trace)

        assert device.truth()[0].cb_resident_bytes == 2048 * 64


def test_a_layout_changed_during_a_capture_is_the_resident_one() -> None:
    with open_device("n150", trace_region_bytes=REGION_BYTES) as device:
        workload = a_workload(1000, cb_bytes=2048)
        warm(device, workload)
        [program] = workload.programs.values()
        device.begin_trace()

        program.resize(program.circular_buffers[0], 8192)
        enqueue(device, workload)

        assert device.truth()[0].cb_resident_bytes == device.truth()[0].cb_planned_bytes == 8192 * 64


def test_releasing_gives_the_memory_back() -> None:
    with open_device("n150", trace_region_bytes=REGION_BYTES) as device:
        workload = a_workload()
        warm(device, workload)
        traces = [capture(device, workload) for _ in range(3)]
        assert device.truth()[0].used_bytes[Pool.TRACE] == 3 * 12 * 1024

        for trace in traces:
            device.release_trace(trace)

        assert Pool.TRACE not in device.truth()[0].used_bytes
        with pytest.raises(ProgramMisuse, match="no trace"):
            device.replay_trace(traces[0])


def test_without_a_trace_region_a_trace_goes_to_the_top_of_dram() -> None:
    with open_device("n150") as device:
        workload = a_workload()
        warm(device, workload)
        before = device.truth()[0].used_bytes[Pool.DRAM]

        buffer = device.traces[capture(device, workload)].buffer

        assert buffer.buffer_type is BufferType.DRAM
        assert buffer.address > device.allocator.base_address(BufferType.DRAM) + (1 << 30) - (1 << 21)
        used = device.truth()[0].used_bytes
        assert Pool.TRACE not in used
        assert used[Pool.DRAM] == before + buffer.reserved_bytes


def test_a_full_trace_region_is_refused_and_nothing_stays() -> None:
    heard = HeardAll()
    with open_device("n150", trace_region_bytes=16_384, tracker=heard) as device:
        workload = MeshWorkload(add_program(GRID))
        warm(device, workload)
        capture(device, workload)
        before = device.truth()[0]
        heard.forget()

        with pytest.raises(TraceRegionFull, match="allocated for trace region"):
            capture(device, workload)

        assert device.truth()[0] == before
        [short] = heard.of("incident")
        assert short.pool is Pool.TRACE
        assert (short.requested_bytes, short.free_bytes, short.largest_free_bytes) == (12_288, 4096, 4096)
        assert "allocated for trace region" in short.text
        enqueue(device, workload)
        assert device.truth()[0].launch_count == 2


def test_a_trace_below_what_its_capture_touched_is_refused_and_nothing_stays() -> None:
    with open_device("n150") as device:
        workload = a_workload()
        warm(device, workload)
        trace = device.begin_trace()
        top = device.create_buffer(BufferSpec(12 * 4096, 4096), is_bottom_up=False)
        enqueue(device, workload)
        before = device.truth()[0]

        with pytest.raises(TraceMisplaced, match=f"allocation high water mark: {top.address + 4096}"):
            device.end_trace(trace)

        assert device.truth()[0] == before
        assert len(device.traces) == 0


def test_a_workload_must_have_run_before_it_is_captured() -> None:
    with open_device("n150", trace_region_bytes=REGION_BYTES) as device:
        trace = device.begin_trace()

        with pytest.raises(ProgramMisuse, match="run it once before"):
            enqueue(device, a_workload())

        device.end_trace(trace)


def test_one_capture_at_a_time() -> None:
    with open_device("n150", trace_region_bytes=REGION_BYTES) as device:
        trace = device.begin_trace()

        with pytest.raises(ProgramMisuse, match="still being captured"):
            device.begin_trace()
        device.end_trace(trace)
        with pytest.raises(ProgramMisuse, match="not being captured"):
            device.end_trace(trace)


def test_a_trace_of_destroyed_workloads_is_refused() -> None:
    with open_device("n150", trace_region_bytes=REGION_BYTES) as device:
        workload, gone_early = a_workload(1000), a_workload(2000)
        warm(device, workload, gone_early)
        trace = capture(device, workload)
        workload.destroy()

        with pytest.raises(ProgramMisuse, match="destroyed"):
            device.replay_trace(trace)

        capturing = device.begin_trace()
        enqueue(device, gone_early)
        gone_early.destroy()
        with pytest.raises(ProgramMisuse, match="destroyed"):
            device.end_trace(capturing)


def test_slow_dispatch_records_nothing() -> None:
    with open_device("n150", dispatch=DispatchCores.SLOW) as device, pytest.raises(ProgramMisuse, match="slow"):
        device.begin_trace()


def test_other_queues_run_while_one_is_captured() -> None:
    with open_device("n150", trace_region_bytes=REGION_BYTES, command_queue_count=2) as device:
        workload = a_workload()
        warm(device, workload)
        trace = device.begin_trace(queue=1)

        enqueue(device, workload, queue=0)

        assert device.truth()[0].launch_count == 2
        assert device.end_trace(trace).workloads == ()
