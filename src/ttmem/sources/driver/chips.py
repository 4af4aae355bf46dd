"""The chips of the kernel's driver.

    /sys/class/tenstorrent/tenstorrent!N/        tt_aiclk, tt_serial, tt_asic_id, tt_heartbeat, ...
        device -> ../../../0000:01:00.0          the PCI device
            hwmon/hwmonK/                        name, temp1_input, temp1_max, temp1_label, in0_*, curr1_*, power1_*
    /sys/class/hwmon/hwmonK/                     the same, where the driver's device does not list it
    /proc/driver/tenstorrent/N/pids              who has it open, one number per line

Which chips there are and what they are called is read once, and again when a chip comes or goes; sensors are read at
every look. Nothing here opens a device. What is not there, or not any more, is None.
"""

import os
import re
import time
from collections.abc import Callable, Mapping
from functools import cache
from itertools import chain
from typing import NamedTuple

from ttmem.snapshot.telemetry import ChipTelemetry, Sensor
from ttmem.snapshot.values import Hex, replace
from ttmem.sources.driver.attributes import Attributes
from ttmem.sources.procfs import chip_directory, command_of

__all__ = ["Driver"]

# Compiled when a chip is there to be read.
_NODE = r"tenstorrent!(\d{1,6})"
_BUS_ID = r"[0-9a-fA-F]{4,}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-9a-fA-F]"
_INPUT = r"([a-z]+)(\d{1,3})_input"
_MOST_NUMBER = 999
_STILL_SECONDS = 5  # a heartbeat counts several times a second
_NUMBERS = ("aiclk", "axiclk", "arcclk", "heartbeat", "therm_trip_count")
_ARCHES = ("wormhole", "blackhole")
_MILLI, _MICRO = 1e3, 1e6
_COMMAND_BYTES = 120
# Parts of its base unit in which hwmon gives each kind of sensor.
_UNITS = {"temp": _MILLI, "in": _MILLI, "curr": _MILLI, "power": _MICRO, "fan": 1.0}


class _DriverSource(NamedTuple):
    """Where one sensor is read."""

    value_path: str
    limit_path: str
    unit: float
    label: str


class _Names(NamedTuple):
    """What does not change while a chip is there."""

    identity: tuple[int, int]  # of its directory: another one after a reset
    directory: str  # without links, which take time
    has_sensors: bool
    sensors: dict[str, _DriverSource]  # the first of each kind
    pci_bus_id: str | None
    card_type: str | None
    serial: str | None
    asic_id: int | None
    firmware: str | None
    arch: str | None
    notes: tuple[str, ...]


