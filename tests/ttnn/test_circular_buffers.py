"""Circular and dataflow buffers against the stock runtime's: every address, every clash and its words."""

from typing import Any

import pytest

from tests.support.ttnn.model_programs import ModelOfPrograms, without_program_id
from tests.support.ttnn.runtime import Runtime, StartedRuntime, has_compiler
from tests.support.ttnn.scripts.stories import Story
from ttmem import metal
from ttmem.metal import CircularBufferClash, CoreRange, CoreRanges, Program

EVENT_COUNT = 120
TILE_BYTES = 2048

pytestmark = pytest.mark.skipif(
    not has_compiler(),
    reason="OPERATIONS NOT COMPARED: no riscv64-unknown-elf-gcc (Debian: apt-get install gcc-riscv64-unknown-elf)",
)


def told(runtime: Runtime, event: dict[str, Any], grid: tuple[int, int]) -> dict[str, Any]:
    """What the runtime says to an event, as the model says it."""
    if event["op"] != "program":
        [answer] = runtime.steps([event])
        del answer["view"]
        return answer
    answer = runtime.program(event["buffers"], grid=grid)
    if "refused" in answer:
        return {"refused": without_program_id(answer["refused"])}
    return {"addresses": [buffer["address"] for buffer in answer["buffers"]]}


@pytest.mark.parametrize("board", ["n150", "p150"])
@pytest.mark.parametrize("seed", [1, 2])
def test_programs_and_buffers_meet_where_the_runtimes_do(board: str, seed: int, runtime_of: StartedRuntime) -> None:
    runtime = runtime_of(board)
    with metal.open_device(board) as device, runtime.opened():
        model = ModelOfPrograms(device)
        chip = device.chips[0]
        story = Story(seed, grid=chip.grid, bank_bytes=chip.l1_bank_bytes)
        seen = []
        for event in (*story.opening(), *story.events(EVENT_COUNT)):
            theirs = told(runtime, event, chip.grid)
            if "left_out" in theirs:
                continue
            seen.append(theirs)
            assert model.answer(event) == theirs, event

    refused = [answer["refused"] for answer in seen if "refused" in answer]
    assert sum("clash" in words for words in refused) > 5
    assert sum(bool(answer.get("addresses")) for answer in seen) > 20


@pytest.mark.parametrize("side", [256, 512, 1024])
def test_add_lays_its_circular_buffers_as_the_runtime_does(side: int, runtime_of: StartedRuntime) -> None:
    runtime = runtime_of("n150")
    with runtime.opened():
        theirs = runtime.operation("add", side)["buffers"]

    with metal.open_device("n150") as device:
        program = a_program_of(theirs)
        metal.enqueue(device, metal.MeshWorkload(program))

        assert [buffer.address for buffer in program.circular_buffers] == [buffer["address"] for buffer in theirs]
        assert [(buffer["kind"], buffer["size"]) for buffer in theirs] == 3 * [("circular_buffer", 2 * TILE_BYTES)]


@pytest.mark.parametrize("name", ["add", "matmul", "softmax", "exp"])
def test_an_operation_clashes_in_the_runtimes_words(name: str, runtime_of: StartedRuntime) -> None:
    """The only way to hear where dataflow buffers end: a buffer at the very bottom of L1 is in their way."""
    runtime = runtime_of("n150")
    with runtime.opened() as opened:
        runtime.steps([l1_buffer(0, TILE_BYTES)])
        theirs = runtime.operation(name, 512)["refused"]
        end = int(theirs.split()[-1])
        runtime.steps([free(0), l1_buffer(1, end - opened.first_cb_address), l1_buffer(2, TILE_BYTES), free(1)])
        planned = runtime.operation(name, 512, "NO_DISPATCH")["buffers"]  # just fits

    with metal.open_device("n150") as device:
        model = ModelOfPrograms(device)
        model.answer(l1_buffer(0, TILE_BYTES))
        workload = metal.MeshWorkload(a_program_of(planned))
        with pytest.raises(CircularBufferClash) as ours:
            metal.enqueue(device, workload)
        for event in (free(0), l1_buffer(1, end - opened.first_cb_address), l1_buffer(2, TILE_BYTES), free(1)):
            model.answer(event)
        metal.enqueue(device, workload)

    assert without_program_id(str(ours.value)) == without_program_id(theirs)


def l1_buffer(identity: int, size_bytes: int) -> dict[str, Any]:
    """A buffer of one page, as low in L1 as there is room."""
    return {"op": "direct", "id": identity, "type": "L1", "size": size_bytes, "page": size_bytes, "is_bottom_up": True}


def free(identity: int) -> dict[str, Any]:
    return {"op": "free", "id": identity, "type": "L1"}


def a_program_of(buffers: list[dict[str, Any]]) -> Program:
    """A program of ours with the same buffers, whose addresses it must find itself."""
    program = Program()
    for buffer in buffers:
        add = program.add_circular_buffer if buffer["kind"] == "circular_buffer" else program.add_dataflow_buffer
        add(CoreRanges(CoreRange(*four) for four in buffer["cores"]), buffer["size"])
    return program
