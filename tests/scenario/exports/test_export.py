"""`ttmem export`: what a trace or a table says is what was, and files are whole or not there."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pytest

from tests.support.traces.decoded import Decoded, decoded
from ttmem.cli.common.progress import reading
from ttmem.cli.program import run_program
from ttmem.devices import Pool
from ttmem.export.perfetto import lanes, write_perfetto
from ttmem.recording import Ending, Lives, Recording
from ttmem.recording.timeline import Timeline, TimelineSpan

ROOT = Path(__file__).parents[3]
COUNTERS = {"dram": "DRAM", "l1": "L1", "l1_small": "L1_SMALL", "trace": "trace"}


class Played(NamedTuple):
    """A recorded workload, and what the model had meanwhile."""

    path: Path
    moments: list[dict[str, Any]]
    launch_count: int


def played(directory: Path, name: str, stride: int, rounds: int, **environment: str) -> Played:
    environ = {**os.environ, "TTMEM": "1", "TTMEM_DIR": str(directory), **environment}
    command = [sys.executable, "-m", "tests.support.traces.recorded_story", name, str(stride), str(rounds)]
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
    assert len(Recording(resnet.path).segments) == 2
    assert_counters_are_the_models(trace, resnet)


@pytest.mark.slow
@pytest.mark.parametrize("ring", [{}, {"TTMEM_RING": "16"}], ids=["followed", "lapped"])
@pytest.mark.parametrize("name", ["llama-8b", "leaky", "cb-clash", "cache-growth", "unsafe-trace"])
def test_every_workload_is_exported_as_it_was(journals: Path, tmp_path: Path, name: str, ring: dict[str, str]) -> None:
    stride = 300 if name in ("llama-8b", "leaky") else 2
    story = played(journals, name, stride, 2, **ring)

    assert len(story.moments) > 5
    assert_counters_are_the_models(trace_of(story.path), story)


def test_a_trace_has_every_launch_and_phase(resnet: Played) -> None:
    trace = trace_of(resnet.path)

    assert len(trace.instants) == resnet.launch_count > 0
    assert {name for name, _, _ in trace.instants} != {"a program"}
    assert [name for name, _, _ in trace.slices] == [f"part {number}" for number in range(len(resnet.moments) - 2)]
    moments = [one["at_ns"] for one in resnet.moments]
    for number, (_, began, ended) in enumerate(trace.slices):
        assert any(began <= at_ns <= ended for at_ns in moments[number : number + 2])


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
    assert [name for name, _, _ in trace.slices] == ["part 2", "part 3", "part 4"]


def test_how_far_it_is_counts_every_event_of_every_way_through(resnet: Played) -> None:
    recording = Recording(resnet.path)
    with reading(recording) as progress:
        for times in (1, 2):
            list(Lives(recording).batches())
            assert progress.done == progress.total == times * recording.row_count
        Timeline(recording)
        assert progress.done == progress.total == 3 * recording.row_count


def spans(*times: tuple[int, int]) -> list[TimelineSpan]:
    return [TimelineSpan(0, "", began, ended) for began, ended in times]


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
        (["{run}", "--to", "perfetto", "-o", "{directory}/no/file"], 1, "No such file or directory"),
        (["{run}", "--to", "graph", "-o", "{new}"], 2, "'graph' is not one of"),
        (["{run}", "--to", "perfetto", "-o", "{new}", "--from", "+99s"], 2, "outside of the recording"),
        (["{run}", "--to", "perfetto", "-o", "{new}", "--from", "+0.01s", "--until", "+0s"], 2, "+0s is before +0.01s"),
        (["{run}", "--to", "perfetto", "-o", "{new}", "--until", "noon"], 2, "'noon' is no moment"),
        (["{directory}", "--to", "perfetto", "-o", "{new}"], 2, "not a recording"),
        (["{run}", "--to", "speedscope", "-o", "{new}", "--until", "+0s"], 1, "no pool of any chip held anything then"),
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


def rows_of(path: Path, form: str, directory: Path, *window: str) -> list[dict[str, str]]:
    """The rows of an export, as texts; "" for nothing."""
    file = directory / f"it's a table.{form}"
    assert exported(path, "--to", form, "-o", file, *window) == 0
    if form == "csv":
        with file.open(newline="", encoding="utf-8") as lines:
            return list(csv.DictReader(lines))
    found = duckdb.connect().execute("SELECT * FROM read_parquet($1)", [str(file)])
    names = [column[0] for column in found.description]
    return [dict(zip(names, ("" if one is None else str(one) for one in row), strict=True)) for row in found.fetchall()]


def used_at(rows: list[dict[str, str]], at_ns: int) -> dict[str, dict[str, int]]:
    """By these rows alone: what every pool of every chip held."""
    used: dict[str, dict[str, int]] = {}
    for row in rows:
        if int(row["begin_ns"]) > at_ns or (row["end_ns"] and int(row["end_ns"]) <= at_ns):
            continue
        for chip in row["chips"].split():
            pools = used.setdefault(str(int(chip, 16)), {})
            pools[row["pool"]] = pools.get(row["pool"], 0) + int(row["bytes"])
    return used


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_rows_add_up_to_what_the_model_had_at_each_moment(resnet: Played, tmp_path: Path, form: str) -> None:
    rows = rows_of(resnet.path, form, tmp_path)

    for moment in resnet.moments:
        told = used_at(rows, moment["at_ns"])
        for chip, used in moment["used"].items():
            held = {pool: size for pool, size in told.get(chip, {}).items() if size and pool in COUNTERS}
            assert held == {pool: size for pool, size in used.items() if pool in COUNTERS}
    assert [path.name for path in tmp_path.iterdir()] == [f"it's a table.{form}"]


def test_parquet_csv_and_the_reader_have_the_same_lives(resnet: Played, tmp_path: Path) -> None:
    recording = Recording(resnet.path)
    lives = list(Lives(recording).rows())
    rows, parquet = (rows_of(resnet.path, form, tmp_path) for form in ("csv", "parquet"))

    def in_order(row: dict[str, str]) -> tuple[int, int]:
        return int(row["process"]), int(row["begin_sequence"])

    assert sorted(rows, key=in_order) == sorted(parquet, key=in_order)
    assert len(rows) == len(lives) > 500
    for row, life in zip(rows, lives, strict=True):
        numbers = (life.id, life.address, life.bytes, life.begin_ns, life.begin_sequence, life.end_launch)
        assert tuple(
            int(row[name]) for name in ("id", "address", "bytes", "begin_ns", "begin_sequence", "end_launch")
        ) == (numbers)
        words = (life.kind.word, life.pool.word, life.ending.name.lower(), life.operation, life.tensor)
        assert tuple(row[name] for name in ("kind", "pool", "ending", "operation", "tensor")) == words
        assert row["end_ns"] == ("" if life.ending is Ending.ALIVE else str(life.end_ns))
        assert row["program"] == ("" if life.program is None else str(life.program))
        assert abs(int(row["begin_unix_ns"]) - recording.wall_ns(life.begin_ns)) < 1_000_000


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_rows_of_a_time_are_those_that_were_alive_in_it(resnet: Played, tmp_path: Path, form: str) -> None:
    from_ns, until_ns = (resnet.moments[place]["at_ns"] for place in (2, 5))
    first_ns = Recording(resnet.path).first_ns
    window = [
        word for name, at in (("--from", from_ns), ("--until", until_ns)) for word in (name, _since(at, first_ns))
    ]
    rows = rows_of(resnet.path, form, tmp_path, *window)

    assert used_at(rows, from_ns) != used_at(rows, until_ns)
    for moment in resnet.moments[2:6]:
        told = {
            chip: {pool: size for pool, size in held.items() if pool in COUNTERS and size}
            for chip, held in used_at(rows, moment["at_ns"]).items()
        }
        assert told == {
            chip: {pool: size for pool, size in used.items() if pool in COUNTERS}
            for chip, used in moment["used"].items()
        }
    assert max(int(row["begin_ns"]) for row in rows) <= until_ns
    assert {row["ending"] for row in rows if not row["end_ns"]} == {"alive"}


def _since(at_ns: int, first_ns: int) -> str:
    return f"+{(at_ns - first_ns) / 1e9:.9f}s"


def test_without_duckdb_one_sentence_says_how_to_get_it(
    resnet: Played, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)

    assert exported(resnet.path, "--to", "parquet", "-o", tmp_path / "run.parquet") == 1

    wanted = "Parquet is written by DuckDB, which is not installed here: pip install 'ttmem[analysis]'"
    assert capsys.readouterr().err == f"ttmem: {wanted}\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("is_a_part", [False, True])
def test_speedscope_has_what_was_alive_at_each_peak(resnet: Played, tmp_path: Path, is_a_part: bool) -> None:
    window = ["--from", "+0s"] if is_a_part else []
    assert exported(resnet.path, "--to", "speedscope", "-o", tmp_path / "run.json", *window) == 0

    document = json.loads((tmp_path / "run.json").read_text())
    assert document["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    assert all(frame["name"] for frame in document["shared"]["frames"])
    peaks = {peak.size_bytes for peak in Recording(resnet.path).peaks() if Pool.numbered(peak.pool).word in COUNTERS}
    assert {profile["endValue"] for profile in document["profiles"]} == peaks
    for profile in document["profiles"]:
        assert (profile["type"], profile["unit"], profile["startValue"]) == ("sampled", "bytes", 0)
        assert len(profile["samples"]) == len(profile["weights"]) > 0
        assert sum(profile["weights"]) == profile["endValue"]
        assert {place for stack in profile["samples"] for place in stack} <= {*range(len(document["shared"]["frames"]))}
