"""`ttmem export`: what a trace says is what was, and files are whole or not there."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.support.traces.decoded import Decoded, decoded
from ttmem.cli.program import run_program
from ttmem.export.perfetto import write_perfetto
from ttmem.recording import Recording
from ttmem.recording.timeline import MOST_POINTS, Span

ROOT = Path(__file__).parents[3]
COUNTERS = {"dram": "DRAM", "l1": "L1", "l1_small": "L1_SMALL", "trace": "trace"}


class Played(NamedTuple):
    """A recorded workload, and what the model had meanwhile."""

    path: Path
    moments: list[dict[str, Any]]
    launch_count: int


def played(directory: Path, name: str, stride: int, rounds: int) -> Played:
    environ = {**os.environ, "TTMEM": "1", "TTMEM_DIR": str(directory)}
    command = [sys.executable, "-m", "tests.support.recorded.exported", name, str(stride), str(rounds)]
    done = subprocess.run(command, env=environ, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return Played(directory / "story.ttmem", **json.loads(done.stdout))


@pytest.fixture(scope="module")
def resnet(tmp_path_factory: pytest.TempPathFactory) -> Played:
    directory = tmp_path_factory.mktemp("journals")
    directory.chmod(0o700)
    return played(directory, "resnet-trace", 60, 2)


def trace_of(path: Path, **limits: Any) -> Decoded:
    parts: list[bytes] = []
    write_perfetto(Recording(path), parts.append, **limits)
    return decoded(b"".join(parts))


def assert_counters_are_the_models(trace: Decoded, story: Played) -> None:
    for moment in story.moments:
        for number, (chip, used) in enumerate(moment["used"].items()):
            told = {
                word: trace.value_at(f"{name} of chip {number}", moment["at_ns"]) for word, name in COUNTERS.items()
            }
            assert {word: size for word, size in told.items() if size} == {
                word: size for word, size in used.items() if word in COUNTERS
            }
            fullest = trace.value_at(f"fullest core of chip {number}", moment["at_ns"])
            assert fullest == moment["fullest"][chip]


def test_counters_of_a_trace_are_the_models_figures_at_each_moment(resnet: Played) -> None:
    trace = trace_of(resnet.path)

    assert len(resnet.moments) > 5
    assert_counters_are_the_models(trace, resnet)


def test_a_trace_has_every_launch_and_phase(resnet: Played) -> None:
    trace = trace_of(resnet.path)

    assert len(trace.instants) == resnet.launch_count > 0
    assert {name for name, _, _ in trace.instants} != {"a program"}
    assert [name for name, _, _ in trace.slices] == [f"part {number}" for number in range(len(resnet.moments) - 1)]
    for number, (_, began, ended) in enumerate(trace.slices):
        assert began <= resnet.moments[number]["at_ns"] <= ended


def test_peaks_are_kept_when_points_are_too_many(resnet: Played) -> None:
    whole, thinned = trace_of(resnet.path), trace_of(resnet.path, points=400)

    assert whole.point_count > 400 >= thinned.point_count + len(thinned.instants)
    for name, points in whole.counters.items():
        assert max(value for _, value in thinned.counters[name]) == max(value for _, value in points)
        assert min(value for _, value in thinned.counters[name]) == min(value for _, value in points)
        assert thinned.counters[name][-1][1] == points[-1][1]
    assert sum(notes.get("launches", 1) for _, _, notes in thinned.instants) == resnet.launch_count


def test_a_part_of_a_recording_begins_with_what_was_held_then(resnet: Played) -> None:
    from_ns, until_ns = (resnet.moments[place]["at_ns"] for place in (2, 5))
    trace = trace_of(resnet.path, from_ns=from_ns, until_ns=until_ns)

    assert_counters_are_the_models(trace, resnet._replace(moments=resnet.moments[2:6]))
    times = [time for points in trace.counters.values() for time, _ in points] + [time for _, time, _ in trace.instants]
    assert from_ns == min(times) < max(times) <= until_ns
    assert [name for name, _, _ in trace.slices] == ["part 2", "part 3", "part 4", "part 5"]


def test_a_segment_goes_on_where_the_one_before_it_ended(resnet: Played, tmp_path: Path) -> None:
    recording = Recording(resnet.path)
    recording.segments = [*recording.segments, *recording.segments]  # the same again: all returns to where it was
    parts: list[bytes] = []
    write_perfetto(recording, parts.append)
    twice, once = decoded(b"".join(parts)), trace_of(resnet.path)

    assert [name for name, _, _ in twice.slices] == [name for name, _, _ in once.slices]
    assert {name: max(points) for name, points in twice.counters.items()}.keys() == once.counters.keys()


def spans(*times: tuple[int, int]) -> list[Span]:
    return [Span(0, "", began, ended) for began, ended in times]


@pytest.mark.parametrize(
    ("given", "rows"),
    [
        ([(0, 9), (1, 5), (2, 3), (5, 9)], 1),
        ([(0, 5), (3, 9)], 2),
        ([(0, 5), (5, 9), (9, 9)], 1),
        ([(0, 5), (3, 9), (4, 12), (5, 8)], 3),
    ],
)
def test_phases_that_overlap_are_shown_beside_each_other(given: list[tuple[int, int]], rows: int) -> None:
    from ttmem.export.perfetto import lanes

    found = lanes(spans(*given))

    assert len(found) == rows
    assert sorted(span for row in found for span in row) == sorted(spans(*given))


def exported(*arguments: object) -> int:
    return run_program(["export", *map(str, arguments)])


def test_a_file_is_written_under_its_name_when_it_is_whole(
    resnet: Played, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "run.pftrace"

    assert exported(resnet.path, "--to", "perfetto", "-o", file) == 0

    trace = decoded(file.read_bytes())
    said = capsys.readouterr().err
    assert f"{trace.point_count:,} points of {len(trace.counters)} counters, {len(trace.slices)} slices" in said
    assert [path.name for path in tmp_path.iterdir()] == ["run.pftrace"]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["{run}", "--to", "perfetto", "-o", "{there}"], 2, "there.txt is there already; --force replaces it"),
        (["{run}", "--to", "perfetto", "-o", "{directory}"], 2, "is a directory; give a file to write into"),
        (["{run}", "--to", "perfetto", "-o", "{directory}/no/file"], 2, "No such file or directory"),
        (["{run}", "--to", "graph", "-o", "{new}"], 2, "'graph' is not one of"),
        (["{run}", "--to", "perfetto", "-o", "{new}", "--from", "+99s"], 2, "outside of the recording"),
        (["{run}", "--to", "perfetto", "-o", "{new}", "--from", "+0.01s", "--until", "+0s"], 2, "+0s is before +0.01s"),
        (["{run}", "--to", "perfetto", "-o", "{new}", "--until", "noon"], 2, "'noon' is no moment"),
        (["{directory}", "--to", "perfetto", "-o", "{new}"], 1, "not a recording"),
    ],
)
def test_what_is_asked_wrongly_is_answered_in_one_sentence(
    resnet: Played,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    code: int,
    said: str,
) -> None:
    there = tmp_path / "there.txt"
    there.write_text("mine")
    places = {"run": resnet.path, "there": there, "directory": tmp_path, "new": tmp_path / "new"}

    assert exported(*(one.format(**places) for one in arguments)) == code

    text = capsys.readouterr().err
    assert said in text
    assert text.count("\n") == 1
    assert there.read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir()] == ["there.txt"]


def test_a_file_that_may_be_replaced_is(resnet: Played, tmp_path: Path) -> None:
    file = tmp_path / "run.pftrace"
    file.write_text("older")

    assert exported(resnet.path, "--to", "perfetto", "-o", file, "--force") == 0
    assert decoded(file.read_bytes()).point_count > 0


def test_the_most_points_are_what_a_browser_takes() -> None:
    assert MOST_POINTS == 5_000_000
