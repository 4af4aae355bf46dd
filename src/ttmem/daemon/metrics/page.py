"""All rows of a page, from what is known: a pure function, so that a page can be compared with one on paper."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ttmem.daemon.metrics import catalogue
from ttmem.daemon.metrics.families import Rows
from ttmem.daemon.metrics.rows.aliases import add_aliases
from ttmem.daemon.metrics.rows.chips import Chip, add_chip, add_memory, tray_of
from ttmem.daemon.metrics.rows.lifetime import Lifetime, add_happened
from ttmem.daemon.metrics.rows.naming import device_labels
from ttmem.daemon.metrics.rows.programs import add_programs
from ttmem.daemon.metrics.rows.service import Service, add_service
from ttmem.daemon.metrics.rows.workloads import add_workloads
from ttmem.snapshot import ProcessUsage
from ttmem.snapshot.sights.overview import Overview
from ttmem.snapshot.sights.telemetry import ChipTelemetry

__all__ = ["Extras", "page_rows"]


class Extras(NamedTuple):
    """What a page has beside the figures of chips: what the driver says of them, by their numbers, and what was asked
    for. `processes` None: no series of workloads."""

    telemetry: Mapping[int, ChipTelemetry] = {}
    processes: Iterable[ProcessUsage] | None = None
    workloads_most: int = 20
    has_aliases: bool = False


def page_rows(overview: Overview, lifetime: Lifetime, service: Service, extras: Extras) -> Rows:
    """Everything, in the order of the catalogue."""
    rows = Rows(catalogue.FAMILIES)
    add_service(rows, overview, lifetime, service)
    names = device_labels(usage.device for usage in overview.devices)
    chips = [Chip(usage, (names[usage.device.number], usage.device.arch)) for usage in overview.devices]
    for chip in chips:
        number = chip.usage.device.number
        add_chip(rows, chip, extras.telemetry.get(number))
        add_memory(rows, chip)
        add_programs(rows, chip)
        if number in lifetime.chips:
            add_happened(rows, chip, lifetime.chips[number])
    if extras.processes is not None:
        add_workloads(rows, extras.processes, names, extras.workloads_most)
    if extras.has_aliases:
        add_aliases(rows, overview.host.hostname, [(chip.usage, *_place(chip, extras)) for chip in chips])
    return rows


def _place(chip: Chip, extras: Extras) -> tuple[str, str]:
    known = extras.telemetry.get(chip.usage.device.number)
    return tray_of(chip, (known.pci_bus_id or "") if known else "")
