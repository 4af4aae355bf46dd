"""What a driver would say of simulated chips: files as it lays them out, below the demo's own directory, so that
telemetry, device files and PCI addresses are to be seen as well. As made up as the chips, and gone with them.

    sys/class/tenstorrent/tenstorrent!N/      tt_aiclk, tt_card_type, tt_asic_id, ...
        device/hwmon/hwmonN/                  name, temp1_input, temp1_max, temp1_label, ...
    proc/driver/tenstorrent/N/pids            who has it open
"""

import glob
import os
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

from ttmem.snapshot import Snapshot
from ttmem.snapshot.identity import TRAYS
from ttmem.snapshot.values import Device

__all__ = ["beat", "beating", "write_tree"]

_BEAT_SECONDS = 1.0

_TRAY_CHIPS = 8
_PAIRED_BOARDS = ("n300", "t3000")  # of two chips of a card one is on the bus, and known to the driver
# By architecture: label, what is read, and the limit, in parts of the unit as hwmon has them.
_SENSORS: Mapping[str, Mapping[str, tuple[str, int, int | None]]] = {
    "wormhole": {
        "temp1": ("asic1_temp", 47_500, 75_000),
        "in0": ("vcore1", 790, 950),
        "curr1": ("current1", 38_000, 160_000),
        "power1": ("power1", 30_000_000, 85_000_000),
    },
    "blackhole": {
        "temp1": ("asic_temp", 44_250, 85_000),
        "in0": ("vcore", 720, 900),
        "curr1": ("current", 52_000, 300_000),
        "power1": ("power", 38_000_000, 150_000_000),
        "fan1": ("fan_rpm", 1_870, None),
    },
}


def write_tree(root: str, snapshot: Snapshot) -> None:
    """The chips that are seen there, and who has them open."""
    on_bus = [usage.device for usage in snapshot.devices if _is_on_bus(usage.device)]
    for node, device in enumerate(on_bus):
        _write_chip(root, node, device)
        holders = [
            process.pid
            for process in snapshot.live
            if any(held.device.number == device.number for held in process.devices)
        ]
        _write(os.path.join(root, f"proc/driver/tenstorrent/{node}/pids"), "\n".join(map(str, holders)))


@contextmanager
def beating(root: str) -> Iterator[None]:
    """The heartbeats of those chips count up until this is left."""
    is_over = threading.Event()

    def beat_on() -> None:
        while not is_over.wait(_BEAT_SECONDS):
            beat(root)

    thread = threading.Thread(target=beat_on, name="ttmem-heartbeats", daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def beat(root: str) -> None:
    """Every heartbeat is one further; a reader sees the old number or the new one."""
    for path in glob.glob(os.path.join(glob.escape(root), "sys/devices/*/*/tenstorrent/*/tt_heartbeat")):
        with suppress(OSError, ValueError):  # the directory goes with the demo
            with open(path, encoding="utf-8") as file:
                count = int(file.read())
            _write(f"{path}.next", str(count + 1))
            os.replace(f"{path}.next", path)


def _is_on_bus(device: Device) -> bool:
    return device.board not in _PAIRED_BOARDS or (device.index or 0) % 2 == 0


def _write_chip(root: str, node: int, device: Device) -> None:
    arch = device.arch.partition("_")[0]
    on_bus = os.path.join(root, "sys/devices/pci0000:00", f"0000:{_bus_of(node, device, arch):02x}:00.0")
    directory = os.path.join(on_bus, "tenstorrent", f"tenstorrent!{node}")
    attributes = {
        "aiclk": "1000" if arch == "wormhole" else "1350",
        "axiclk": "900",
        "arcclk": "540" if arch == "wormhole" else "800",
        "serial": f"{0x100 << 48 | device.unique_id >> 5:016X}",
        "card_type": device.board,
        "asic_id": f"{device.unique_id:016X}",
        "heartbeat": str(int(time.monotonic() / _BEAT_SECONDS) + 7 * node),  # goes on from one demo to the next
        "fw_bundle_ver": "19.6.0.0",
        **({"therm_trip_count": "0"} if arch == "blackhole" else {}),
    }
    for name, value in attributes.items():
        _write(os.path.join(directory, f"tt_{name}"), value)
    _write_sensors(os.path.join(on_bus, "hwmon", f"hwmon{node}"), arch, node)
    os.symlink(on_bus, os.path.join(directory, "device"))
    classes = os.path.join(root, "sys/class/tenstorrent")
    os.makedirs(classes, exist_ok=True)
    os.symlink(directory, os.path.join(classes, f"tenstorrent!{node}"))


def _bus_of(node: int, device: Device, arch: str) -> int:
    """One after the other; in a Galaxy by tray and place."""
    if "galaxy" not in device.board:
        return node + 1
    trays = {tray: first for first, tray in TRAYS[arch].items()}
    return trays[1 + node // _TRAY_CHIPS % len(trays)] | 1 + node % _TRAY_CHIPS


def _write_sensors(directory: str, arch: str, node: int) -> None:
    _write(os.path.join(directory, "name"), arch)
    sensors: Sequence[tuple[str, tuple[str, int, int | None]]] = tuple(_SENSORS.get(arch, {}).items())
    for stem, (label, value, limit) in sensors:
        _write(os.path.join(directory, f"{stem}_label"), label)
        _write(os.path.join(directory, f"{stem}_input"), str(value * (100 + node % 7) // 100))
        if limit is not None:
            _write(os.path.join(directory, f"{stem}_max"), str(limit))


def _write(path: str, text: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text + "\n")
