"""Every workload on the model: it holds what plain sums say, at its peak and at every step on the way there."""

from collections import Counter
from collections.abc import Iterator

import pytest

from tests.support.metal.heard import HeardAll
from ttmem.devices import BufferType, Pool
from ttmem.metal.memory import BufferSpec, tensor
from ttmem.metal.mesh import MeshDevice
from ttmem.metal.workloads import WORKLOADS, Beat, ExpectedUse, Kill, Player, Step
from ttmem.metal.workloads.building.steps import EndTrace, Free, Make, PhaseStep, Replay, Run
from ttmem.metal.workloads.faults import REFUSED_SHAPE
from ttmem.tracking import Cache, CacheOutcome

TYPES = {BufferType.DRAM: Pool.DRAM, BufferType.L1: Pool.L1, BufferType.L1_SMALL: Pool.L1_SMALL}
ENOUGH = {name: workload.round_count for name, workload in WORKLOADS.items()} | {"llama-8b": 6, "leaky": 5}
REFUSED = {"oom-fragmented", "cb-clash"}


def played(name: str, player: Player, *, round_count: int | None = None) -> Iterator[Step]:
    """The steps of a workload until it has shown enough."""
    for step in player.play(WORKLOADS[name].steps(player.mesh.chips[0])):
        yield step
        if isinstance(step, Beat) and player.round_count >= (round_count or ENOUGH[name]):
            return


def held(mesh: MeshDevice) -> dict[Pool, int]:
    """What the banks of one chip have given out, as the allocator counts it."""
    statistics = {pool: mesh.allocator.statistics(buffer_type) for buffer_type, pool in TYPES.items()}
    return {pool: one.allocated_bytes * one.bank_count for pool, one in statistics.items()}


@pytest.mark.parametrize("name", WORKLOADS)
def test_a_workload_holds_what_plain_sums_say(name: str) -> None:
    with WORKLOADS[name].open() as mesh:
        expected, peak = ExpectedUse(mesh.chips[0]), Counter[Pool]()
        player = Player(mesh)
        for step in played(name, player):
            if name == "galaxy-70b" and step == PhaseStep("prefill"):  # a prompt and a token went through all layers
                break
            expected.add(step)
            if isinstance(step, Make | Free | Run):
                for pool, size_bytes in held(mesh).items():
                    assert size_bytes == expected.used[pool]
                    peak[pool] = max(peak[pool], size_bytes)

        truth = mesh.truth()[0]
        assert +peak == {pool: expected.peak[pool] for pool in TYPES.values() if expected.peak[pool]}
        assert truth.cb_planned_bytes == expected.peak[Pool.CB]
        assert truth.used_bytes.get(Pool.KERNEL, 0) == expected.peak[Pool.KERNEL]
        assert bool(player.refusal) == (name in REFUSED)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "board"),
    [
        ("llama-8b", "p150"),
        ("leaky", "bh-galaxy"),
        ("resnet-trace", "n150"),
        ("resnet-trace", "p100"),
        ("resnet-trace", "galaxy"),
        ("cache-growth", "p300"),
    ],
)
def test_a_workload_runs_on_other_boards(name: str, board: str) -> None:
    with WORKLOADS[name].open(board) as mesh:
        player = Player(mesh)
        list(played(name, player, round_count=1))

        assert player.refusal == ""
        assert {chip.board for chip in mesh.chips} == {board}


def test_only_the_first_token_misses_the_program_cache_and_the_last_ones_are_replayed() -> None:
    with WORKLOADS["llama-8b"].open() as mesh:
        steps, misses = [], []
        for step in played("llama-8b", Player(mesh), round_count=8):
            steps.append(step)
            if isinstance(step, Beat) and step.is_round:
                misses.append(mesh.truth().cache_counts[Cache.PROGRAM, CacheOutcome.MISS])

        assert misses == [mesh.program_cache.entry_count] * 8
        assert sum(isinstance(step, EndTrace) for step in steps) == 1
        assert sum(isinstance(step, Replay) for step in steps) == 4
        assert mesh.truth()[0].used_bytes[Pool.TRACE] > 0


def test_slow_dispatch_plays_the_same_without_traces() -> None:
    with WORKLOADS["resnet-trace"].open(is_slow=True) as mesh:
        steps = list(played("resnet-trace", Player(mesh), round_count=2))

        assert not any(isinstance(step, EndTrace | Replay) for step in steps)
        assert mesh.truth()[0].launch_count == sum(isinstance(step, Run) for step in steps)


