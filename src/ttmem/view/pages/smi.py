"""`ttmem -s`: tt-smi's document. Every chip has one key of ours, `ttmem`; processes and incidents stand beside.

Keys of tt-smi keep its names and types, null or empty where unknown. A chip's sensors come from the driver; tt-smi
writes them as texts, its raw words as hexadecimal ones.
"""

from collections.abc import Sequence
from typing import TypedDict, TypeVar, cast

import msgspec

from ttmem.devices import Pool
from ttmem.snapshot import DeviceUsage, Finding, Foreign, Host, ProcessDevice, ProcessUsage, Snapshot, TimeNs
from ttmem.snapshot.identity import Identity, chip_of, identity_of
from ttmem.snapshot.incidents import Incident
from ttmem.snapshot.telemetry import ChipTelemetry, Sensor
from ttmem.snapshot.usage import kinds_shown
from ttmem.snapshot.values import Answer, Count, Struct, replace, time_text

__all__ = ["SmiDocument", "smi_document"]

Words = dict[str, str | None]
Keys = TypeVar("Keys")

_CLOCK_BITS = 16  # of a raw word; above stands the highest frequency, which the driver does not tell


class HostInfo(TypedDict):
    """The machine."""

    OS: str  # Linux
    Distro: str  # from /etc/os-release
    Kernel: str  # its release
    Hostname: str
    Platform: str  # x86_64
    Python: str  # version of the Python that counted
    Memory: str | None  # of the machine; tt-smi's GB are GiB
    Driver: str | None  # TT-KMD 2.0.0; null without the driver


class HostVersions(TypedDict):
    """Versions of software."""

    ttmem: str | None  # of who counted


class SmbusTelem(TypedDict):
    """Raw words of the firmware as tt-smi names them; the driver has three clocks, in hexadecimal."""

    BOARD_ID_HIGH: None
    BOARD_ID_LOW: None
    ETH_FW_VERSION: None
    DDR_STATUS: None
    FAN_SPEED: None
    AICLK: str | None  # MHz, as 0x1f4
    AXICLK: str | None  # MHz, as 0x1f4
    ARCCLK: str | None  # MHz, as 0x1f4
    VCORE: None
    ASIC_TEMPERATURE: None
    VREG_TEMPERATURE: None
    BOARD_TEMPERATURE: None
    TDP: None
    TDC: None
    VDD_LIMITS: None
    THM_LIMITS: None
    TT_FLASH_VERSION: None


class BoardInfo(TypedDict):
    """Which card."""

    bus_id: str | None  # PCI address, 0000:01:00.0
    board_type: str | None  # p150a; of a board with two chips with its side: n300 L is on the bus, n300 R behind it
    board_id: str | None  # serial number
    coords: None
    dram_status: None
    dram_speed: None
    pcie_speed: None
    pcie_width: None


class SmiTelemetry(TypedDict):
    """By the driver, without opening the chip."""

    voltage: str | None  # volts
    current: str | None  # amperes
    power: str | None  # watts
    board_power: None
    aiclk: str | None  # MHz
    asic_temperature: str | None  # degrees Celsius
    fan_speed: str | None  # turns per minute
    heartbeat: str | None  # a counter that must grow


class GddrTelemetry(TypedDict):
    """Training, temperatures and errors of GDDR; the driver does not say."""

    speed: None
    max_temp: None
    enabled_mask: None
    channels: list[None]  # empty


class Firmwares(TypedDict):
    """Versions of firmware."""

    fw_bundle_version: str | None
    tt_flash_version: None
    cm_fw: None
    cm_fw_date: None
    eth_fw: None
    dm_bl_fw: None
    dm_app_fw: None
    gddr_fw: None


class Limits(TypedDict):
    """What must not be exceeded."""

    vdd_min: None
    vdd_max: str | None  # volts
    tdp_limit: str | None  # watts
    tdc_limit: str | None  # amperes
    asic_fmax: None
    therm_trip_l1_limit: None
    thm_limit: str | None  # degrees Celsius
    bus_peak_limit: None
    board_power_limit: None


class SmiDevice(Struct, frozen=True):
    """One chip: tt-smi's keys, and ours."""

    smbus_telem: SmbusTelem
    board_info: BoardInfo
    telemetry: SmiTelemetry
    gddr_telemetry: GddrTelemetry
    firmwares: Firmwares
    limits: Limits
    dev_node: str | None  # /dev/tenstorrent/N; null for a chip that is not on the bus, or without the driver
    ttmem: DeviceUsage


class SmiProcess(ProcessUsage, frozen=True, kw_only=True):
    """One process: tt-smi's keys, and ours."""

    pid: Count | None  # type: ignore[assignment]  # None: no process is known to have written its journal
    device: Count | None  # lowest index among its chips; all of them are in `devices`
    dev_node: str | None  # the driver's file of that chip: its number and the index may differ
    cmdline: str  # its command line, cut at 255 bytes


class ProcessIncident(Struct, frozen=True):
    """An incident, and whose it is."""

    pid: Count | None
    label: str
    incident: Incident


class SmiDocument(Answer, frozen=True, kw_only=True):
    """Everything at one instant."""

    time: str  # ISO 8601, local time with offset
    time_ns: TimeNs
    source: str  # who counted: `embedded collector` (the viewer itself), or `daemon pid N`
    places: tuple[str, ...]  # directories that were looked into
    is_complete: bool  # whether every live process could be followed
    reason: str  # the worst reason why not; empty when it is
    host_info: HostInfo
    host_sw_vers: HostVersions
    device_info: tuple[SmiDevice, ...]
    processes: tuple[SmiProcess, ...]  # with their details; ended ones only with `--all`
    incidents: tuple[ProcessIncident, ...]  # all that are kept, oldest first
    findings: tuple[Finding, ...]  # all that does not add up; damaged files first
    foreign: tuple[Foreign, ...]  # what belongs to others and may not be read
    errors: tuple[
        str, ...
    ]  # what could not be read while the rest could, one line each; the exit code is 0 all the same


