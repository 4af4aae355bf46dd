"""The story the stock runtime told on a simulated Wormhole, told again by the model: every address and every size.

tests/data/simulated_wormhole/events.jsonl is what a preloaded library saw there: two tensors, an add, a matmul, and a
trace with the add in it, captured and released.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.metal.heard import Call, HeardAll
from tests.support.metal.operations import add_program, matmul_program
from ttmem.devices import BufferType, Pool
from ttmem.metal import Buffer, CoreRanges, MeshDevice, MeshWorkload, Program, enqueue, open_device, tensor
from ttmem.tracking import CoreType

RECORDED = Path(__file__).parents[2] / "data" / "simulated_wormhole" / "events.jsonl"
TRACE_REGION_BYTES = 1 << 20

Event = tuple[Any, ...]


def recorded() -> list[Event]:
    """Buffers and circular buffers as the runtime made and freed them."""
    events: list[Event] = []
    for line in RECORDED.read_text(encoding="utf-8").splitlines():
        event = json.loads(line)
        match event["ev"]:
            case "alloc":
                events.append(("alloc", event["addr"], event["size"], event["page"], event["type"]))
            case "free":
                events.append(("free", event["addr"], event["size"], event["type"]))
            case "cb":
                events.append(("cb", event["addr"], event["size"], event["cores"]))
    return events


def told(calls: list[Call]) -> Iterator[Event]:
    """The same as the model told it; the runtime's library did not see dataflow buffers."""
    for call in calls:
        if call.name in ("allocate", "deallocate"):
            buffer: Buffer = call.buffer
            is_new = call.name == "allocate"
            page = (buffer.spec.page_bytes,) if is_new else ()
            where = ("alloc" if is_new else "free", buffer.address, buffer.requested_bytes)
            yield (*where, *page, buffer.buffer_type)
        elif call.name == "cb" and call.kind.word == "circular_buffer":
            yield "cb", call.address, call.size, CoreRanges.parse(call.cores).core_count


def recorded_text_sizes() -> list[tuple[int, int]]:
    events = [json.loads(line) for line in RECORDED.read_text(encoding="utf-8").splitlines()]
    tensix = [event for event in events if event["ev"] == "finalize_kernel_bins" and event["core_type"] == 0]
    return [(event["text_offset"], event["text_size"]) for event in tensix]


class Story:
    """The recorded run, step by step."""

    def __init__(self, device: MeshDevice) -> None:
        self.device = device
        self.programs: list[Program] = []
        self._add = MeshWorkload(self._made(add_program(CoreRanges.grid(8, 9))))
        self._matmul = MeshWorkload(self._made(matmul_program(CoreRanges.first(4, (8, 9)))))
        self._sum: Buffer | None = None

    def two_tensors(self) -> None:
        self._tensor(BufferType.DRAM)
        self._tensor(BufferType.L1)

    def add(self) -> None:
        self._sum = self._tensor(BufferType.L1)
        enqueue(self.device, self._add)

    def matmul(self) -> None:
        self._tensor(BufferType.DRAM)
        enqueue(self.device, self._matmul)
        assert self._sum is not None
        self._sum.deallocate()

    def capture(self) -> int:
        trace = self.device.begin_trace()
        self._tensor(BufferType.L1)
        enqueue(self.device, self._add)
        self.device.end_trace(trace)
        return trace

    def requested_bytes(self, buffer_type: BufferType) -> int:
        """As the runtime's own counters add it up."""
        alive = self.device.buffers.values()
        return sum(one.requested_bytes for one in alive if one.buffer_type is buffer_type)

    def figures(self) -> tuple[int, int, int, int]:
        dram, l1, trace = (self.requested_bytes(one) for one in (BufferType.DRAM, BufferType.L1, BufferType.TRACE))
        return dram, l1, self.device.truth()[0].cb_planned_bytes, trace

    def _tensor(self, buffer_type: BufferType) -> Buffer:
        return self.device.create_buffer(tensor((64, 64), "bfloat16", buffer_type=buffer_type))

    def _made(self, program: Program) -> Program:
        self.programs.append(program)
        return program


@pytest.fixture
def heard() -> HeardAll:
    return HeardAll()


@pytest.fixture
def story(heard: HeardAll) -> Iterator[Story]:
    with open_device("wormhole-sim", trace_region_bytes=TRACE_REGION_BYTES, tracker=heard) as device:
        yield Story(device)


def test_dram_l1_circular_buffers_and_trace_come_out_at_every_step(story: Story) -> None:
    assert story.figures() == (0, 0, 0, 0)
    story.two_tensors()
    assert story.figures() == (8192, 8192, 0, 0)
    story.add()
    assert story.figures() == (20_480, 16_384, 884_736, 0)
    story.matmul()
    assert story.figures() == (38_912, 8192, 884_736, 0)
    trace = story.capture()
    assert story.figures() == (38_912, 16_384, 884_736, 14_336)
    story.device.release_trace(trace)
    assert story.figures() == (38_912, 16_384, 884_736, 0)


def test_every_address_and_size_is_the_recorded_one(story: Story, heard: HeardAll) -> None:
    story.two_tensors()
    story.add()
    story.matmul()
    story.device.release_trace(story.capture())

    assert list(told(heard.calls)) == recorded()


def test_kernels_have_the_recorded_sizes_and_offsets(story: Story) -> None:
    story.two_tensors()
    story.add()
    story.matmul()

    programs = [*story.device.system_programs, *story.programs]
    slots = [(program.offsets or {})[CoreType.TENSIX] for program in programs]
    assert [(slot.kernel_text, slot.kernel_text_bytes) for slot in slots] == recorded_text_sizes()
    assert recorded_text_sizes() == [(64, 30_464), (208, 7392), (128, 5728)]


def test_a_chip_that_lost_no_row_computes_on_nine_rows(story: Story) -> None:
    chip = story.device.chips[0]

    assert (chip.worker_grid, chip.grid, chip.l1_bank_count) == ((8, 10), (8, 9), 72)
    assert chip.capacity_bytes(Pool.TRACE) == 12 * 90_112
