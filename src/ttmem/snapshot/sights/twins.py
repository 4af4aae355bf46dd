"""Chips that are alike: of one make, and with the same figures, as those of a mesh mostly are. What is made of one of
them is made of all."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from ttmem.devices import Device

__all__ = ["alike", "only"]

_OF_CHIPS = (
    *("device_pools", "device_kinds", "device_cores", "spaces", "worst_cores", "headrooms", "contradictions"),
)  # a row begins with the chip
_OF_HOLDERS = ("process_pools", "launches", "footprints", "rings", "stalls", "caches")  # the chip comes second
_LISTS = ("spoken_of", "doubted")

Rows = dict[str, Any]


def alike(rows: Rows, devices: Mapping[int, Device]) -> dict[int, int]:
    """Every chip by its number, and the first that is as it is, by the rows of an overview."""
    told: dict[int, list[Any]] = defaultdict(list)
    for row in rows[_OF_CHIPS[0]]:
        told[row[0]].append(row[1:])
    if len({tuple(one) for one in told.values()}) == len(told):
        return {number: number for number in devices}  # mostly seen at once
    for name in _OF_CHIPS[1:]:
        for row in rows.get(name, ()):
            told[row[0]] += name, row[1:]
    for name in _OF_HOLDERS:
        for row in rows[name]:
            told[row[1]] += name, row[0], row[2:]
    for name in _LISTS:
        for number in rows[name]:
            told[number].append(name)
    first: dict[tuple[Any, ...], int] = {}
    return {
        number: first.setdefault((_make_of(device), *told[number]), number) if device.is_known else number
        for number, device in devices.items()
    }


def _make_of(device: Device) -> Device:
    """The device without what tells it from others of its make."""
    return device._replace(number=0, unique_id=0, index=None, name="")


def only(rows: Rows, numbers: frozenset[int]) -> Rows:
    """The rows that are about some chips."""
    return {
        **rows,
        **{name: [row for row in rows.get(name, ()) if row[0] in numbers] for name in _OF_CHIPS},
        **{name: [row for row in rows[name] if row[1] in numbers] for name in _OF_HOLDERS},
    }
