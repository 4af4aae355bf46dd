"""A device with all that is known of it, in the document of a sight, and back."""

from ttmem.devices import Device, Pool
from ttmem.snapshot.document import Document, device_name
from ttmem.snapshot.fields import Fields
from ttmem.snapshot.reading import bare_device

__all__ = ["device_document", "device_from_document"]


def device_document(device: Device) -> Document:
    return {
        **device_name(device),
        "board": device.board or None,
        "arch": device.arch or None,
        "grid": list(device.grid) if device.grid else None,
        "dram_banks": device.dram_bank_count,
        "l1_banks": device.l1_bank_count,
        "kernel_ring_bytes": device.kernel_ring_bytes,
        "open_count": device.open_count,
        "total": {pool.word: device.capacity(pool) for pool in Pool if device.capacity(pool) is not None},
    }


def device_from_document(row: Fields) -> Device:
    """The device; its number is that of the only device of its document."""
    totals = row.counts("total")
    return bare_device(row, 0)._replace(
        arch=row.maybe_text("arch"),
        board=row.maybe_text("board"),
        grid=row.maybe_pair("grid"),
        dram_bank_count=row.maybe_integer("dram_banks"),
        l1_bank_count=row.maybe_integer("l1_banks"),
        kernel_ring_bytes=row.maybe_integer("kernel_ring_bytes"),
        open_count=row.integer("open_count"),
        capacity_bytes=tuple(totals.get(pool.word) for pool in Pool),
    )
