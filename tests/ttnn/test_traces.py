"""Traces against the wheel: where SimpleTraceAllocator puts each region of a plan, and pages of stored streams."""

import random

import pytest

from tests.support.ttnn.judges import Library, StockTraceShelf
from tests.support.ttnn.stock import Stock
from ttmem.metal.dispatch import trace_planner
from ttmem.metal.dispatch.trace_planner import TraceNode, plan_trace
from ttmem.metal.state.layout.shelf import Placed, Shelf, ShelfRegion
from ttmem.metal.state.trace_storage import trace_page_bytes
from ttmem.tracking import CoreType

RING_BYTES = 70_656
NODES = 400


@pytest.fixture(scope="module")
def library(stock: Stock) -> Library:
    return Library(stock.metal_library)


class JudgedShelf(Shelf):
    """The planner's shelf, which asks the wheel's at every step and compares."""

    library: Library
    next_uses: list[int | None]
    asked_count = 0

    def __init__(self, size_bytes: int) -> None:
        super().__init__(size_bytes)
        self.clear()

    def clear(self) -> None:
        super().clear()
        self._stock = StockTraceShelf(self.library, self.size_bytes, self.next_uses)

    def use(self, region: ShelfRegion, user: int, next_use: int | None) -> None:
        super().use(region, user, next_use)
        self._stock.use(region.address, user)
        self._agree()

    def place(self, wanted: ShelfRegion, *, is_top_down: bool) -> Placed | None:
        ours = super().place(wanted, is_top_down=is_top_down)
        wait_for, address = self._stock.place(
            wanted.size_bytes,
            node=wanted.user,
            program=wanted.program,
            is_binary=wanted.is_binary,
            is_top_down=is_top_down,
        )
        assert (ours.wait_for, ours.address) == (wait_for, address) if ours else address is None
        self._agree()
        JudgedShelf.asked_count += 1
        return ours

    def _agree(self) -> None:
        assert self._stock.regions() == [
            (region.address, region.size_bytes, region.program, region.is_binary, region.user)
            for region in self.regions
        ]


def a_trace(choose: random.Random) -> list[TraceNode]:
    """Layers of a model: a few programs over and over, with others in between; sizes of real and of extreme ones."""
    program_count = choose.choice((3, 8, 20, 60))
    largest = choose.choice((6_000, 20_000, 60_000))
    sizes = {
        program: (choose.randrange(0, 3_000, 16), choose.randrange(0, largest, 16)) for program in range(program_count)
    }
    programs = [choose.randrange(program_count) for _ in range(choose.choice((5, 12, 40)))]
    order = [choose.choice((programs[at % len(programs)], choose.randrange(program_count))) for at in range(NODES)]
    return [
        TraceNode(
            program=program,
            config_bytes=sizes[program][0],
            binary_bytes=sizes[program][1],
            worker_count=64,
            ethernet_bytes=choose.choice((0, 0, 0, 64, 512)),
        )
        for program in order
    ]


@pytest.mark.parametrize("seed", range(12))
def test_every_region_of_a_plan_lies_where_the_runtime_puts_it(
    library: Library, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes = a_trace(random.Random(f"trace {seed}"))
    monkeypatch.setattr(JudgedShelf, "library", library, raising=False)
    monkeypatch.setattr(JudgedShelf, "next_uses", trace_planner.next_uses(nodes), raising=False)
    monkeypatch.setattr(JudgedShelf, "asked_count", 0)
    monkeypatch.setattr(trace_planner, "Shelf", JudgedShelf)

    plan_trace(nodes, {CoreType.TENSIX: (35_168, RING_BYTES), CoreType.ACTIVE_ETH: (258_336, 640)})

    assert JudgedShelf.asked_count > 2 * NODES


@pytest.mark.parametrize("bank_count", [1, 7, 8, 12])
def test_pages_of_stored_streams_are_those_of_the_runtime(library: Library, bank_count: int) -> None:
    choose = random.Random(f"pages {bank_count}")
    edges = [rows * bank_count * page for rows in range(1, 9) for page in (1_024, 2_048, 4_096, 8_192)]
    near = [edge + step for edge in edges for step in (-32, -1, 1, 32)]
    anywhere = [choose.randrange(1, 1 << choose.randrange(10, 28)) for _ in range(5_000)]
    for stream_bytes in (*edges, *near, *anywhere):
        assert trace_page_bytes(stream_bytes, bank_count) == library.trace_page_bytes(stream_bytes, bank_count)
