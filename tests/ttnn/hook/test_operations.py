"""Operations of the stock runtime: kernels, circular and dataflow buffers, launches and the ring, told by the hook.

Judged by what the runtime was once seen to do (tests/data/operations), by what it says to an imagined run of the same
operation, and by the ELF files that its compiler left, whose sizes follow from kernel and processor.
"""

from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.support.hooked.binaries import compiled
from tests.support.hooked.looks import Look, Told
from tests.support.hooked.process import Hooked, StartedHooked
from tests.support.hooked.samples import Placed, operations
from tests.support.ttnn.runtime import OpenedDevice, has_compiler
from tests.support.ttnn.stand_in_compiler import binary_bytes
from ttmem.devices import BinaryStatus, Kind, Pool
from ttmem.tracking import CoreType, FoundBy

pytestmark = pytest.mark.skipif(
    not has_compiler(),
    reason="OPERATIONS NOT COMPARED: no riscv64-unknown-elf-gcc (Debian: apt-get install gcc-riscv64-unknown-elf)",
)

SAMPLES = operations()
AGAIN = 3
CODE_ALIGNMENT, PAGE_BYTES = 16, 2048
# Which tensor goes in (1 lies in DRAM, 2 in L1) and where the result goes, as in the samples; then the kernels.
RUNS: dict[str, dict[str, Any]] = {
    "add": {"inputs": [1, 2], "id": 3, "memory": "L1"},
    "matmul": {"inputs": [1, 2], "id": 4, "memory": "DRAM"},
    "softmax": {"inputs": [2], "id": 5, "memory": "L1"},
    "exp": {"inputs": [1], "id": 6, "memory": "DRAM"},
}
KERNELS = {
    "add": ["eltwise_binary_no_bcast", "reader_interleaved_no_bcast", "writer_interleaved_no_bcast"],
    "matmul": ["bmm_metal2", "reader_bmm_8bank_output_tiles_partitioned_metal2", "writer_unary_interleaved_start_id"],
    "softmax": ["reader_unary_interleaved_sm", "softmax", "writer_unary_interleaved_start_id_blocked_sm"],
    "exp": ["eltwise_sfpu_metal2", "reader_unary", "writer_unary"],
}


@dataclass
class Episode:
    """One operation: what the runtime imagines of it, and looks before it, after it and after it ran again."""

    imagined: list[dict[str, Any]]
    before: Look
    after: Look
    again: Look

    def came(self, kinds: tuple[Kind, ...]) -> list[Told]:
        """What of these kinds is new after it, by address."""
        new = [told for told in self.after.of(*kinds) if told not in self.before.alive]
        return sorted(new, key=lambda told: (told.address, told.id))

    @property
    def kernels(self) -> list[Told]:
        return self.came((Kind.KERNEL_APPLICATION, Kind.KERNEL_UNKNOWN, Kind.KERNEL_FABRIC, Kind.KERNEL_DISPATCH))

    @property
    def circular(self) -> list[Told]:
        return self.came((Kind.CIRCULAR_BUFFER, Kind.DATAFLOW_BUFFER, Kind.SCRATCHPAD))


@dataclass
class Story:
    """All operations on one device, one after the other; then its cache is cleared, then it is closed."""

    hooked: Hooked
    is_slow: bool
    device: OpenedDevice
    cleared: Look
    closed: Look
    binaries: dict[str, dict[str, int]]
    episodes: dict[str, Episode] = field(default_factory=dict)

    @property
    def chip(self) -> int:
        return self.hooked.runtime.chips[0]


def tensors() -> list[dict[str, Any]]:
    shape = {"op": "alloc", "shape": [1, 1, 512, 512], "dtype": "bfloat16", "is_tiled": True, "layout": "INTERLEAVED"}
    return [shape | {"id": 1, "type": "DRAM"}, shape | {"id": 2, "type": "L1"}]


def an_episode(hooked: Hooked, name: str) -> Episode:
    run = {"do": "run", "name": name, "times": 1, **RUNS[name]}
    imagined = hooked.ask(run | {"do": "imagine"})["buffers"]
    before = hooked.look()
    hooked.ask(run)
    after = hooked.look()
    hooked.ask(run | {"times": AGAIN})
    return Episode(imagined, before, after, hooked.look())


def a_story(hooked: Hooked, *, is_slow: bool) -> Story:
    with hooked.opened() as device:
        hooked.runtime.steps(tensors())
        episodes = {name: an_episode(hooked, name) for name in RUNS}
        hooked.ask({"do": "clear"})
        cleared = hooked.look()
    binaries = compiled(hooked.journals.parent)
    return Story(hooked, is_slow, device, cleared, hooked.look(), binaries, episodes)


@pytest.fixture(scope="module")
def stories() -> dict[str, Story]:
    """Those that were told already: tests come in any order."""
    return {}


@pytest.fixture(params=["fast", "slow"])
def story(request: pytest.FixtureRequest, hooked_of: StartedHooked, stories: dict[str, Story]) -> Story:
    if request.param not in stories:
        is_slow = request.param == "slow"
        stories[request.param] = a_story(hooked_of("n150", is_slow=is_slow), is_slow=is_slow)
    return stories[request.param]


