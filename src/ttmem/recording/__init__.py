"""Recordings: what happened to device memory, in a directory of segments that the native core writes and reads."""

from ttmem.recording.meta import Meta
from ttmem.recording.reader import CorePeak, Peak, RecordedBlock, Recording, Segment
from ttmem.recording.writer import RecordingWriter

__all__ = ["CorePeak", "Meta", "Peak", "RecordedBlock", "Recording", "RecordingWriter", "Segment"]