def test_the_fragmented_dram_refuses_with_the_figures_of_the_real_report() -> None:
    with WORKLOADS["oom-fragmented"].open() as mesh:
        player = Player(mesh)
        list(played("oom-fragmented", player))

    assert player.refusal == (
        "Out of Memory: Not enough space to allocate 58720256 B DRAM buffer across 12 banks, where each bank needs to "
        "store 4894720 B, but bank size is 1072693184 B (allocated: 889295840 B, free: 183397344 B, "
        "largest free block: 3382944 B)."
    )


@pytest.mark.parametrize("is_slow", [False, True])
@pytest.mark.parametrize("board", ["p100", "p150", "p300", "bh-galaxy", "t3000"])
def test_the_fragmented_dram_refuses_for_its_fragments_on_every_board(board: str, is_slow: bool) -> None:
    heard = HeardAll()
    with WORKLOADS["oom-fragmented"].open(board, tracker=heard, is_slow=is_slow) as mesh:
        player = Player(mesh)
        steps = list(played("oom-fragmented", player))
        dram = mesh.allocator.statistics(BufferType.DRAM)
        gate = mesh.allocator.per_bank_bytes(tensor(REFUSED_SHAPE, "bfloat16"))

    [told] = heard.of("incident")
    assert steps[-1] == PhaseStep("large request")
    assert "Out of Memory" in player.refusal
    assert dram.largest_free_bytes < gate <= dram.free_bytes
    assert f"allocate {told.requested_bytes} B" in told.text
    assert (told.per_bank_bytes, told.free_bytes, told.largest_free_bytes) == (
        gate,
        dram.free_bytes * dram.bank_count,
        dram.largest_free_bytes * dram.bank_count,
    )


def test_the_clash_names_where_buffers_and_circular_buffers_meet() -> None:
    with WORKLOADS["cb-clash"].open() as mesh:
        chip, player = mesh.chips[0], Player(mesh)
        operation = next(step.operation for step in list(played("cb-clash", player)) if isinstance(step, Run))
        region_end = chip.architecture.l1_unreserved_base + sum(
            part.page_bytes * part.page_count for part in operation.circular_buffers
        )
        lowest = chip.architecture.l1_bytes - held(mesh)[Pool.L1] // chip.l1_bank_count

    assert lowest < region_end
    assert f"L1 buffer allocated at {lowest} and static circular buffer region ends at {region_end}" in player.refusal


def test_a_leak_ends_in_a_clash_when_it_is_not_stopped() -> None:
    with WORKLOADS["leaky"].open() as mesh:
        core_count, player = mesh.chips[0].l1_bank_count, Player(mesh)
        tenant = mesh.create_buffer(BufferSpec(600_000 * core_count, 600_000, BufferType.L1))  # it would take long else
        list(played("leaky", player, round_count=WORKLOADS["leaky"].round_count))

        leaked = held(mesh)[Pool.L1] - tenant.reserved_bytes
        for_every_token = 14 * 2048 * core_count  # so many tiles on every core
        assert "clash with L1 buffers" in player.refusal
        assert player.round_count * for_every_token <= leaked < (player.round_count + 1) * for_every_token


def test_the_workload_that_is_killed_holds_everything_at_that_moment() -> None:
    with WORKLOADS["killed-midway"].open() as mesh:
        player = Player(mesh)
        *_, last = played("killed-midway", player)

        assert isinstance(last, Kill)
        assert player.refusal == ""
        assert mesh.truth()[0].used_bytes[Pool.DRAM] > 9_000_000_000
        assert mesh.truth()[0].used_bytes[Pool.L1] > 0


def test_a_closed_mesh_holds_nothing() -> None:
    with WORKLOADS["resnet-trace"].open() as mesh:
        list(played("resnet-trace", Player(mesh), round_count=1))

    assert all(chip.used_bytes == {} and chip.counts == {} for chip in mesh.truth().chips)
    assert held(mesh) == dict.fromkeys(TYPES.values(), 0)


def test_phases_are_entered_and_left_in_turn() -> None:
    told: list[str] = []

    class Told:
        def __init__(self, name: str) -> None:
            self.name = name

        def __enter__(self) -> None:
            told.append(self.name)

        def __exit__(self, *error: object) -> None:
            told.append(f"/{self.name}")

    with WORKLOADS["resnet-trace"].open() as mesh:
        player = Player(mesh, phase=Told)
        for step in player.play(WORKLOADS["resnet-trace"].steps(mesh.chips[0])):
            if isinstance(step, Beat) and step.is_round:
                break

    names = ["load", "compile", "capture", "inference"]
    assert told[:-1] == [word for name in names for word in (name, f"/{name}")][:-1]
