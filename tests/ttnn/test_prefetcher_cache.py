"""The prefetcher's cache against the wheel's RingbufferCacheManager: same questions, every answer and all it holds."""

import random

import pytest

from tests.support.metal import ring_recordings
from tests.support.ttnn.judges import Library, StockPrefetcherCache
from tests.support.ttnn.stock import Stock
from ttmem.metal.state.prefetcher_cache import Emptied, PrefetcherCache

STEPS = 12_000
# Block bytes, blocks, entries its table starts with.
WORMHOLE = (32, 32_768, 1_024)
BLACKHOLE = (64, 16_384, 1_024)
ETHERNET = (32, 2_144, 128)
SMALL_TABLE = (32, 512, 4)
TINY = (16, 16, 16)
GEOMETRIES = {
    "wormhole": WORMHOLE,
    "blackhole": BLACKHOLE,
    "ethernet": ETHERNET,
    "small table": SMALL_TABLE,
    "tiny": TINY,
}


class Pair:
    """The model's cache and the wheel's, asked the same."""

    def __init__(self, library: Library, geometry: tuple[int, int, int]) -> None:
        self.block_bytes, self.block_count, table_size = geometry
        self.model = PrefetcherCache(block_bytes=self.block_bytes, block_count=self.block_count, table_size=table_size)
        self.stock = StockPrefetcherCache(library, *geometry)
        self.other = StockPrefetcherCache(library, *geometry)

    def ask(self, identity: int, size_bytes: int) -> None:
        before = set(self.model.offsets_bytes)
        ours = self.model.ask(identity, size_bytes)
        theirs = self.stock.ask(identity, size_bytes)
        if theirs is None:
            assert ours.is_bypass
            self.stock.reset()  # what the command queue does with a workload that cannot be held
            return
        assert (ours.is_hit, ours.offset_bytes) == (theirs[0], theirs[1] * self.block_bytes)
        assert set(ours.evicted) == before - set(self.model.offsets_bytes)
        self.agree()

    def agree(self) -> None:
        held = {identity: offset * self.block_bytes for identity, offset in self.stock.held().items()}
        assert self.model.offsets_bytes == held
        assert self.model.entry_count == len(held)


@pytest.fixture(scope="module")
def library(stock: Stock) -> Library:
    return Library(stock.metal_library)


@pytest.mark.parametrize("geometry", GEOMETRIES.values(), ids=GEOMETRIES)
@pytest.mark.parametrize("style", ["many small", "few large", "any"])
def test_random_questions_get_the_same_answers(library: Library, geometry: tuple[int, int, int], style: str) -> None:
    choose = random.Random(f"cache {geometry} {style}")
    pair = Pair(library, geometry)
    sizes: dict[int, int] = {}
    whole = pair.block_bytes * pair.block_count
    largest = {"many small": whole // 90, "few large": whole, "any": whole // 5}[style]
    identities = 400 if style == "many small" else 40
    for _ in range(STEPS):
        what = choose.random()
        if what < 0.998:
            identity = choose.randrange(identities)
            exact = pair.block_bytes * choose.randrange(1, pair.block_count // 8 + 2)
            size = sizes.setdefault(identity, choose.choice((exact, choose.randint(1, max(1, largest)))))
            pair.ask(identity, size)
        elif what < 0.999:
            pair.ask(identities, whole + 1)
        else:
            pair.model.empty(Emptied.READ)
            pair.stock.reset()
    assert pair.model.hit_count > STEPS // 200
    assert pair.model.evicted_count > 0


def test_a_capture_swaps_the_cache_away_and_back(library: Library) -> None:
    pair = Pair(library, ETHERNET)
    for identity in range(30):
        pair.ask(identity, 3_000)
    aside = pair.model.put_aside()
    pair.stock.swap(pair.other)
    pair.agree()
    for identity in range(100, 150):
        pair.ask(identity, 5_000)
    pair.model.bring_back(aside)
    pair.stock.swap(pair.other)
    pair.agree()
    pair.ask(31, 3_000)


def test_the_recorded_answers_are_the_wheels(library: Library) -> None:
    for geometry, steps in ring_recordings.cache_runs():
        cache = StockPrefetcherCache(library, *geometry)
        for step in steps:
            answer = cache.ask(step.identity, step.size_bytes)
            if answer is None:
                assert step.is_hit is None
                cache.reset()
            else:
                assert answer == (step.is_hit, (step.offset_bytes or 0) // geometry[0])
            assert len(cache.held()) == step.entry_count
