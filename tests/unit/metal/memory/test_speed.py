"""The promise of the allocator: 20,000 operations a second with buffers made, among thousands of buffers and holes."""

import random
import time

import pytest

from tests.unit.metal.memory.test_buffers import CHIP, DEVICE
from ttmem.devices import BufferType
from ttmem.metal.memory import Allocator, Buffer, BufferSpec

PROMISED_PER_SECOND = 20_000
LIVE_COUNT, PAIR_COUNT = 5_000, 5_000


class Churn:
    """Thousands of buffers in random sizes, one freed for each that is made."""

    def __init__(self, most_pages: int, *, is_bottom_up: bool) -> None:
        self.allocator = Allocator(CHIP)
        self.chooser = random.Random(11)
        self.specs = [BufferSpec(12 * 2048 * pages, 2048) for pages in range(1, most_pages + 1)]
        self.is_bottom_up = is_bottom_up
        self.live: list[Buffer] = []
        for _ in range(2 * LIVE_COUNT):
            self.make()
        for _ in range(LIVE_COUNT):
            self.free()

    def make(self) -> None:
        spec = self.chooser.choice(self.specs)
        placement = self.allocator.allocate(spec, is_bottom_up=self.is_bottom_up)
        self.live.append(Buffer(spec, placement, DEVICE, release=lambda freed: self.allocator.free(freed.placement)))

    def free(self) -> None:
        place = self.chooser.randrange(len(self.live))
        self.live[place], self.live[-1] = self.live[-1], self.live[place]
        self.live.pop().deallocate()


@pytest.mark.parametrize("is_bottom_up", [True, False])
@pytest.mark.parametrize("most_pages", [3, 40])
def test_the_allocator_keeps_its_promise(most_pages: int, is_bottom_up: bool) -> None:
    churn = Churn(most_pages, is_bottom_up=is_bottom_up)

    began = time.process_time()
    for _ in range(PAIR_COUNT):
        churn.make()
        churn.free()
    per_second = 2 * PAIR_COUNT / (time.process_time() - began)

    assert churn.allocator.live_count == LIVE_COUNT
    assert sum(not block.is_allocated for block in churn.allocator.blocks(BufferType.DRAM)) > 100
    assert per_second >= PROMISED_PER_SECOND
