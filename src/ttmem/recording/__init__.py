"""Recordings: what happened to device memory, in a directory of segments that the native core writes and reads."""

from ttmem.recording.lives import (
    Batch,
    Ending,
    EventKind,
    Life,
    LifeEvent,
    LifeFlag,
    LifeProcess,
    Lives,
    PhaseRun,
    WantedLives,
)
from ttmem.recording.meta import Meta
from ttmem.recording.peaks import CorePeak, Peak
from ttmem.recording.reader import Recording
from ttmem.recording.segments import RecordedBlock, Segment
from ttmem.recording.writer import RecordingWriter, remove_recording

__all__ = [
    "Batch",
    "CorePeak",
    "Ending",
    "EventKind",
    "Life",
    "LifeEvent",
    "LifeFlag",
    "LifeProcess",
    "Lives",
    "Meta",
    "Peak",
    "PhaseRun",
    "RecordedBlock",
    "Recording",
    "RecordingWriter",
    "Segment",
    "WantedLives",
    "remove_recording",
]
