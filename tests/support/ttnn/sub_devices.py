"""Sub-devices with L1 of their own; made-up chips have them with a library preloaded: `native/sub_devices.cpp`."""

import subprocess
from pathlib import Path
from typing import Any

from ttmem.metal import CoreRanges

SOURCE = Path(__file__).parents[1] / "native" / "sub_devices.cpp"
KIB = 1024
HALVES = ("0,0-3,3", "4,0-7,3")  # two sub-devices of 16 cores
LOCAL_BYTES = 256 * KIB
Request = dict[str, Any]


def compiled(directory: Path) -> str:
    """The library to preload."""
    library = directory / "sub_devices.so"
    if not library.exists():
        subprocess.run(["c++", "-O1", "-shared", "-fPIC", "-o", str(library), str(SOURCE), "-ldl"], check=True)
    return str(library)


def corners(cores: str) -> list[int]:
    """Of one rectangle."""
    first, _, last = cores.partition("-")
    return [int(number) for number in (*first.split(","), *(last or first).split(","))]


def loaded(*cores: str, local_bytes: int = LOCAL_BYTES) -> Request:
    """Loads these; without any, the end of all."""
    return {"do": "sub_devices", "cores": [corners(one) for one in cores], "l1": local_bytes}


def on(cores: str, identity: int, core_bytes: int, sub_device: int | None = None) -> Request:
    """A tensor with a shard of so many bytes on each of these cores."""
    count = CoreRanges.parse(cores).core_count
    place = {"ranges": [corners(cores)], "shard": [1, core_bytes], "shape": [count, core_bytes]}
    kind = {"op": "alloc", "type": "L1", "dtype": "uint8", "is_tiled": False, "layout": "HEIGHT_SHARDED"}
    asked = {} if sub_device is None else {"sub_device": sub_device}
    return {**kind, **place, **asked, "id": identity, "allocation": "LOCKSTEP"}
