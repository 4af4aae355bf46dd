"""The thread that reads rings for a recording: first where it may be, and no less a recorder where it may not."""

import os
import threading
from pathlib import Path

import pytest

from tests.support.timing.waiting import wait_until
from ttmem.cli.tracked_run.recording_run import LiveRecording
from ttmem.collector import Collector
from ttmem.recording import Recording
from ttmem.sources import Places


def test_only_the_thread_that_reads_rings_comes_before_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, int, int]] = []

    def refused(*words: int) -> None:
        asked.append((words[0], words[1], words[2]))
        raise PermissionError

    monkeypatch.setattr("os.setpriority", refused)
    collector = Collector(Places(uid=os.geteuid(), directory=str(tmp_path)))
    recording = LiveRecording(tmp_path / "run.ttmem", collector)
    wait_until(lambda: bool(asked))
    [reader] = [thread for thread in threading.enumerate() if thread.name == "ttmem-recording"]
    recording.close()

    assert asked == [(os.PRIO_PROCESS, reader.native_id, -15)]
    assert reader.native_id != os.getpid()
    assert not Recording(tmp_path / "run.ttmem").troubles
