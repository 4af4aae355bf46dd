"""The parts of tt-smi's snapshot that scripts read, by its names and with its types: null or empty where unknown.

A chip's sensors are told by the driver; tt-smi writes them as texts, its raw words as hexadecimal ones.
"""

from typing import Any

from ttmem.devices import Device
from ttmem.snapshot.identity import Identity
from ttmem.snapshot.sights.telemetry import ChipTelemetry, Sensor

__all__ = ["skeleton_document"]

Document = dict[str, Any]

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


def skeleton_document(device: Device, identity: Identity, chip: ChipTelemetry | None) -> Document:
    """What a device's document has beyond its memory."""
    return {
        "dev_node": identity.dev_node,
        "smbus_telem": dict.fromkeys(_RAW_WORDS) | (_raw_clocks(chip) if chip else {}),
        "board_info": {
            "bus_id": identity.pci_bus_id,
            "board_type": identity.board,
            "board_id": chip.serial if chip else None,
            "coords": None,
            "dram_status": None,
            "dram_speed": None,
            "pcie_speed": None,
            "pcie_width": None,
        },
        "telemetry": _telemetry(chip),
        "gddr_telemetry": {"speed": None, "max_temp": None, "enabled_mask": None, "channels": []},
        "firmwares": dict.fromkeys(_FIRMWARES) | {"fw_bundle_version": chip.firmware if chip else None},
        "limits": dict.fromkeys(_LIMITS) | (_limits(chip) if chip else {}),
    }


def _raw_clocks(chip: ChipTelemetry) -> Document:
    clocks = {"AICLK": chip.aiclk_mhz, "AXICLK": chip.axiclk_mhz, "ARCCLK": chip.arcclk_mhz}
    return {name: None if clock is None else hex(clock % (1 << _CLOCK_BITS)) for name, clock in clocks.items()}


def _telemetry(chip: ChipTelemetry | None) -> Document:
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


def _limits(chip: ChipTelemetry) -> Document:
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
