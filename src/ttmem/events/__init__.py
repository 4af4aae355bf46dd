"""What reporting processes say: the records of a journal as frozen events, and the bytes of its shared structs."""

from ttmem.events.codec import decode_record, decode_records, encode_record
from ttmem.events.layout import STRUCTS, Field, Struct
from ttmem.events.records import (
    AllocationFreed,
    AllocationMade,
    BinaryStatusChanged,
    BinaryStored,
    BufferAllocated,
    CircularBufferAllocated,
    Event,
    KernelLoaded,
    LabelChanged,
    MemoryExhausted,
    PhaseBegan,
    PhaseEnded,
    PhasePeaked,
    ProgramLaunched,
    TargetClosed,
    TargetOpened,
    UnknownRecorded,
)

__all__ = [
    "STRUCTS",
    "AllocationFreed",
    "AllocationMade",
    "BinaryStatusChanged",
    "BinaryStored",
    "BufferAllocated",
    "CircularBufferAllocated",
    "Event",
    "Field",
    "KernelLoaded",
    "LabelChanged",
    "MemoryExhausted",
    "PhaseBegan",
    "PhaseEnded",
    "PhasePeaked",
    "ProgramLaunched",
    "Struct",
    "TargetClosed",
    "TargetOpened",
    "UnknownRecorded",
    "decode_record",
    "decode_records",
    "encode_record",
]
