"""A figure has one name and one value on every face: all of them are asked at one instant, and compared."""

import json
import os
import subprocess
import sys
from collections import defaultdict
from itertools import combinations
from pathlib import Path

import pytest

from tests.support.faces.scraped import rows_of, text_of
from tests.support.one_number.faces import Saying, agree, private_environment, said_at_the_end, said_by_all
from ttmem.cli.demonstration.screenshots import Shot, Size, taken
from ttmem.figures.source import FigureSource

ROOT = Path(__file__).parents[2]
QUICK, SLOW = "leaky", ("llama-8b", "resnet-trace", "cb-clash", "cache-growth")
STEPS = {"leaky": 4000, "llama-8b": 4000, "resnet-trace": 700, "cb-clash": 60, "cache-growth": 200}
ALL = ("ps", "json", "csv", "metrics", "monitor")
SHOWN = {  # by the faces that have a table of chips
    **{f"dram.{what}": ALL for what in ("used", "total", "largest_free", "peak")},
    **{f"l1.{what}": ALL for what in ("used", "total", "largest_free")},
    "l1.free": ("json", "csv", "metrics"),
    "core.used": ALL,
    "core.total": ALL,
    "core.planned": ALL,
    "cb.planned": (*ALL, "dump", "dump text", "memory_summary"),
    "cb.resident": (*ALL, "dump", "dump text", "memory_summary"),
    "headroom": ALL,
}
WORDS = (
    *SHOWN,
    "dram.free",
    "l1.peak",
    "l1_small.used",
    "l1_small.total",
    "l1_small.peak",
    "trace.used",
    "trace.total",
)


def all_said(name: str, journals: Path) -> list[Saying]:
    """What every face says while the workload stands still, and at last what its summary says."""
    environ = private_environment(journals)
    player = [sys.executable, "-m", "tests.support.one_number.player", name, str(STEPS[name])]
    run = [sys.executable, "-m", "ttmem", "run", "--summary", "--no-hook", "--", *player]
    with subprocess.Popen(
        run, env=environ, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as playing:
        assert playing.stdin is not None
        assert playing.stdout is not None
        assert playing.stdout.readline() == "ready\n", playing.communicate()
        playing.stdin.write("\n")
        playing.stdin.flush()
        summary = json.loads(playing.stdout.readline())["text"]
        with FigureSource(environ, uid=os.geteuid(), has_daemon=False, is_following=True) as looking:
            picture = taken(Shot("all_figures", Size(200, 60)), looking, environ, banner="")
            page = text_of(rows_of(looking.overview()))
        said = said_by_all(environ, summary, picture, page)
        _, ending = playing.communicate()
    return [*said, *said_at_the_end(ending)]


class Told:
    """Everything that was said about each workload, asked for once."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._said: dict[str, list[Saying]] = {}

    def of(self, workload: str) -> list[Saying]:
        if workload not in self._said:
            place = self._directory / workload
            place.mkdir(mode=0o700)
            self._said[workload] = all_said(workload, place)
        return self._said[workload]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    return Told(tmp_path_factory.mktemp("faces"))


@pytest.mark.parametrize("word", WORDS)
def test_a_word_has_one_value_on_every_face(told: Told, word: str) -> None:
    assert differing(told.of(QUICK), word) == []


@pytest.mark.slow
@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("workload", SLOW)
def test_a_word_has_one_value_whatever_runs(told: Told, workload: str, word: str) -> None:
    assert differing(told.of(workload), word) == []


def differing(said: list[Saying], word: str) -> list[tuple[Saying, Saying]]:
    """Pairs that cannot be the same number."""
    by_chip: dict[int, list[Saying]] = defaultdict(list)
    for saying in said:
        if saying.word == word:
            by_chip[saying.chip].append(saying)
    pairs = [pair for sayings in by_chip.values() for pair in combinations(sayings, 2)]
    return [(one, other) for one, other in pairs if not agree(one.value, other.value)]


@pytest.mark.parametrize("word", SHOWN)
def test_a_word_is_on_every_face_that_has_room_for_it(told: Told, word: str) -> None:
    faces = {saying.face for saying in told.of(QUICK) if saying.word == word}

    assert set(SHOWN[word]) - faces == set()


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        (9527300352, "8.87 GiB", True),
        (9527300352, "9085 MiB", True),
        ("8.87 GiB", "9085 MiB", True),
        (9527300352, "8.89 GiB", False),
        (0, "0 KiB", True),
        (5242880, "9536 KiB", False),
        ("661 KiB", "0.65 MiB", True),
        (100, 101, False),
    ],
)
def test_numbers_are_compared_as_far_as_they_are_rounded(one: int | str, other: int | str, is_same: bool) -> None:
    assert agree(one, other) is is_same
