"""The native test of the hook tells the same story as the Python ones, written out: sanitizers watch it there."""

from pathlib import Path

from tests.support.stand_in.stories import EVERYTHING

STORY = Path(__file__).parents[2] / "native" / "tests" / "hook" / "everything.txt"


def test_sanitizers_hear_the_story_that_does_everything() -> None:
    assert STORY.read_text(encoding="utf-8").splitlines() == [*EVERYTHING, "tallies", "exit"]