def smi_document(snapshot: Snapshot, telemetry: Sequence[ChipTelemetry] = ()) -> SmiDocument:
    """The whole snapshot, with what the driver says of its chips."""
    return SmiDocument(
        time=time_text(snapshot.time_ns) or "",
        time_ns=snapshot.time_ns,
        source=snapshot.source,
        places=snapshot.places,
        is_complete=snapshot.is_complete,
        reason=snapshot.reason,
        host_info=_host(snapshot.host),
        host_sw_vers={"ttmem": snapshot.host.version or None},
        device_info=tuple(_device(usage, telemetry) for usage in snapshot.devices),
        processes=tuple(_process(process, snapshot.devices, telemetry) for process in snapshot.processes),
        incidents=tuple(
            ProcessIncident(process.pid or None, process.label, one) for process, one in snapshot.incidents
        ),
        findings=snapshot.findings,
        foreign=snapshot.foreign,
        errors=snapshot.errors,
    )


def _host(host: Host) -> HostInfo:
    return {
        "OS": host.os,
        "Distro": host.distro,
        "Kernel": host.kernel,
        "Hostname": host.hostname,
        "Platform": host.platform,
        "Python": host.python,
        "Memory": host.memory or None,
        "Driver": host.driver or None,
    }


def _device(usage: DeviceUsage, telemetry: Sequence[ChipTelemetry]) -> SmiDevice:
    identity, chip = identity_of(usage.device, telemetry), chip_of(usage.device, telemetry)
    return SmiDevice(
        smbus_telem=_filled(SmbusTelem, _raw_clocks(chip) if chip else {}),
        board_info=_filled(BoardInfo, _board(identity, chip)),
        telemetry=_filled(SmiTelemetry, _telemetry(chip) if chip else {}),
        gddr_telemetry={"speed": None, "max_temp": None, "enabled_mask": None, "channels": []},
        firmwares=_filled(Firmwares, {"fw_bundle_version": chip.firmware if chip else None}),
        limits=_filled(Limits, _limits(chip) if chip else {}),
        dev_node=identity.dev_node,
        ttmem=replace(usage, pools=usage.shown_pools, kinds=kinds_shown(usage.kinds)),
    )


def _process(process: ProcessUsage, chips: Sequence[DeviceUsage], telemetry: Sequence[ChipTelemetry]) -> SmiProcess:
    numbers = {held.device.number for held in process.devices}
    places = [usage.device for usage in chips if usage.device.number in numbers and usage.device.index is not None]
    first = min(places, key=lambda device: device.index or 0, default=None)
    fields = msgspec.structs.asdict(process)
    fields |= {
        "pid": process.pid or None,
        "pools": process.shown_pools,
        "kinds": kinds_shown(process.kinds),
        "devices": tuple(map(_held, process.devices)),
        "phases": tuple(phase for phase in process.phases if phase.pool is not Pool.CB),
    }
    return SmiProcess(
        device=first.index if first else None,
        dev_node=identity_of(first, telemetry).dev_node if first else None,
        cmdline=process.command,
        **fields,
    )


def _held(held: ProcessDevice) -> ProcessDevice:
    return replace(held, pools=held.shown_pools, kinds=kinds_shown(held.kinds))


def _filled(kind: type[Keys], known: Words) -> Keys:
    """All keys of tt-smi, null where nothing is known."""
    return cast(Keys, dict.fromkeys(kind.__annotations__) | known)


def _board(identity: Identity, chip: ChipTelemetry | None) -> Words:
    return {"bus_id": identity.pci_bus_id, "board_type": identity.board, "board_id": chip.serial if chip else None}


def _raw_clocks(chip: ChipTelemetry) -> Words:
    clocks = {"AICLK": chip.aiclk_mhz, "AXICLK": chip.axiclk_mhz, "ARCCLK": chip.arcclk_mhz}
    return {name: None if clock is None else hex(clock % (1 << _CLOCK_BITS)) for name, clock in clocks.items()}


def _telemetry(chip: ChipTelemetry) -> Words:
    return {
        "voltage": _value(chip.voltage, digits=2),
        "current": _value(chip.current),
        "power": _value(chip.power),
        "aiclk": _text(chip.aiclk_mhz),
        "asic_temperature": _value(chip.temperature),
        "fan_speed": _value(chip.fan, digits=0),
        "heartbeat": _text(chip.heartbeat),
    }


def _limits(chip: ChipTelemetry) -> Words:
    return {
        "vdd_max": _limit(chip.voltage, digits=2),
        "tdp_limit": _limit(chip.power),
        "tdc_limit": _limit(chip.current),
        "thm_limit": _limit(chip.temperature),
    }


def _value(sensor: Sensor | None, *, digits: int = 1) -> str | None:
    return None if sensor is None else f"{sensor.value:.{digits}f}"


def _limit(sensor: Sensor | None, *, digits: int = 0) -> str | None:
    return None if sensor is None or sensor.limit is None else f"{sensor.limit:.{digits}f}"


def _text(number: int | None) -> str | None:
    return None if number is None else str(number)
