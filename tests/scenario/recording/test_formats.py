"""A recording of every format that was released is read, or refused in one sentence that names its version."""

import json
from pathlib import Path

import pytest

from tests.support.recorded.sample import SAMPLES
from ttmem.collector.recorded import Moment
from ttmem.errors import RecordingDamaged
from ttmem.recording import Recording
from ttmem.recording.meta import FORMAT


def opened(path: Path) -> Recording | str:
    """The recording, or why it is refused."""
    try:
        return Recording(path)
    except RecordingDamaged as refused:
        return str(refused)


@pytest.mark.parametrize("number", range(1, FORMAT + 1))
def test_a_recording_of_a_released_format_is_read_or_refused(number: int) -> None:
    path = SAMPLES / f"format-{number}"
    expected = json.loads((path / "expected.json").read_text())
    recording = opened(path)
    if isinstance(recording, str):
        assert number < FORMAT, recording
        assert f"version {number} of the format" in recording
        return

    assert recording.troubles == []
    assert recording.row_count == expected["rows"]
    assert sorted([peak.chip, peak.pool, peak.size_bytes] for peak in recording.peaks()) == sorted(expected["peaks"])
    [usage] = Moment(recording).snapshot.devices
    assert sum(pool.used_bytes or 0 for pool in usage.pools) == expected["held_bytes"]


def test_a_later_format_is_refused_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "meta.json").write_text(json.dumps({"format": FORMAT + 1}))

    with pytest.raises(RecordingDamaged, match=f"version {FORMAT + 1} of the format.*reads version {FORMAT}"):
        Recording(tmp_path)
