"""A replay's clock: a moment between the ends of a recording, which moves by itself only while it plays."""

import pytest

from ttmem.figures.replay_clock import ReplayClock, ReplayMark

SECOND = 1_000_000_000
FIRST, LAST = 100 * SECOND, 160 * SECOND


class Hand:
    """Time that passes when the test says so."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def hand() -> Hand:
    return Hand()


@pytest.fixture
def clock(hand: Hand) -> ReplayClock:
    return ReplayClock(FIRST, LAST, clock=hand)


def at(clock: ReplayClock) -> float:
    """Seconds since the beginning."""
    return (clock.take() - FIRST) / SECOND


def test_it_stands_until_it_plays_and_then_goes_as_fast_as_it_should(clock: ReplayClock, hand: Hand) -> None:
    hand.seconds += 5
    standing = at(clock)
    clock.toggle()
    hand.seconds += 2
    playing = at(clock)
    clock.change_speed(1)
    hand.seconds += 2
    faster = at(clock)
    clock.toggle()
    hand.seconds += 9

    assert (standing, playing, faster, at(clock)) == (0, 2, 6, 6)


def test_steps_end_at_the_ends(clock: ReplayClock) -> None:
    clock.step(10)
    ten = at(clock)
    clock.step(-1)
    nine = at(clock)
    clock.step(-10)
    begun = at(clock)
    clock.step(100)

    assert (ten, nine, begun, at(clock)) == (10, 9, 0, 60)


def test_it_stops_at_the_end_and_plays_again_from_the_beginning(clock: ReplayClock, hand: Hand) -> None:
    clock.step(59)
    clock.toggle()
    hand.seconds += 3
    found = [(at(clock), clock.is_playing)]
    clock.toggle()
    found.append((at(clock), clock.is_playing))

    assert found == [(60, False), (0, True)]


def test_the_end_is_shown_also_if_it_was_reached_between_two_looks(clock: ReplayClock, hand: Hand) -> None:
    clock.step(59)
    clock.toggle()
    clock.take()
    hand.seconds += 3
    due = clock.is_playing

    assert (due, at(clock), clock.is_playing) == (True, 60, False)


def test_marks_are_gone_through_one_by_one_and_none_is_met_twice(clock: ReplayClock) -> None:
    marks = [ReplayMark(FIRST + at_s * SECOND, "phase", str(at_s)) for at_s in (10, 30)]
    clock.grow(LAST, [ReplayMark(FIRST + 20 * SECOND, "incident", "7-1"), *marks], has_grown=False)

    found = [mark.text if (mark := clock.jump(step)) else None for step in (1, 1, 1, 1, -1, -1, -1)]

    assert found == ["10", "7-1", "30", None, "7-1", "10", None]
    assert at(clock) == 10
    shown = clock.shown().mark
    assert shown is not None
    assert shown.text == "10"


def test_who_stands_at_the_end_of_one_that_goes_on_follows_it_until_a_step(clock: ReplayClock) -> None:
    clock.grow(LAST + SECOND, (), has_grown=True)
    stood = at(clock)
    clock.end()
    clock.grow(LAST + 3 * SECOND, (), has_grown=True)
    followed = at(clock)
    clock.step(-1)
    clock.grow(LAST + 9 * SECOND, (), has_grown=True)

    assert (stood, followed) == (0, 63)
    assert at(clock) == 62


def test_it_never_goes_faster_than_the_fastest_or_slower_than_the_slowest(clock: ReplayClock) -> None:
    fastest = [clock.change_speed(1) for _ in range(20)][-2:]
    slowest = [clock.change_speed(-1) for _ in range(30)][-2:]

    assert fastest == [128, 128]
    assert slowest == [0.1, 0.1]