class Driver:
    """All chips of the driver below one root directory. Any thread may look; two at once do the same work twice."""

    def __init__(
        self,
        environ: Mapping[str, str],
        *,
        own_pid: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        root = environ.get("TTMEM_SYSFS_ROOT") or "/"
        self._classes = chip_directory(environ)
        self._lists = os.path.join(root, "proc/driver/tenstorrent")
        self._hwmons = os.path.join(root, "sys/class/hwmon")
        self._proc = os.path.join(root, "proc")
        self._own_pid = os.getpid() if own_pid is None else own_pid
        self._names: dict[int, _Names] = {}
        self._clock = clock
        self._heartbeats: dict[int, tuple[int | None, float]] = {}  # by node: the last one, and since when it stands

    @property
    def places(self) -> tuple[str, str]:
        """Where it looks: chips, and who has them open."""
        return self._classes, self._lists

    def telemetry(self) -> tuple[ChipTelemetry, ...]:
        """Every chip, by number. One that goes while it is read is listed in part; none of that is an error."""
        commands = cache(lambda pid: command_of(pid, self._proc, _COMMAND_BYTES))  # one may have all chips open
        return tuple(self._watched(self._chip(node, names, commands)) for node, names in self._present())

    def _watched(self, chip: ChipTelemetry) -> ChipTelemetry:
        """With how long its heartbeat has stood still, if it was watched for that long."""
        now = self._clock()
        before, since = self._heartbeats.get(chip.node, (None, now))
        if chip.heartbeat is None or chip.heartbeat != before:
            self._heartbeats[chip.node] = (chip.heartbeat, now)
            return chip
        still_seconds = int(now - since)
        return replace(chip, heartbeat_still_seconds=still_seconds if still_seconds >= _STILL_SECONDS else None)

    def identities(self) -> tuple[ChipTelemetry, ...]:
        """What every chip is, without a word about how it does: no sensor is read."""
        return tuple(_identity(node, names) for node, names in self._present())

    def _present(self) -> list[tuple[int, _Names]]:
        try:
            entries = os.listdir(self._classes)
        except OSError:
            return []
        nodes = sorted(int(match[1]) for name in entries if (match := re.fullmatch(_NODE, name)))
        self._names = {node: names for node, names in list(self._names.items()) if node in nodes}
        found = ((node, self._known_names(node, f"{self._classes}/tenstorrent!{node}")) for node in nodes)
        return [(node, names) for node, names in found if names is not None]

    def _chip(self, node: int, names: _Names, commands: Callable[[int], str]) -> ChipTelemetry:
        read = Attributes()
        sensors = {kind: _sensor(read, source) for kind, source in names.sensors.items()}
        numbers = {name: read.number(f"{names.directory}/tt_{name}") for name in _NUMBERS}
        pids = self._openers(node)
        return replace(
            _identity(node, names),
            temperature=sensors.get("temp"),
            power=sensors.get("power"),
            current=sensors.get("curr"),
            voltage=sensors.get("in"),
            fan=sensors.get("fan"),
            aiclk_mhz=numbers["aiclk"],
            axiclk_mhz=numbers["axiclk"],
            arcclk_mhz=numbers["arcclk"],
            heartbeat=numbers["heartbeat"],
            thermal_trip_count=numbers["therm_trip_count"],
            pids=pids,
            commands=tuple(commands(pid) for pid in pids or ()),
            notes=(*names.notes, *read.notes),
        )

    def _known_names(self, node: int, directory: str) -> _Names | None:
        """None for a chip that has just gone."""
        try:
            facts = os.stat(directory)
        except OSError:
            self._names.pop(node, None)
            return None
        identity = facts.st_dev, facts.st_ino
        known = self._names.get(node)
        if known is None or known.identity != identity or not _is_whole(known):
            known = self._names[node] = _names_of(directory, identity, self._hwmons)
        return known

    def _openers(self, node: int) -> tuple[int, ...] | None:
        try:
            with open(f"{self._lists}/{node}/pids", "rb") as file:
                words = file.read().split()
        except OSError:
            return None
        pids = {int(word) for word in words if word.isdigit() and len(word) <= 10}
        # Zero is a process of a pid namespace that we cannot see into; we ourselves have nothing open.
        return tuple(sorted(pids - {0, self._own_pid}))


def _identity(node: int, names: _Names) -> ChipTelemetry:
    return ChipTelemetry(
        node=node,
        pci_bus_id=names.pci_bus_id,
        card_type=names.card_type,
        serial=names.serial,
        asic_id=None if names.asic_id is None else Hex(names.asic_id),
        firmware=names.firmware,
        arch=names.arch,
        notes=names.notes,
    )


def _is_whole(names: _Names) -> bool:
    """Whether there is nothing left to find: after a reset the driver adds its attributes a moment later."""
    return names.has_sensors and names.serial is not None


def _names_of(directory: str, identity: tuple[int, int], hwmons: str) -> _Names:
    read = Attributes()
    device = os.path.join(directory, "device")
    bus_id = os.path.basename(os.path.realpath(device))
    hwmon, arch = _hwmon_of(device, hwmons, read)
    return _Names(
        identity=identity,
        directory=os.path.realpath(directory),
        has_sensors=hwmon is not None,
        sensors=_sensors_in(hwmon, read) if hwmon else {},
        pci_bus_id=bus_id if re.fullmatch(_BUS_ID, bus_id) else None,
        card_type=read.text(os.path.join(directory, "tt_card_type")),
        serial=read.text(os.path.join(directory, "tt_serial")),
        asic_id=read.number(os.path.join(directory, "tt_asic_id"), base=16),
        firmware=read.text(os.path.join(directory, "tt_fw_bundle_ver")),
        arch=arch,
        notes=tuple(read.notes),
    )


def _hwmon_of(device: str, hwmons: str, read: Attributes) -> tuple[str | None, str | None]:
    """The directory of the chip's sensors and the architecture it is named after."""
    own = os.path.realpath(device)
    linked = (path for path in _inside(hwmons) if os.path.realpath(os.path.join(path, "device")) == own)
    for path in chain(_inside(os.path.join(own, "hwmon")), linked):
        name = read.text(os.path.join(path, "name"))
        if name in _ARCHES:
            return path, name
    return None, None


def _inside(directory: str) -> list[str]:
    try:
        return [os.path.join(directory, name) for name in sorted(os.listdir(directory))]
    except OSError:
        return []


def _sensors_in(hwmon: str, read: Attributes) -> dict[str, _DriverSource]:
    """The first of each kind: temp1_input before temp2_input; voltages are counted from 0."""
    first: dict[str, int] = {}
    for path in _inside(hwmon):
        match = re.fullmatch(_INPUT, os.path.basename(path))
        if match and match[1] in _UNITS:
            first[match[1]] = min(first.get(match[1], _MOST_NUMBER), int(match[2]))
    found = {}
    for kind, number in first.items():
        path = f"{hwmon}/{kind}{number}"
        found[kind] = _DriverSource(f"{path}_input", f"{path}_max", _UNITS[kind], read.text(f"{path}_label") or "")
    return found


def _sensor(read: Attributes, source: _DriverSource) -> Sensor | None:
    value = read.scaled(source.value_path, source.unit)
    return None if value is None else Sensor(value, read.scaled(source.limit_path, source.unit), source.label)
