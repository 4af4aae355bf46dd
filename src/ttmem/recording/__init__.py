"""Recordings: what happened to device memory, in a directory of segments that the native core writes and reads."""

from ttmem.recording.meta import Meta
from ttmem.recording.reader import Peak, RecordedBlock, Recording, Segment
from ttmem.recording.timeline import Timeline
from ttmem.recording.writer import RecordingWriter

__all__ = ["Meta", "Peak", "RecordedBlock", "Recording", "RecordingWriter", "Segment", "Timeline"]
