"""Random stories of the runtime model: what was alive, what is still held and how high each pool was, by the recording
alone, is what the model's own arithmetic says."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.recorded.stories import Story
from tests.support.recorded.tellers import Tellers, tellers

# The first ten; a peak that a block begins with (85, 142), and one that the end of a gap brings (103).
QUICK = (*range(10), 85, 103, 142)
ALL = 200


@pytest.fixture(scope="module")
def starter() -> Iterator[Tellers]:
    with tellers() as one:
        yield one


def play(number: int, journals: Path, starter: Tellers) -> None:
    story = Story(number, journals, starter)
    try:
        story.tell()
    finally:
        story.end()
    story.compare()


@pytest.mark.parametrize("number", QUICK)
def test_a_recording_tells_a_story_as_it_was(journals: Path, starter: Tellers, number: int) -> None:
    play(number, journals, starter)


@pytest.mark.slow
@pytest.mark.parametrize("number", [number for number in range(ALL) if number not in QUICK])
def test_a_recording_tells_many_stories_as_they_were(journals: Path, starter: Tellers, number: int) -> None:
    play(number, journals, starter)
