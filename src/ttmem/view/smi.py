"""`ttmem -s`: tt-smi's document. Every chip has one key of ours, `ttmem`; processes and incidents stand beside.

Keys of tt-smi keep its names and types, null or empty where unknown. A chip's sensors come from the driver; tt-smi
writes them as texts, its raw words as hexadecimal ones.
"""

from collections.abc import Sequence
from typing import Any

from ttmem.snapshot import DeviceUsage, Finding, Foreign, Host, ProcessUsage, Snapshot, TimeNs
from ttmem.snapshot.identity import Identity, chip_of, identity_of
from ttmem.snapshot.incidents import Incident
from ttmem.snapshot.telemetry import ChipTelemetry, Sensor
from ttmem.snapshot.values import Answer, Struct, time_text

__all__ = ["SmiDocument", "smi_document"]

Words = dict[str, Any]

_RAW_WORDS = (
    *("BOARD_ID_HIGH", "BOARD_ID_LOW", "ETH_FW_VERSION", "DDR_STATUS", "FAN_SPEED", "AICLK", "AXICLK", "ARCCLK"),
    *("VCORE", "ASIC_TEMPERATURE", "VREG_TEMPERATURE", "BOARD_TEMPERATURE", "TDP", "TDC", "VDD_LIMITS"),
    *("THM_LIMITS", "TT_FLASH_VERSION"),
)
_FIRMWARES = (
    *("fw_bundle_version", "tt_flash_version", "cm_fw", "cm_fw_date", "eth_fw", "dm_bl_fw", "dm_app_fw", "gddr_fw"),
)
_LIMITS = (
    *("vdd_min", "vdd_max", "tdp_limit", "tdc_limit", "asic_fmax", "therm_trip_l1_limit", "thm_limit"),
    *("bus_peak_limit", "board_power_limit"),
)
_CLOCK_BITS = 16  # of a raw word; above stands the highest frequency, which the driver does not tell


class SmiDevice(Struct, frozen=True):
    """One chip: tt-smi's keys, and ours."""

    smbus_telem: Words
    board_info: Words
    telemetry: Words
    gddr_telemetry: Words
    firmwares: Words
    limits: Words
    dev_node: str | None
    ttmem: DeviceUsage


class ProcessIncident(Struct, frozen=True):
    """An incident, and whose it is."""

    pid: int
    label: str
    incident: Incident


class SmiDocument(Answer, frozen=True, kw_only=True):
    """Everything at one instant."""

    time: str  # ISO 8601, local time with offset
    time_ns: TimeNs
    source: str
    places: tuple[str, ...]
    is_complete: bool
    reason: str
    host_info: Words
    host_sw_vers: Words
    device_info: tuple[SmiDevice, ...]
    processes: tuple[ProcessUsage, ...]
    incidents: tuple[ProcessIncident, ...]
    findings: tuple[Finding, ...]
    foreign: tuple[Foreign, ...]
    errors: tuple[str, ...]


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
        processes=snapshot.processes,
        incidents=tuple(ProcessIncident(process.pid, process.label, one) for process, one in snapshot.incidents),
        findings=snapshot.findings,
        foreign=snapshot.foreign,
        errors=snapshot.errors,
    )


def _host(host: Host) -> Words:
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
        smbus_telem=dict.fromkeys(_RAW_WORDS) | (_raw_clocks(chip) if chip else {}),
        board_info=_board(identity, chip),
        telemetry=_telemetry(chip),
        gddr_telemetry={"speed": None, "max_temp": None, "enabled_mask": None, "channels": []},
        firmwares=dict.fromkeys(_FIRMWARES) | {"fw_bundle_version": chip.firmware if chip else None},
        limits=dict.fromkeys(_LIMITS) | (_limits(chip) if chip else {}),
        dev_node=identity.dev_node,
        ttmem=usage,
    )


def _board(identity: Identity, chip: ChipTelemetry | None) -> Words:
    unknown = dict.fromkeys(("coords", "dram_status", "dram_speed", "pcie_speed", "pcie_width"))
    known = {"bus_id": identity.pci_bus_id, "board_type": identity.board, "board_id": chip.serial if chip else None}
    return known | unknown


def _raw_clocks(chip: ChipTelemetry) -> Words:
    clocks = {"AICLK": chip.aiclk_mhz, "AXICLK": chip.axiclk_mhz, "ARCCLK": chip.arcclk_mhz}
    return {name: None if clock is None else hex(clock % (1 << _CLOCK_BITS)) for name, clock in clocks.items()}


def _telemetry(chip: ChipTelemetry | None) -> Words:
    if chip is None:
        names = "voltage current power board_power aiclk asic_temperature fan_speed heartbeat"
        return dict.fromkeys(names.split())
    return {
        "voltage": _value(chip.voltage, digits=2),
        "current": _value(chip.current),
        "power": _value(chip.power),
        "board_power": None,
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
