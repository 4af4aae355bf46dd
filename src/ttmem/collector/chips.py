"""Finds the chip that a region of the stock runtime's counters is about: by its unique id, whoever else tells of it."""

from collections.abc import Iterable

from ttmem.devices import Device, Pool
from ttmem.snapshot import ReadChip, Readings, Snapshot

__all__ = ["chips_of"]


def chips_of(snapshot: Snapshot, readings: Readings) -> list[tuple[Device, ReadChip]]:
    """Every region with its chip: one that was reported, by its unique id, or one of its own."""
    by_id = {device.unique_id: device for device in _all_devices(snapshot) if device.is_known}
    next_number = max((device.number for device in _all_devices(snapshot)), default=-1) + 1
    found = []
    for chip in readings.chips:
        device = by_id.get(chip.unique_id) if chip.unique_id is not None else None
        if device is None:
            device = _bare_device(next_number, chip)
            next_number += 1
            if chip.unique_id is not None:
                by_id[chip.unique_id] = device
        found.append((device, chip))
    return found


def _all_devices(snapshot: Snapshot) -> Iterable[Device]:
    yield from (usage.device for usage in snapshot.devices)
    for process in snapshot.processes:
        yield from (held.device for held in process.devices)


def _bare_device(number: int, chip: ReadChip) -> Device:
    """A chip of which the counters tell: its ids, and no capacity."""
    is_known = chip.unique_id is not None
    return Device(
        number=number,
        unique_id=chip.unique_id or 0,
        index=chip.device_index if is_known else None,
        arch="",
        board="",
        grid=None,
        dram_bank_count=None,
        l1_bank_count=None,
        kernel_ring_bytes=None,
        capacity_bytes=(None,) * len(Pool),
        open_count=0,
        is_known=is_known,
        name="" if is_known else chip.name,
    )
