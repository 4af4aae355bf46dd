"""Finds the chip that a region of the stock runtime's counters is about: by its unique id, whoever else tells of it."""

from collections.abc import Iterable

from ttmem.snapshot import Device, ReadChip, Readings, Snapshot

__all__ = ["chips_of"]


def chips_of(snapshot: Snapshot, readings: Readings) -> list[tuple[Device, ReadChip]]:
    """Every region with its chip: one that was reported, by its unique id, or one of its own."""
    by_id: dict[int, Device] = {device.unique_id: device for device in _all_devices(snapshot) if device.is_known}
    next_number = max((device.number for device in _all_devices(snapshot)), default=-1) + 1
    found = []
    for chip in readings.chips:
        device = by_id.get(chip.unique_id) if chip.unique_id is not None else None
        if device is None:
            is_known = chip.unique_id is not None
            index, name = (chip.device_index, "") if is_known else (None, chip.name)
            device = Device.bare(next_number, chip.unique_id, index=index, name=name)
            next_number += 1
            if chip.unique_id is not None:
                by_id[chip.unique_id] = device
        found.append((device, chip))
    return found


def _all_devices(snapshot: Snapshot) -> Iterable[Device]:
    """Those that are shown come last, and count: of the others only names are known."""
    for process in snapshot.processes:
        for held in process.devices:
            chip = held.device
            yield Device(chip.number, chip.unique_id, chip.index, chip.is_known, chip.name)
    yield from (usage.device for usage in snapshot.devices)
