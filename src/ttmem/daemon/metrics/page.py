"""All rows of a page, from what is known: a pure function, so that a page can be compared with one on paper."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ttmem.daemon.metrics import catalogue
from ttmem.daemon.metrics.families import Page, Rows
from ttmem.daemon.metrics.rows.aliases import add_aliases
from ttmem.daemon.metrics.rows.chips import Chip, add_chip, add_memory, tray_of
from ttmem.daemon.metrics.rows.lifetime import ChipLifetime, Lifetime, add_happened
from ttmem.daemon.metrics.rows.naming import device_labels
from ttmem.daemon.metrics.rows.programs import add_programs
from ttmem.daemon.metrics.rows.service import Service, add_service
from ttmem.daemon.metrics.rows.workloads import add_workloads
from ttmem.snapshot import DeviceUsage, ProcessUsage
from ttmem.snapshot.sights.overview import Overview
from ttmem.snapshot.sights.telemetry import ChipTelemetry

__all__ = ["Extras", "chip_rows", "page_of", "whole_page"]


class Extras(NamedTuple):
    """What a page has beside the figures of chips: what the driver says of them, by their numbers, and what was asked
    for. `processes` None: no series of workloads."""

    telemetry: Mapping[int, ChipTelemetry] = {}
    processes: Iterable[ProcessUsage] | None = None
    workloads_most: int = 20
    has_aliases: bool = False


def page_of(overview: Overview, lifetime: Lifetime, service: Service, extras: Extras) -> Page:
    """Everything, in the order of the catalogue."""
    chips = chip_rows(overview.devices, lifetime.chips, extras.telemetry)
    return whole_page(overview, lifetime, service, extras, chips=chips)


def whole_page(overview: Overview, lifetime: Lifetime, service: Service, extras: Extras, *, chips: Rows) -> Page:
    """The same around rows about chips that are there already."""
    about, workloads, aliases = Rows(catalogue.SERVICE), Rows(catalogue.WORKLOADS), Rows(catalogue.ALIASES)
    add_service(about, overview, lifetime, service)
    if extras.processes is not None:
        names = device_labels(usage.device for usage in overview.devices)
        add_workloads(workloads, extras.processes, names, extras.workloads_most)
    if extras.has_aliases:
        places = [(chip.usage, *_place(chip, extras)) for chip in _chips(overview.devices)]
        add_aliases(aliases, overview.host.hostname, places)
    return Page(about, chips, workloads, aliases)


def chip_rows(
    devices: Sequence[DeviceUsage], happened: Mapping[int, ChipLifetime], telemetry: Mapping[int, ChipTelemetry]
) -> Rows:
    """All rows about chips: most of a page."""
    rows = Rows(catalogue.OF_CHIPS)
    for chip in _chips(devices):
        number = chip.usage.device.number
        add_chip(rows, chip, telemetry.get(number))
        add_memory(rows, chip)
        add_programs(rows, chip)
        if number in happened:
            add_happened(rows, chip, happened[number])
    return rows


def _chips(devices: Sequence[DeviceUsage]) -> list[Chip]:
    names = device_labels(usage.device for usage in devices)
    return [Chip(usage, (names[usage.device.number], usage.device.arch)) for usage in devices]


def _place(chip: Chip, extras: Extras) -> tuple[str, str]:
    known = extras.telemetry.get(chip.usage.device.number)
    return tray_of(chip, (known.pci_bus_id or "") if known else "")
