"""The caches of the host: compiled kernels, and the workloads of operations."""

import pytest

from tests.support.metal.heard import HeardAll
from tests.support.metal.operations import a_program, a_workload
from ttmem.devices import Kind, Pool
from ttmem.metal import MeshDevice, MeshWorkload, clear_kernel_cache, enqueue, open_device
from ttmem.metal.programs import ProgramMisuse
from ttmem.tracking import Cache, CacheOutcome


def run(device: MeshDevice, key: str, size_bytes: int = 1000) -> MeshWorkload:
    workload = device.program_cache.get(key, lambda: a_workload(size_bytes, cb_bytes=2048))
    enqueue(device, workload)
    return workload


def test_an_operation_is_made_once() -> None:
    heard = HeardAll()
    with open_device("n150", tracker=heard) as device:
        heard.forget()

        first, again, other = run(device, "add"), run(device, "add"), run(device, "mul", 3000)

        assert first is again
        assert other is not first
        told = [(call.outcome, call.entries, call.held) for call in heard.of("cache") if call.cache is Cache.PROGRAM]
        assert told == [
            (CacheOutcome.MISS, 1, 2048),
            (CacheOutcome.HIT, 1, 2048),
            (CacheOutcome.MISS, 2, 2048 + 4096),
        ]
        assert device.truth()[0].counts[Kind.KERNEL_APPLICATION] == 2


def test_the_cache_keeps_payloads_and_circular_buffers_alive_until_it_is_cleared() -> None:
    with open_device("n150") as device:
        empty = device.truth()[0]
        for operation in range(10):
            run(device, f"op{operation}", 1000 + 16 * operation)
        held = device.truth()[0]
        assert held.used_bytes[Pool.DRAM] == 10 * 12 * 2048
        assert held.counts[Kind.CIRCULAR_BUFFER] == 10

        device.program_cache.clear()

        cleared = device.truth()[0]
        assert (cleared.used_bytes, cleared.counts) == (empty.used_bytes, empty.counts)
        assert device.program_cache.entry_count == device.program_cache.held_bytes == 0
        assert device.truth().cache_counts[Cache.PROGRAM, CacheOutcome.EMPTIED] == 1


def test_a_cache_that_is_off_makes_every_operation_again() -> None:
    with open_device("n150") as device:
        device.program_cache.is_enabled = False

        assert run(device, "add") is not run(device, "add")
        assert device.program_cache.entry_count == 0


def test_misses_can_be_forbidden() -> None:
    with open_device("n150") as device:
        run(device, "add")
        device.program_cache.allows_misses = False

        run(device, "add")
        with pytest.raises(ProgramMisuse, match="misses are not allowed"):
            run(device, "mul")
        assert "mul" not in device.program_cache


def test_an_image_is_compiled_once_whatever_program_needs_it() -> None:
    with open_device("n150") as device:
        before = device.truth().cache_counts
        for _ in range(3):
            enqueue(device, MeshWorkload(a_program()))

        after = device.truth().cache_counts
        assert after[Cache.JIT, CacheOutcome.MISS] == before[Cache.JIT, CacheOutcome.MISS] + 1
        assert after[Cache.JIT, CacheOutcome.HIT] == 2


def test_compiled_kernels_are_held_once() -> None:
    with open_device("n150") as device:
        before_bytes = device.jit_cache.held_bytes
        for size_bytes in (1000, 1000, 500):
            enqueue(device, a_workload(size_bytes))

        assert device.jit_cache.held_bytes == before_bytes + 1500


def test_what_one_device_compiled_is_there_for_the_next() -> None:
    answers = []
    for _ in range(2):
        with open_device("n150") as device:
            enqueue(device, a_workload())
            counts = device.truth().cache_counts
            answers.append([counts.get((Cache.JIT, outcome), 0) for outcome in (CacheOutcome.HIT, CacheOutcome.MISS)])

    [(_, compiled), (found, compiled_again)] = answers
    assert compiled > 1
    assert (found, compiled_again) == (compiled, 0)


def test_kernels_are_compiled_for_one_architecture() -> None:
    with open_device("n150") as device:
        enqueue(device, a_workload())
    with open_device("p150") as device:
        enqueue(device, a_workload())

        assert (Cache.JIT, CacheOutcome.HIT) not in device.truth().cache_counts


def test_every_open_device_hears_that_compiled_kernels_are_forgotten() -> None:
    closed, heard = HeardAll(), HeardAll()
    open_device("n150", tracker=closed).close()
    with open_device("n150", tracker=heard) as device:
        held_bytes = device.jit_cache.held_bytes
        closed.forget()
        heard.forget()

        clear_kernel_cache()
        clear_kernel_cache()

        told = [(call.cache, call.outcome, call.size, call.entries, call.held) for call in heard.of("cache")]
        assert told == [(Cache.JIT, CacheOutcome.EMPTIED, held_bytes, 0, 0)]
        assert closed.of("cache") == []


def test_a_cached_run_does_not_ask_for_compiled_kernels() -> None:
    with open_device("n150") as device:
        workload = a_workload()
        enqueue(device, workload)
        before = device.truth().cache_counts

        enqueue(device, workload)

        after = device.truth().cache_counts
        assert {key: count for key, count in after.items() if key[0] is Cache.JIT} == {
            key: count for key, count in before.items() if key[0] is Cache.JIT
        }


def test_forgetting_compiled_kernels_costs_the_next_program_only() -> None:
    with open_device("n150") as device:
        workload = a_workload()
        enqueue(device, workload)
        clear_kernel_cache()
        assert device.jit_cache.entry_count == device.jit_cache.held_bytes == 0

        enqueue(device, workload)
        assert device.jit_cache.entry_count == 0
        enqueue(device, a_workload())
        assert device.jit_cache.entry_count == 1


def test_equal_images_of_several_programs_are_counted_with_what_they_waste() -> None:
    with open_device("n150") as device:
        system = device.truth()[0]
        workloads = [a_workload(3000) for _ in range(3)]
        for workload in workloads:
            enqueue(device, workload)

        chip = device.truth()[0]
        assert chip.distinct_image_count == system.distinct_image_count + 1
        assert (chip.duplicate_image_count, chip.duplicate_image_bytes) == (2, 2 * 4096)

        for workload, left_bytes in zip(workloads, (4096, 0, 0), strict=True):
            workload.destroy()
            assert device.truth()[0].duplicate_image_bytes == left_bytes
        counts = device.truth().cache_counts
        assert (counts[Cache.IMAGE, CacheOutcome.HIT], counts[Cache.IMAGE, CacheOutcome.EVICTED]) == (2, 3)
