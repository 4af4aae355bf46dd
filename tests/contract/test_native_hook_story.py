"""The native tests of the hook tell the same stories as the Python ones, written out: sanitizers watch them there."""

from pathlib import Path

import pytest

from tests.support.stand_in.stories import CROWD, EVERYTHING

STORIES = Path(__file__).parents[2] / "native" / "tests" / "hook"


@pytest.mark.parametrize(("name", "story"), [("everything", EVERYTHING), ("crowd", CROWD)])
def test_sanitizers_hear_the_same_story(name: str, story: tuple[str, ...]) -> None:
    assert (STORIES / f"{name}.txt").read_text(encoding="utf-8").splitlines() == [*story, "tallies", "exit"]
