"""A region of the stock runtime's counters as a document: every slot as it stands, dead or alive."""

from ttmem.events.parts import Document
from ttmem.snapshot.values import time_text
from ttmem.sources.stock_shm.region import CounterRegion

__all__ = ["region_document"]


def region_document(region: CounterRegion) -> Document:
    """All of it."""
    return {
        "version": region.layout.version,
        "layout": region.layout.origin,
        "state": region.init_word or None,
        "active_processes": region.active_process_count,
        "references": region.reference_count,
        "last_update": time_text(region.last_update_ns),
        "last_update_ns": region.last_update_ns,
        "board_serial": region.board_serial,
        "asic_id": region.asic_id,
        "device_id": region.device_id,
        "totals": region.totals._asdict(),
        "chips": [
            {"slot": chip.slot, "chip_id": chip.chip_id, "is_remote": chip.is_remote, **chip.sums._asdict()}
            for chip in region.chips
        ],
        "processes": [
            {
                "slot": process.slot,
                "pid": process.pid,
                "name": process.name,
                **process.sums._asdict(),
                "last_update": time_text(process.last_update_ns),
                "last_update_ns": process.last_update_ns,
            }
            for process in region.processes
        ],
    }
