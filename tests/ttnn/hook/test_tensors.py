"""Shape, data type and layout of the buffers of the stock runtime's tensors, read from the journal."""

from typing import Any

import pytest

from tests.support.hooked.operations import tensors
from tests.support.hooked.process import StartedHooked
from tests.support.ttnn.runtime import has_compiler
from ttmem.devices import Pool

FORMS: list[tuple[list[int], str, bool, str]] = [
    ([1, 1, 1024, 1024], "bfloat16", True, "1x1x1024x1024 bfloat16 tile"),
    ([64, 96], "float32", True, "64x96 float32 tile"),
    ([2, 3, 64, 32], "bfloat8_b", True, "2x3x64x32 bfloat8_b tile"),
    ([1, 1, 7, 48], "uint8", False, "1x1x7x48 uint8 row major"),
    ([33, 64], "int32", False, "33x64 int32 row major"),
    ([5, 1, 128], "uint16", True, "5x1x128 uint16 tile"),
]


def a_step(identity: int, shape: list[int], dtype: str, is_tiled: bool, memory: str) -> dict[str, Any]:
    form = {"shape": shape, "dtype": dtype, "is_tiled": is_tiled, "layout": "INTERLEAVED"}
    return {"op": "alloc", "id": identity, "type": memory, **form}


@pytest.mark.parametrize("release", ["0.81.1", "0.80.0", "0.78.0"])
@pytest.mark.parametrize("memory", ["DRAM", "L1"])
def test_a_buffer_is_told_with_its_tensor(memory: str, release: str, hooked_of: StartedHooked) -> None:
    hooked = hooked_of("n150", release=release)
    with hooked.opened():
        steps = [a_step(number, *form[:3], memory) for number, form in enumerate(FORMS)]
        answers = hooked.runtime.steps(steps)
        told = tensors(hooked.journals, hooked.pid)

    addresses = [answer["address"] for answer in answers]
    assert [told[Pool[memory].number, address] for address in addresses] == [words for *_, words in FORMS]


@pytest.mark.skipif(not has_compiler(), reason="OPERATIONS NOT COMPARED: no riscv64-unknown-elf-gcc")
def test_what_an_operation_makes_is_told_with_its_tensor_and_a_refusal_leaves_nothing_behind(
    hooked_of: StartedHooked,
) -> None:
    hooked = hooked_of("n150")
    with hooked.opened():
        first, second, refused, last = hooked.runtime.steps(
            [
                a_step(1, [1, 1, 64, 64], "bfloat16", True, "DRAM"),
                a_step(2, [1, 1, 64, 64], "bfloat16", True, "DRAM"),
                a_step(3, [1, 1, 65536, 65536], "bfloat16", True, "L1"),
                a_step(4, [1, 1, 32, 32], "float32", True, "L1"),
            ]
        )
        made = hooked.ask({"do": "run", "name": "add", "inputs": [1, 2], "id": 5, "memory": "L1", "times": 1})
        told = tensors(hooked.journals, hooked.pid)

    assert "refused" in refused
    assert told.pop((Pool.L1.number, last["address"])) == "1x1x32x32 float32 tile"
    assert {told.pop((Pool.DRAM.number, one["address"])) for one in (first, second)} == {"1x1x64x64 bfloat16 tile"}
    assert told.pop((Pool.L1.number, made["address"])) == "1x1x64x64 bfloat16 tile"
    assert set(told.values()) <= {""}
