"""What is known at one instant: frozen figures that every face shows and nobody changes."""

from ttmem.snapshot.document import SCHEMA, document
from ttmem.snapshot.rows import Surroundings, snapshot_from_rows
from ttmem.snapshot.selection import Selection, selected
from ttmem.snapshot.usage import (
    DeviceUsage,
    Finding,
    Foreign,
    Host,
    KindUsage,
    Mesh,
    Origin,
    OutOfMemory,
    PhasePeak,
    PoolUsage,
    ProcessDevice,
    ProcessUsage,
    Program,
    Snapshot,
)

__all__ = [
    "SCHEMA",
    "DeviceUsage",
    "Finding",
    "Foreign",
    "Host",
    "KindUsage",
    "Mesh",
    "Origin",
    "OutOfMemory",
    "PhasePeak",
    "PoolUsage",
    "ProcessDevice",
    "ProcessUsage",
    "Program",
    "Selection",
    "Snapshot",
    "Surroundings",
    "document",
    "selected",
    "snapshot_from_rows",
]
