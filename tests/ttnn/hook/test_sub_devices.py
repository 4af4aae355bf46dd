"""Sub-devices with L1 of their own: what they hold, and refuse, is told of their cores and on a line of its own."""

from typing import Any

import pytest

from tests.support.hooked.process import Hooked, StartedHooked
from tests.support.ttnn.stock import RELEASE
from tests.support.ttnn.sub_devices import HALVES, KIB, LOCAL_BYTES, compiled, loaded, on
from tests.ttnn.hook.test_explanations import expect_that_it_helps, explained, free
from ttmem.devices import Pool

MESHES = [(RELEASE, "n150", (1, 1)), (RELEASE, "n300", (1, 2)), ("0.80.0", "n150", (1, 1)), ("0.78.0", "n150", (1, 1))]
ALL = "0,0-7,6"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> str:
    return compiled(tmp_path_factory.mktemp("sub-devices"))


def given(hooked: Hooked, *steps: dict[str, Any]) -> list[int]:
    return [answer["address"] for answer in hooked.runtime.steps(steps)]


@pytest.mark.parametrize(("release", "board", "mesh"), MESHES, ids=str)
def test_a_buffer_of_a_sub_device_is_told_of_its_cores(
    release: str, board: str, mesh: tuple[int, int], hooked_of: StartedHooked, library: str
) -> None:
    hooked = hooked_of(board, release=release, beside=library)
    with hooked.opened(mesh):
        assert hooked.ask(loaded(*HALVES)) == {}
        addresses = given(hooked, on(ALL, 1, 64 * KIB), on(HALVES[0], 2, 100 * KIB, 0), on(HALVES[1], 3, 30 * KIB, 1))
        look = hooked.look()
        hooked.runtime.steps([free(2)])
        without = hooked.look()
        hooked.runtime.steps([free(1), free(3)])
        empty = hooked.look()
        assert hooked.ask(loaded()) == {}

    chips = tuple(hooked.runtime.chips)[: mesh[0] * mesh[1]]
    whole, first, second = addresses
    told = {buffer.per_bank_bytes: buffer for buffer in look.buffers}
    assert told[100 * KIB].parts == ((first, 16, HALVES[0]),)
    assert told[30 * KIB].parts == ((second, 16, HALVES[1]),)
    assert (told[64 * KIB].address, told[64 * KIB].parts) == (whole, ())
    assert {buffer.chips for buffer in look.buffers} == {chips}
    for chip in chips:
        banks = look.device(chip)["banks"][1]
        assert look.used(chip, Pool.L1) == (banks * 64 + 16 * 100 + 16 * 30) * KIB
        assert without.used(chip, Pool.L1) == (banks * 64 + 16 * 30) * KIB
        assert empty.used(chip, Pool.L1) == 0
    assert (look.findings, empty.findings, empty.buffers, look.process["complete"]) == ({}, {}, [], True)


@pytest.mark.parametrize(("release", "board", "mesh"), MESHES, ids=str)
def test_a_refusal_of_a_sub_device_is_explained_on_its_line(
    release: str, board: str, mesh: tuple[int, int], hooked_of: StartedHooked, library: str
) -> None:
    hooked = hooked_of(board, release=release, beside=library)
    with hooked.opened(mesh) as device:
        hooked.ask(loaded(*HALVES))
        held = [
            *(on(ALL, 1, 900 * KIB), on(HALVES[1], 2, 250 * KIB, 1)),
            *(on(HALVES[0], 3, 40 * KIB, 0), on(HALVES[0], 4, 150 * KIB, 0)),
        ]
        addresses = given(hooked, *held)
        asked = on(HALVES[0], 50, 200 * KIB, 0)
        [refused] = hooked.runtime.steps([asked])
        found = explained(hooked)

        assert "each bank needs to store 204800 B, but bank size is 262144 B" in refused["refused"]
        assert (found.incident.cores, found.incident.bank_count) == (HALVES[0], 16)
        assert (found.cause, found.notes) == ("full", ())
        [line] = found.lines
        assert (line.cores, line.begin_address) == (HALVES[0], device.first_cb_address)
        assert line.end_address == line.begin_address + LOCAL_BYTES
        assert line.free_bytes == found.incident.free_per_bank_bytes == (256 - 190) * KIB
        assert found.freeing is not None
        assert [entry.address for entry in found.freeing.entries] == [addresses[3]]
        expect_that_it_helps(hooked, [4], asked)
        hooked.runtime.steps([free(identity) for identity in (1, 2, 3, 51)])
        assert hooked.ask(loaded()) == {}


def test_the_mesh_has_the_addresses_above_its_sub_devices(hooked_of: StartedHooked, library: str) -> None:
    hooked = hooked_of("n150", beside=library)
    with hooked.opened(l1_small=32 * KIB) as device:
        hooked.ask(loaded(*HALVES))
        addresses = given(hooked, on(HALVES[0], 1, 250 * KIB, 0), on(ALL, 2, 60 * KIB), on(ALL, 3, 600 * KIB))
        asked = on(ALL, 50, 700 * KIB)
        hooked.runtime.steps([asked])
        found = explained(hooked)
        hooked.runtime.steps([on(ALL, 60, 40 * KIB) | {"type": "L1_SMALL"}])
        small = explained(hooked).incident

        whole = device.views["L1"][1]
        [line] = found.lines
        assert line.cores is None
        assert line.begin_address == device.first_cb_address + LOCAL_BYTES
        assert line.end_address == device.first_cb_address + whole
        assert (found.cause, found.notes) == ("full", ())
        assert line.free_bytes == found.incident.free_per_bank_bytes
        assert [holder.total_bytes for holder in found.holders] == [64 * 660 * KIB]
        assert found.freeing is not None
        assert [entry.address for entry in found.freeing.entries] == [addresses[2]]
        assert (small.memory, small.space_begin_address) == ("l1_small", device.first_cb_address + whole)
        expect_that_it_helps(hooked, [3], asked)
        hooked.runtime.steps([free(identity) for identity in (1, 2, 51)])
        assert hooked.ask(loaded()) == {}


def test_a_clash_with_a_buffer_of_a_sub_device_names_it(hooked_of: StartedHooked, library: str) -> None:
    hooked = hooked_of("n150", beside=library)
    with hooked.opened():
        hooked.ask(loaded(*HALVES))
        first, second = given(hooked, on(HALVES[0], 1, 100 * KIB, 0), on(HALVES[1], 2, 200 * KIB, 1))
        program = [{"size": 180 * KIB, "cores": [[0, 0, 1, 1]]}]
        said = hooked.runtime.program(program, grid=(4, 4))["refused"]
        found = explained(hooked)

        assert f"L1 buffer allocated at {first} " in said
        assert second < first
        assert found.clash is not None
        assert [entry.address for entry in found.clash.in_the_way] == [first]
        hooked.runtime.steps([free(1)])
        assert not hooked.runtime.program(program, grid=(4, 4)).get("refused")
        hooked.runtime.steps([free(2)])
        assert hooked.ask(loaded()) == {}
