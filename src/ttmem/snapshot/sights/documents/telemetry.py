"""What the driver tells of its chips as a JSON document, and back: the answer to GET /telemetry."""

from typing import Any

from ttmem.snapshot.document import SCHEMA
from ttmem.snapshot.fields import Fields
from ttmem.snapshot.reading import check_schema
from ttmem.snapshot.sights.telemetry import ChipTelemetry, Sensor

__all__ = ["telemetry_document", "telemetry_from_document"]

Document = dict[str, Any]
_TEXTS = ("pci_bus_id", "card_type", "serial", "firmware", "arch")
_SENSORS = ("temperature", "power", "current", "voltage", "fan")
_NUMBERS = ("aiclk_mhz", "axiclk_mhz", "arcclk_mhz", "heartbeat", "thermal_trip_count")


def telemetry_document(chips: tuple[ChipTelemetry, ...]) -> Document:
    return {"schema": SCHEMA, "chips": [_chip_document(chip) for chip in chips]}


def _chip_document(chip: ChipTelemetry) -> Document:
    return {
        "dev_node": chip.dev_node,
        "node": chip.node,
        "asic_id": None if chip.asic_id is None else f"0x{chip.asic_id:016x}",
        **{name: getattr(chip, name) for name in (*_TEXTS, *_NUMBERS)},
        **{name: _sensor_document(getattr(chip, name)) for name in _SENSORS},
        "pids": None if chip.pids is None else list(chip.pids),
        "commands": list(chip.commands),
        "notes": list(chip.notes),
    }


def _sensor_document(sensor: Sensor | None) -> Document | None:
    return None if sensor is None else {"value": sensor.value, "limit": sensor.limit, "label": sensor.label}


def telemetry_from_document(document: object) -> tuple[ChipTelemetry, ...]:
    """What `telemetry_document` made; VersionMismatch if it is something else."""
    fields = Fields(document)
    check_schema(fields)
    return tuple(_chip(row) for row in fields.items("chips"))


def _chip(row: Fields) -> ChipTelemetry:
    texts: dict[str, Any] = {name: row.maybe_text(name) or None for name in _TEXTS}
    numbers: dict[str, Any] = {name: row.maybe_integer(name) for name in _NUMBERS}
    sensors: dict[str, Any] = {name: _sensor(row.maybe_inner(name)) for name in _SENSORS}
    return ChipTelemetry(
        node=row.integer("node"),
        asic_id=row.hexadecimal("asic_id"),
        pids=row.maybe_integers("pids"),
        commands=row.texts("commands"),
        notes=row.texts("notes"),
        **texts,
        **numbers,
        **sensors,
    )


def _sensor(row: Fields | None) -> Sensor | None:
    if row is None:
        return None
    return Sensor(row.number("value"), row.maybe_number("limit"), row.text("label"))
