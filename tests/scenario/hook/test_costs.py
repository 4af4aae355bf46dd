"""What the hook costs the runtime once it has seen everything: no system call, no memory, on the ways that repeat."""

from pathlib import Path

import pytest

from tests.support.stand_in.build import CURRENT, OLD, StandIn
from tests.support.stand_in.host import Host
from tests.support.stand_in.stories import a_matmul, an_add

WARM = ("open 1 1 0", *an_add(), *a_matmul(), "enqueue 1", "enqueue 2", "churn 1 10000 64", "churn 1 20000 1000")


@pytest.mark.parametrize("release", [CURRENT, OLD])
@pytest.mark.parametrize("order", ["churn 1 30000 500", "repeat 50 enqueue 1", "enqueue 2"])
def test_nothing_is_asked_of_the_system_on_ways_that_repeat(
    order: str, release: str, stand_in: StandIn, journals: Path
) -> None:
    with Host(stand_in, journals, release=release) as hooked, Host(stand_in, journals, is_hooked=False) as plain:
        hooked.tell(*WARM)
        plain.tell(*WARM)

        system_calls, allocations = hooked.counted(order)

        assert (system_calls, allocations) == plain.counted(order)
        assert system_calls == 0


def test_the_counters_count(host: Host) -> None:
    host.tell(*WARM)
    _, allocations = host.counted("buffer 500 1 DRAM 2048 2048")

    assert allocations > 0
