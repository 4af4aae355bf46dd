"""The prefetcher's cache: the runtime's vector, who has to go, and why everything was forgotten."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from tests.support.metal import ring_recordings
from ttmem.metal.state.prefetcher_cache import CacheAnswer, Emptied, PrefetcherCache


def a_cache(*, block_bytes: int = 32, block_count: int = 32_768, table_size: int = 1_024) -> PrefetcherCache:
    return PrefetcherCache(block_bytes=block_bytes, block_count=block_count, table_size=table_size)


def test_the_runtimes_vector() -> None:
    cache = a_cache()
    questions = [
        (0, 400_000, CacheAnswer(is_hit=False, offset_bytes=0)),
        (1, 400_000, CacheAnswer(is_hit=False, offset_bytes=400_000)),
        (0, 400_000, CacheAnswer(is_hit=True, offset_bytes=0)),
        (2, 300_000, CacheAnswer(is_hit=False, offset_bytes=0, evicted=(0,))),
        (1, 400_000, CacheAnswer(is_hit=True, offset_bytes=400_000)),
        (3, 200_000, CacheAnswer(is_hit=False, offset_bytes=300_000, evicted=(1,))),
        (0, 400_000, CacheAnswer(is_hit=False, offset_bytes=500_000)),
        (4, 2_000_000, CacheAnswer(is_hit=False, is_bypass=True)),
    ]

    for identity, size_bytes, answer in questions:
        assert cache.ask(identity, size_bytes) == answer
    assert (cache.hit_count, cache.miss_count, cache.evicted_count, cache.bypass_count) == (2, 5, 2, 1)
    assert cache.evicted_bytes == 800_000
    assert cache.emptied_counts == {Emptied.BYPASS: 1}
    assert (cache.entry_count, cache.held_bytes) == (0, 0)


def test_binaries_take_whole_blocks() -> None:
    cache = a_cache(block_bytes=64)
    cache.ask(1, 65)

    assert cache.held_bytes == 128
    assert cache.ask(2, 64).offset_bytes == 128


def test_one_as_large_as_the_cache_is_held_and_one_block_more_is_not() -> None:
    cache = a_cache(block_count=10)

    assert not cache.ask(1, 320).is_bypass
    assert cache.ask(2, 321).is_bypass


def test_a_workload_without_binaries_empties_the_cache() -> None:
    cache = a_cache()
    cache.ask(1, 1_000)

    assert cache.ask(2, 0).is_bypass
    assert cache.entry_count == 0


def test_being_found_does_not_make_a_binary_younger() -> None:
    cache = a_cache(block_count=3)
    for identity in (1, 2, 3, 1):
        cache.ask(identity, 32)

    assert cache.ask(4, 32).evicted == (1,)


def test_emptying_is_counted_by_reason_and_only_if_there_was_something() -> None:
    cache = a_cache()
    assert cache.empty(Emptied.READ) == 0
    cache.ask(1, 1_000)
    cache.ask(2, 1_000)

    assert cache.empty(Emptied.TRACE_REPLAY) == 2
    assert cache.emptied_counts == {Emptied.TRACE_REPLAY: 1}
    assert not cache.ask(1, 1_000).is_hit


def test_a_capture_finds_an_empty_cache_and_leaves_the_old_one() -> None:
    cache = a_cache()
    cache.ask(1, 1_000)
    aside = cache.put_aside()
    assert not cache.ask(1, 1_000).is_hit
    cache.ask(2, 1_000)

    cache.bring_back(aside)

    assert cache.offsets_bytes == {1: 0}
    assert cache.ask(1, 1_000).is_hit


def test_a_full_table_that_went_round_costs_more_than_the_oldest() -> None:
    """Asked of the runtime's own class: it takes the first entry after the wrap for one behind the newest."""
    cache = a_cache(block_bytes=1, block_count=16, table_size=4)
    for identity in (1, 2, 3, 4):
        cache.ask(identity, 4)  # the fourth ends exactly at the end, so the table does not grow

    assert [cache.ask(identity, 1).evicted for identity in (5, 6, 7)] == [(1,), (2,), (3,)]
    assert cache.ask(8, 1).evicted == (4, 5, 6, 7)
    assert cache.offsets_bytes == {8: 3}


def test_a_table_grows_while_the_ring_has_room() -> None:
    cache = a_cache(block_bytes=1, block_count=64, table_size=2)

    assert [cache.ask(identity, 1).evicted for identity in range(40)] == [()] * 40
    assert cache.entry_count == 40


def test_recorded_questions_get_the_runtimes_answers() -> None:
    for (block_bytes, block_count, table_size), steps in ring_recordings.cache_runs():
        cache = a_cache(block_bytes=block_bytes, block_count=block_count, table_size=table_size)
        for step in steps:
            answer = cache.ask(step.identity, step.size_bytes)
            assert answer.is_bypass == (step.is_hit is None)
            if step.is_hit is not None:
                assert (answer.is_hit, answer.offset_bytes) == (step.is_hit, step.offset_bytes)
            assert cache.entry_count == step.entry_count


@given(
    st.lists(st.tuples(st.integers(0, 12), st.integers(0, 40)), max_size=80),
    st.sampled_from([1, 2, 4, 16]),
)
def test_what_is_held_lies_inside_apart_and_where_it_was_put(questions: list[tuple[int, int]], table_size: int) -> None:
    cache = a_cache(block_bytes=2, block_count=16, table_size=table_size)
    held: dict[int, tuple[int, int]] = {}
    for identity, size_bytes in questions:
        answer = cache.ask(identity, size_bytes)
        if answer.is_bypass:
            assert size_bytes == 0 or size_bytes > 32
            held.clear()
        elif answer.is_hit:
            assert held[identity][0] == answer.offset_bytes
        else:
            assert identity not in held
            for gone in answer.evicted:
                del held[gone]
            held[identity] = (answer.offset_bytes, answer.offset_bytes + -(-size_bytes // 2) * 2)
        ends = sorted(held.values())
        assert all(start >= 0 and end <= 32 for start, end in ends)
        assert all(first[1] <= second[0] for first, second in pairwise(ends))
        assert cache.held_bytes == sum(end - start for start, end in ends)
        assert cache.offsets_bytes == {key: start for key, (start, _) in held.items()}
