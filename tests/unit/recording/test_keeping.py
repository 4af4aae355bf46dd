"""Segments that are full are packed beside the recorder, which never waits for that."""

import threading
from pathlib import Path

import pytest

from ttmem._native import Ledger
from ttmem.recording import Meta, Recording, RecordingWriter
from ttmem.recording.keeping import Keeper


def test_the_recorder_goes_on_while_a_segment_is_being_packed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    has_begun, may_end = threading.Event(), threading.Event()

    def slowly(path: Path) -> None:
        has_begun.set()
        assert may_end.wait(60)

    monkeypatch.setattr("ttmem.recording.keeping.seal", slowly)
    writer = RecordingWriter(tmp_path / "run.ttmem", Ledger(), meta=Meta())
    monkeypatch.setattr(RecordingWriter, "_segment_bytes", 0)
    for _ in range(4):  # each begins a segment
        writer.flush()
    assert has_begun.wait(60)
    segment_count = len(Recording(tmp_path / "run.ttmem").segments)
    may_end.set()
    writer.close()

    assert segment_count == 5


def test_the_oldest_go_by_the_time_at_which_the_next_began(tmp_path: Path) -> None:
    for number in range(1, 7):
        (tmp_path / f"{number:06}.blocks").write_bytes(b"")
    keeper = Keeper(tmp_path, last_seconds=15.0, max_bytes=None)
    for number in range(1, 6):
        keeper.add(number, now=number * 10.0)
    keeper.wait()
    keeper.close()

    assert sorted(int(path.name[:6]) for path in tmp_path.iterdir()) == [4, 5, 6]
