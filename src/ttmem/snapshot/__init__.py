"""What is known at one instant: frozen figures that every face shows and nothing changes."""

from ttmem.snapshot.activity import Activity, CacheUsage, CoreUsage, Footprint, RingUsage
from ttmem.snapshot.counters import ReadChip, Readings, ReadProcess
from ttmem.snapshot.host import Finding, Foreign, Host
from ttmem.snapshot.programs import Clash, Mesh, OpenPhase, OutOfMemory, PhasePeak, Program
from ttmem.snapshot.selection import Selection, selected
from ttmem.snapshot.usage import DeviceUsage, KindUsage, Origin, PoolUsage, ProcessDevice, ProcessUsage, Snapshot
from ttmem.snapshot.values import ChipId, ChipName, Device, Hex, TimeNs, place_of, replace

__all__ = [
    "Activity",
    "CacheUsage",
    "ChipId",
    "ChipName",
    "Clash",
    "CoreUsage",
    "Device",
    "DeviceUsage",
    "Finding",
    "Footprint",
    "Foreign",
    "Hex",
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
    "TimeNs",
    "place_of",
    "replace",
    "selected",
]
