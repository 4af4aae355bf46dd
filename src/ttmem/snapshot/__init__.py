"""What is known at one instant: frozen figures that every face shows and nobody changes."""

from ttmem.snapshot.activity import Activity, CacheUsage, CoreUsage, Footprint, RingUsage
from ttmem.snapshot.counters import ReadChip, Readings, ReadProcess
from ttmem.snapshot.refusals import Clash, OutOfMemory
from ttmem.snapshot.rows import Surroundings, snapshot_from_rows
from ttmem.snapshot.selection import Selection, selected
from ttmem.snapshot.sights.chips import place_of
from ttmem.snapshot.usage import (
    DeviceUsage,
    Finding,
    Foreign,
    Host,
    KindUsage,
    Mesh,
    OpenPhase,
    Origin,
    PhasePeak,
    PoolUsage,
    ProcessDevice,
    ProcessUsage,
    Program,
    Snapshot,
)

__all__ = [
    "Activity",
    "CacheUsage",
    "Clash",
    "CoreUsage",
    "DeviceUsage",
    "Finding",
    "Footprint",
    "Foreign",
    "Host",
    "KindUsage",
    "Mesh",
    "OpenPhase",
    "Origin",
    "OutOfMemory",
    "PhasePeak",
    "PoolUsage",
    "ProcessDevice",
    "ProcessUsage",
    "Program",
    "ReadChip",
    "ReadProcess",
    "Readings",
    "RingUsage",
    "Selection",
    "Snapshot",
    "Surroundings",
    "place_of",
    "selected",
    "snapshot_from_rows",
]
