"""Other releases of the runtime: what they do not export is not told, never guessed; the rest is told as ever."""

from pathlib import Path

import pytest

from tests.support.stand_in.build import CURRENT, FUTURE, NAMELESS, OLD, OLDEST, STRIPPED, StandIn
from tests.support.stand_in.host import CHIP, Host
from tests.support.stand_in.stories import an_add
from ttmem.devices import Kind, Pool
from ttmem.tracking import FoundBy

BUFFERS = (
    "open 1 1 0",
    "buffer 2 1 DRAM 8192 2048",
    "buffer 4 1 L1 8192 2048",
    "buffer 6 1 DRAM 8192 2048",
    "buffer 8 1 TRACE 2048 2048",
    "free 2",
)


@pytest.mark.parametrize("release", [CURRENT, STRIPPED])
def test_a_stripped_library_tells_as_much_as_any(release: str, stand_in: StandIn, journals: Path) -> None:
    with Host(stand_in, journals, release=release) as host:
        host.tell(*BUFFERS, *an_add(), "enqueue 1")
        look = host.look()

    assert sorted(told.id for told in look.buffers) == [4, 6, 8]
    assert (len(look.kernels), len(look.circular), look.launches(CHIP)) == (3, 3, 1)


@pytest.mark.parametrize("release", [OLD, OLDEST])
def test_buffers_of_a_release_without_their_getters_have_all_their_figures(
    release: str, stand_in: StandIn, journals: Path
) -> None:
    """Known by their places; their sizes follow from their pages."""
    with Host(stand_in, journals, release=release) as host:
        addresses = [host.tell(order) for order in BUFFERS]
        look = host.look()

    told = {(one.address, one.pool): one for one in look.buffers}
    assert set(told) == {(int(addresses[3]), Pool.DRAM), (int(addresses[2]), Pool.L1), (int(addresses[4]), Pool.TRACE)}
    assert [one.requested_bytes for one in told.values()] == [8192, 2048, 8192]
    assert look.used(CHIP, Pool.DRAM) == 2048 * 12
    assert look.findings == {}


@pytest.mark.parametrize("release", [OLD, OLDEST])
def test_places_that_are_used_again_are_not_mixed_up_without_ids(
    release: str, stand_in: StandIn, journals: Path
) -> None:
    with Host(stand_in, journals, release=release) as host:
        host.tell("open 1 1 0", "together 4 churn 1 %0000 400", "buffer 2 1 DRAM 8192 2048")
        look = host.look()

    assert [told.address for told in look.buffers] == [1_048_640]
    assert look.findings == {}


def test_programs_of_the_oldest_release_are_told_as_far_as_it_lets_us(stand_in: StandIn, journals: Path) -> None:
    with Host(stand_in, journals, release=OLDEST) as host:
        host.tell("open 1 1 0", *an_add(), "enqueue 1", "enqueue 1")
        look = host.look()
        host.tell("clear 1")
        cleared = host.look()

    assert [told.address for told in look.circular] == [105_824, 109_920, 114_016]
    assert len(look.kernels) == 3
    assert {kernel.found_by for kernel in look.kernels} == {FoundBy.PATH}
    assert look.launches(CHIP) == 2
    assert (cleared.alive, cleared.findings) == ([], {})


def test_a_future_release_with_other_getters_tells_less_and_nothing_wrong(stand_in: StandIn, journals: Path) -> None:
    with Host(stand_in, journals, release=FUTURE) as host:
        said = host.tell(*BUFFERS, *an_add(), "enqueue 1")
        journal_names = [path.name for path in journals.iterdir()]
        told = host.look_if_any()

    assert said == "launched"
    assert told is None or (told.alive, told.findings) == ([], {}), journal_names


def test_a_runtime_without_names_is_left_alone(stand_in: StandIn, journals: Path) -> None:
    with Host(stand_in, journals, release=NAMELESS) as host:
        said = host.tell(*BUFFERS, *an_add(), "enqueue 1")

    assert said == "launched"
    assert list(journals.iterdir()) == []


def test_nothing_is_written_where_tracking_is_off(stand_in: StandIn, journals: Path) -> None:
    with Host(stand_in, journals, TTMEM="0") as host:
        said = host.tell(*BUFFERS, *an_add(), "enqueue 1")

    assert said == "launched"
    assert list(journals.iterdir()) == []


def test_old_and_new_releases_in_one_process_are_asked_in_their_own_way(stand_in: StandIn, journals: Path) -> None:
    with Host(stand_in, journals) as host:
        host.tell("open 1 1 0", "buffer 2 1 DRAM 8192 2048")
        host.load("old", OLD)
        host.tell("open 3 1 1", "buffer 2 3 L1 8192 2048")
        host.tell("use first", "buffer 4 1 L1 8192 2048")
        look = host.look()

    assert {(told.pool, told.chips) for told in look.buffers} == {
        (Pool.DRAM, (CHIP,)),
        (Pool.L1, (CHIP,)),
        (Pool.L1, (CHIP + 1,)),
    }
    assert look.of(Kind.BUFFER) == look.alive