@pytest.mark.parametrize("name", RUNS)
def test_circular_and_dataflow_buffers_are_told_as_the_runtime_lays_them(name: str, story: Story) -> None:
    episode = story.episodes[name]
    core_sizes = [(told.per_bank_bytes, told.core_count) for told in episode.circular]

    assert core_sizes == [(buffer["size"], core_count(buffer["cores"])) for buffer in episode.imagined]
    assert [f"{told.kind.word}" for told in episode.circular] == [buffer["kind"] for buffer in episode.imagined]
    assert all(told.reserved_bytes == told.per_bank_bytes * told.core_count for told in episode.circular)
    assert all(told.chips == (story.chip,) for told in episode.circular)
    assert len({told.program for told in (*episode.circular, *episode.kernels)}) == 1


@pytest.mark.parametrize("name", RUNS)
def test_they_lie_where_they_lay_in_the_samples(name: str, story: Story) -> None:
    told = [Placed(one.address, one.per_bank_bytes, one.core_count) for one in story.episodes[name].circular]
    if story.is_slow:  # on more cores
        assert [one.address for one in told] == [one.address for one in SAMPLES[name].placed]
    else:
        assert told == list(SAMPLES[name].placed)


@pytest.mark.parametrize("name", RUNS)
def test_kernels_are_told_with_name_type_cores_and_exact_bytes(name: str, story: Story) -> None:
    kernels = story.episodes[name].kernels

    assert sorted({told.name for told in kernels}) == KERNELS[name]
    program_cores = max(told.core_count for told in kernels)
    for told in kernels:
        sizes = story.binaries[told.name].values()
        assert told.kind is Kind.KERNEL_APPLICATION
        assert (told.core_type, told.found_by) == (CoreType.TENSIX, FoundBy.PATH)
        assert told.packed_bytes == tuple(sizes)  # of a compute kernel trisc0 to trisc2
        assert told.per_bank_bytes == sum(rounded(size, CODE_ALIGNMENT) for size in sizes)
        assert told.reserved_bytes == told.per_bank_bytes * told.core_count
        assert told.requested_bytes == sum(rounded(size, PAGE_BYTES) for size in sizes) * program_cores
    if not story.is_slow:
        assert {told.core_count for told in kernels} == {SAMPLES[name].core_count}


def test_every_binary_has_the_size_that_was_foretold(story: Story) -> None:
    assert len(story.binaries) > 8
    for kernel, sizes in story.binaries.items():
        assert sizes == {processor: binary_bytes(kernel, processor) for processor in sizes}


@pytest.mark.parametrize("name", [name for name in RUNS if SAMPLES[name].text_offset is not None])
def test_the_ring_takes_the_offset_of_the_text_and_all_binaries(name: str, story: Story) -> None:
    episode = story.episodes[name]
    before, after = (look.ring(story.chip, CoreType.TENSIX) for look in (episode.before, episode.after))
    if story.is_slow:
        assert not any(after[figure] for figure in ("live", "retired", "launches"))  # there is none
        return
    binaries = [size for told in episode.kernels for size in story.binaries[told.name].values()]

    offset = SAMPLES[name].text_offset
    assert offset
    assert after["launches"] - before["launches"] == 1
    assert after["entries"] == 1  # it waited for whatever ran before
    assert after["live"] == offset + sum(rounded(size, CODE_ALIGNMENT) for size in binaries)
    assert after["total"] > after["live"] + after["retired"]


@pytest.mark.parametrize("name", RUNS)
def test_every_launch_counts_and_a_cached_one_tells_nothing_else(name: str, story: Story) -> None:
    episode = story.episodes[name]
    counts = [look.launches(story.chip) for look in (episode.before, episode.after, episode.again)]

    assert (counts[1] - counts[0], counts[2] - counts[1]) == (1, AGAIN)
    assert episode.again.circular == episode.after.circular
    assert episode.again.kernels == episode.after.kernels
    [program] = {told.program for told in episode.kernels}
    status = BinaryStatus.NOT_SENT if story.is_slow else BinaryStatus.COMMITTED
    assert episode.again.programs(story.chip)[program] == (status, 1 + AGAIN)


def test_what_programs_share_of_a_core_is_counted_once(story: Story) -> None:
    last = story.episodes["exp"].again
    ends = [(told.address + told.per_bank_bytes, told.core_count) for told in last.circular]
    grid = story.device.grid[0] * story.device.grid[1]

    wide = max(end for end, cores in ends if cores == grid) - story.device.first_cb_address
    high = max(end for end, _ in ends) - story.device.first_cb_address
    [few] = {cores for _, cores in ends if cores != grid}
    assert last.planned_bytes(story.chip) == wide * grid + (high - wide) * few


def test_a_cleared_cache_takes_kernels_and_circular_buffers_with_it(story: Story) -> None:
    cleared = story.cleared

    assert (cleared.kernels, cleared.circular, cleared.programs(story.chip)) == ([], [], {})
    assert len(cleared.buffers) == 2 + len(RUNS)
    assert cleared.findings == {}


def test_a_closed_device_takes_everything_with_it(story: Story) -> None:
    assert story.closed.alive == []
    assert story.closed.findings == {}
    assert all(story.closed.used(story.chip, pool) == 0 for pool in Pool)


def core_count(rectangles: list[list[int]]) -> int:
    return sum((right - left + 1) * (bottom - top + 1) for left, top, right, bottom in rectangles)


def rounded(size: int, step: int) -> int:
    return -(-size // step) * step
