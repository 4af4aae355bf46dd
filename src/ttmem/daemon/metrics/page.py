"""All rows of a page, from what is known: a pure function, so that a page can be compared with one on paper."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ttmem.daemon.metrics import catalogue
from ttmem.daemon.metrics.aliases import add_aliases
from ttmem.daemon.metrics.chips import Chip, add_chips, device_labels, tray_of
from ttmem.daemon.metrics.families import Page
from ttmem.daemon.metrics.happened import add_happened
from ttmem.daemon.metrics.lifetime import ChipLifetime, Lifetime
from ttmem.daemon.metrics.programs import add_programs
from ttmem.daemon.metrics.service import Service, add_service
from ttmem.daemon.metrics.workloads import add_workloads
from ttmem.snapshot import DeviceUsage, ProcessUsage
from ttmem.snapshot.telemetry import ChipTelemetry
from ttmem.snapshot.usage import Snapshot

__all__ = ["Extras", "page_of"]


class Extras(NamedTuple):
    """What a page has beside the figures of chips: what the driver says of them, by their numbers, and what was asked
    for. `processes` None: no series of workloads."""

    telemetry: Mapping[int, ChipTelemetry] = {}
    processes: Iterable[ProcessUsage] | None = None
    workloads_most: int = 20
    has_aliases: bool = False


def page_of(overview: Snapshot, lifetime: Lifetime, service: Service, extras: Extras) -> Page:
    """Everything, in the order of the catalogue."""
    page = Page(catalogue.FAMILIES)
    chips = _chips(overview.devices, lifetime.chips, extras.telemetry)
    add_service(page, overview, lifetime, service)
    add_chips(page, chips)
    add_programs(page, chips)
    add_happened(page, chips)
    if extras.processes is not None:
        names = device_labels(usage.device for usage in overview.devices)
        add_workloads(page, extras.processes, names, extras.workloads_most)
    if extras.has_aliases:
        add_aliases(page, overview.host.hostname, [(chip.usage, *_place(chip)) for chip in chips])
    return page


def _chips(
    devices: Sequence[DeviceUsage], happened: Mapping[int, ChipLifetime], telemetry: Mapping[int, ChipTelemetry]
) -> list[Chip]:
    names = device_labels(usage.device for usage in devices)
    return [
        Chip(usage, (names[number], usage.device.arch), telemetry.get(number), happened.get(number))
        for usage in devices
        for number in [usage.device.number]
    ]


def _place(chip: Chip) -> tuple[str, str]:
    known = chip.telemetry
    return tray_of(chip.usage.device, chip.labels[0], (known.pci_bus_id or "") if known else "")
