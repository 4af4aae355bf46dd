"""From the 64 bytes of a record to an event and back; one reader and one writer serve all event classes."""

import struct
from collections.abc import Iterator
from operator import index
from typing import Any

from ttmem.devices import BinaryStatus, BufferLayout, Kind, Pool, Word
from ttmem.errors import RecordDamaged
from ttmem.events.bits import HEAD, KIND, RECORD_BYTES, TYPE
from ttmem.events.records import (
    BY_CORE,
    AllocationFreed,
    AllocationMade,
    BinaryStatusChanged,
    BinaryStored,
    BufferAllocated,
    BuffersClashed,
    CacheAnswered,
    CircularBufferAllocated,
    CoreBufferAllocated,
    Event,
    IncidentKept,
    KernelLoaded,
    LabelChanged,
    MemoryExhausted,
    PhaseBegan,
    PhaseEnded,
    PhasePeaked,
    ProgramLaunched,
    ProgramNamed,
    RingMoved,
    SiteChanged,
    TargetClosed,
    TargetOpened,
    TraceCaptured,
    TraceReleased,
    TraceReplayed,
    UnknownRecorded,
)
from ttmem.tracking import CoreType, FoundBy, Stall

_LAYOUT = struct.Struct("<8Q")
_BY_TYPE: dict[int, type[Event]] = {
    event.TYPE: event
    for event in (
        AllocationFreed,
        BinaryStatusChanged,
        ProgramLaunched,
        TargetOpened,
        TargetClosed,
        PhaseBegan,
        PhasePeaked,
        PhaseEnded,
        LabelChanged,
        MemoryExhausted,
        RingMoved,
        CacheAnswered,
        BuffersClashed,
        IncidentKept,
        TraceCaptured,
        TraceReplayed,
        TraceReleased,
        ProgramNamed,
        SiteChanged,
    )
}
_ALLOCATED_BY_KIND: dict[int, type[Event]] = {
    Kind.BUFFER.number: BufferAllocated,
    Kind.TRACE_BUFFER.number: BufferAllocated,
    Kind.CIRCULAR_BUFFER.number: CircularBufferAllocated,
    Kind.DATAFLOW_BUFFER.number: CircularBufferAllocated,
    Kind.SCRATCHPAD.number: CircularBufferAllocated,
    Kind.PROGRAM_BINARY.number: BinaryStored,
    **{kind.number: KernelLoaded for kind in Kind if kind.is_kernel},
}
_WORDS_OF: dict[str, type[Word]] = {
    "kind": Kind,
    "pool": Pool,
    "status": BinaryStatus,
    "layout": BufferLayout,
    "core_type": CoreType,
    "found_by": FoundBy,
    "stall": Stall,
}


def decode_record(record: bytes) -> Event:
    """The event that 64 bytes of a journal stand for."""
    if len(record) != RECORD_BYTES:
        raise RecordDamaged(f"a record has {RECORD_BYTES} bytes, this one has {len(record)}")
    words = _LAYOUT.unpack(record)
    number = TYPE.read(words)
    event = _allocated(words) if number == 1 else _BY_TYPE.get(number)
    values: dict[str, Any] = {name: bits.read(words) for name, bits in HEAD.items()}
    if event is None:
        return UnknownRecorded(type=number, record=record, **_named(values))
    values.update((name, bits.read(words)) for name, bits in event.BITS.items())
    return event(**_named(values))


def _allocated(words: tuple[int, ...]) -> type[Event]:
    event = _ALLOCATED_BY_KIND.get(kind := KIND.read(words), AllocationMade)
    return CoreBufferAllocated if kind == Kind.BUFFER.number and BY_CORE.read(words) else event


def decode_records(records: bytes) -> Iterator[Event]:
    """The events of many records that lie one after the other."""
    for start in range(0, len(records), RECORD_BYTES):
        yield decode_record(records[start : start + RECORD_BYTES])


def encode_record(event: Event) -> bytes:
    """The 64 bytes that `decode_record` turns into this event."""
    if isinstance(event, UnknownRecorded):
        return event.record
    words = [0] * 8
    TYPE.write(words, event.TYPE)
    for name, bits in {**HEAD, **event.BITS}.items():
        bits.write(words, index(getattr(event, name)))
    if isinstance(event, CoreBufferAllocated):
        BY_CORE.write(words, 1)
    return _LAYOUT.pack(*words)


def _named(values: dict[str, Any]) -> dict[str, Any]:
    return {name: _WORDS_OF[name].numbered(value) if name in _WORDS_OF else value for name, value in values.items()}
