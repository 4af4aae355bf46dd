"""Grids, banks and capacities of every board against what the stock runtime says of the same board, made up."""

import pytest

from tests.support.ttnn.model_memory import MEMORIES, Model
from tests.support.ttnn.runtime import CORE_TYPES, StartedRuntime
from ttmem.metal.chips import BOARDS, Chip, DispatchCores, board

TENSIX, ETHERNET, SLOW = DispatchCores.TENSIX, DispatchCores.ETHERNET, DispatchCores.SLOW
MIB = 1 << 20
OPENED = [
    *((name, None) for name in BOARDS if name != "wormhole-sim"),  # None: as the runtime itself would choose
    ("n150", ETHERNET),
    ("n150", SLOW),
    ("n300", TENSIX),
    ("n300", SLOW),
    ("t3000", TENSIX),
    ("galaxy", ETHERNET),
    ("p100", SLOW),
    ("p150", SLOW),
    ("p300", SLOW),
]


def views(chip: Chip) -> dict[str, list[int]]:
    model = Model(chip)
    return {memory: model.view(memory) for memory in MEMORIES}


@pytest.mark.parametrize(("name", "dispatch"), OPENED)
def test_a_board_opens_with_the_runtimes_grid_and_banks(
    name: str, dispatch: DispatchCores | None, runtime_of: StartedRuntime
) -> None:
    kind = board(name)
    chip = kind.chip(dispatch=dispatch)
    runtime = runtime_of(name, is_slow=dispatch is SLOW)
    with runtime.opened(kind.shape, dispatch=CORE_TYPES[dispatch]) as device:
        pass

    assert device.chips == kind.chip_count
    assert device.grid == chip.grid
    assert device.views == views(chip)
    assert device.first_cb_address == chip.architecture.l1_unreserved_base


@pytest.mark.parametrize("name", ["n150", "p150"])
@pytest.mark.parametrize(("l1_small", "trace"), [(1, 1), (1000, 5_000_001), (MIB, 50_000_000)])
def test_what_is_asked_for_at_open_is_rounded_as_the_runtime_does(
    name: str, l1_small: int, trace: int, runtime_of: StartedRuntime
) -> None:
    runtime = runtime_of(name)
    with runtime.opened(l1_small=l1_small, trace=trace) as device:
        pass

    assert device.views == views(board(name).chip(l1_small_bytes=l1_small, trace_region_bytes=trace))


@pytest.mark.parametrize("name", ["n150", "p150"])
@pytest.mark.parametrize("worker_l1", [1_000_000, 1_234_567, 1_400_001])
def test_the_kernel_ring_gets_what_buffers_leave_of_l1(name: str, worker_l1: int, runtime_of: StartedRuntime) -> None:
    runtime = runtime_of(name)
    with runtime.opened(worker_l1=worker_l1, l1_small=4096) as device:
        pass

    kind = board(name)
    chip = kind.chip(silicon=kind.architecture().with_worker_l1(worker_l1), l1_small_bytes=4096)
    assert device.views == views(chip)
    assert device.first_cb_address == chip.architecture.l1_unreserved_base
