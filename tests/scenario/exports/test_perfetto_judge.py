"""Perfetto's own engine reads our traces: no error, the same counts and peaks. Slow, and only where there is one."""

from pathlib import Path

import pytest

from tests.scenario.exports.test_export import Played, played
from tests.support.traces.decoded import decoded
from tests.support.traces.perfetto_judge import Question, judged, missing_judge
from ttmem.export.perfetto import write_perfetto
from ttmem.recording import Recording

SECONDS = 300  # a browser is started, on a machine that much else may use
COUNTS = """SELECT (SELECT count(*) FROM counter) AS points, (SELECT count(*) FROM counter_track) AS counters,
    (SELECT count(*) FROM slice WHERE dur > 0) AS slices, (SELECT count(*) FROM slice WHERE dur = 0) AS instants"""
PEAKS = """SELECT t.name AS name, cast(max(c.value) AS int) AS peak, count(*) AS points FROM counter c
    JOIN counter_track t ON c.track_id = t.id GROUP BY t.id"""
ERRORS = "SELECT name, value FROM stats WHERE severity IN ('error', 'data_loss') AND value > 0"
QUESTIONS: list[Question] = [
    ("errors", ERRORS, [("name", True), ("value", False)]),
    ("counts", COUNTS, [(name, False) for name in ("points", "counters", "slices", "instants")]),
    ("peaks", PEAKS, [("name", True), ("peak", False), ("points", False)]),
    ("pids", "SELECT pid FROM process WHERE pid > 0", [("pid", False)]),
]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(missing_judge()), reason=f"PERFETTO HAS NOT JUDGED THE EXPORTS: {missing_judge()}"),
]


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Played:
    directory = tmp_path_factory.mktemp("journals")
    directory.chmod(0o700)
    return played(directory, "resnet-trace", 60, 2)


@pytest.mark.parametrize("points", [5_000_000, 400])
def test_perfetto_reads_what_we_have_written(recording: Played, tmp_path: Path, points: int) -> None:
    parts: list[bytes] = []
    counts = write_perfetto(Recording(recording.path), parts.append, points=points)
    trace = decoded(b"".join(parts))

    found = judged(b"".join(parts), QUESTIONS, tmp_path, seconds=SECONDS)

    assert found["errors"] == []
    [told] = found["counts"]
    assert told == [counts.point_count, counts.counter_count, counts.slice_count, counts.instant_count]
    peaks = [[name, max(value for _, value in one), len(one)] for name, one in trace.counters.items()]
    assert sorted(found["peaks"]) == sorted(peaks)
    assert len(found["pids"]) == 1
