"""Whatever a program does with the runtime, in whatever order: what is told at the end is what is there."""

from pathlib import Path
from random import Random

import pytest

from tests.support.stand_in.build import CURRENT, OLD, StandIn
from tests.support.stand_in.host import Host, unequal
from tests.support.stand_in.random_stories import KERNELS_EACH, PARTS_EACH, Story


def tell_and_judge(host: Host, seed: int, steps: int, *, has_numbers: bool = True) -> None:
    story, addresses = Story(Random(seed)), {}
    for order in story.orders(steps):
        answer = host.tell(order)
        if order.startswith("buffer") and answer.isdecimal():
            addresses[int(order.split()[1])] = int(answer)
    look = host.look()

    expected = {(addresses[number], pool, story.chips_of(mesh)) for number, (mesh, pool) in story.buffers.items()}
    assert {(told.address, told.pool, told.chips) for told in look.buffers} == expected, seed
    assert len(look.buffers) == len(story.buffers), seed
    if has_numbers:
        assert {told.id for told in look.buffers} == set(story.buffers), seed
    assert look.findings == {}, seed
    programs = {number: (mesh, launches) for number, (mesh, launches) in story.programs.items()}
    assert {told.program for told in look.kernels} == set(programs), seed
    assert (len(look.kernels), len(look.circular)) == (KERNELS_EACH * len(programs), PARTS_EACH * len(programs)), seed
    for program, (mesh, launches) in programs.items():
        for chip in story.chips_of(mesh):
            assert look.programs(chip)[program][1] == launches, (seed, program)
    assert unequal(host.tell("tallies")) == []


@pytest.mark.parametrize("seed", range(4))
def test_what_is_shown_is_what_is_there(seed: int, host: Host) -> None:
    tell_and_judge(host, seed, 80)


def test_what_an_old_release_shows_is_there_too(stand_in: StandIn, journals: Path) -> None:
    with Host(stand_in, journals, release=OLD) as host:
        tell_and_judge(host, 1, 120, has_numbers=False)


@pytest.mark.slow
@pytest.mark.parametrize("release", [CURRENT, OLD])
def test_what_is_reported_long_stories_is_what_is_there(release: str, stand_in: StandIn, journals: Path) -> None:
    for seed in range(100, 110):
        with Host(stand_in, journals, release=release) as host:
            tell_and_judge(host, seed, 150, has_numbers=release != OLD)
