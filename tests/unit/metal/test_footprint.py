"""Planned and resident circular buffers, against a count core by core and byte range by byte range."""

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from tests.support.metal.operations import a_workload
from ttmem.metal import CoreRange, CoreRanges, MeshWorkload, Program, enqueue, open_device
from ttmem.metal.programs.layout import Region
from ttmem.metal.state.footprint import taken

LEFT, RIGHT, ALL = CoreRanges.grid(4, 8), CoreRanges.parse("4,0-7,7"), CoreRanges.grid(8, 8)


@st.composite
def region(draw: st.DrawFn) -> Region:
    x, y, start = draw(st.integers(0, 7)), draw(st.integers(0, 7)), draw(st.integers(0, 40))
    cores = CoreRange(x, y, draw(st.integers(x, 7)), draw(st.integers(y, 7)))
    return start, start + draw(st.integers(1, 20)), cores.mask


def naive(wanted: Iterable[Region]) -> tuple[int, int]:
    cores: dict[int, set[int]] = {}
    for start, end, mask in wanted:
        for place in range(mask.bit_length()):
            if mask >> place & 1:
                cores.setdefault(place, set()).update(range(start, end))
    sizes = [len(each) for each in cores.values()]
    return sum(sizes), max(sizes, default=0)


@given(st.lists(region(), max_size=8))
def test_the_union_is_what_counting_byte_by_byte_gives(wanted: list[Region]) -> None:
    assert taken(wanted) == naive(wanted)


def test_programs_share_their_bytes_in_what_is_planned() -> None:
    with open_device("n150") as device:
        for size_bytes in (2048, 8192, 4096):
            enqueue(device, a_workload(size_bytes, cb_bytes=size_bytes))

        chip = device.truth()[0]
        assert chip.cb_planned == (8192 * 64, 8192)
        assert chip.cb_resident == (4096 * 64, 4096)


def test_a_core_keeps_what_ran_there_last() -> None:
    with open_device("n150") as device:
        everywhere = a_workload(1000, cb_bytes=2048, cores=ALL)
        left = a_workload(1100, cb_bytes=8192, cores=LEFT)
        enqueue(device, everywhere)
        enqueue(device, left)
        assert device.truth()[0].cb_resident == (8192 * 32 + 2048 * 32, 8192)

        enqueue(device, everywhere)
        assert device.truth()[0].cb_resident == (2048 * 64, 2048)


def test_what_ran_before_shows_again_when_the_last_is_destroyed() -> None:
    with open_device("n150") as device:
        first, second = a_workload(1000, cb_bytes=2048), a_workload(1100, cb_bytes=8192)
        enqueue(device, first)
        enqueue(device, second)

        second.destroy()

        assert device.truth()[0].cb_resident_bytes == 2048 * 64


def test_a_program_without_circular_buffers_leaves_those_of_others() -> None:
    with open_device("n150") as device:
        enqueue(device, a_workload(1000, cb_bytes=2048))
        enqueue(device, a_workload(1100))

        assert device.truth()[0].cb_resident_bytes == 2048 * 64


def test_parts_of_one_program_on_different_cores_are_added() -> None:
    with open_device("n150") as device:
        program = Program()
        program.add_circular_buffer(LEFT, 2048)
        program.add_circular_buffer(RIGHT, 4096)
        enqueue(device, MeshWorkload(program))

        chip = device.truth()[0]
        assert chip.cb_planned == chip.cb_resident == (2048 * 32 + 4096 * 32, 4096)
        assert chip.cb_worst_core_bytes == 4096
