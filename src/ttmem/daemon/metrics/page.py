"""All rows of a page, from what is known: a pure function, so that a page can be compared with one on paper."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ttmem.daemon.metrics import catalogue
from ttmem.daemon.metrics.families import Page, Rows
from ttmem.daemon.metrics.rows import chips as of_chips
from ttmem.daemon.metrics.rows import happened as of_happened
from ttmem.daemon.metrics.rows import programs as of_programs
from ttmem.daemon.metrics.rows.aliases import add_aliases
from ttmem.daemon.metrics.rows.kept import Chip, KeptRows
from ttmem.daemon.metrics.rows.lifetime import ChipLifetime, Lifetime
from ttmem.daemon.metrics.rows.naming import device_labels
from ttmem.daemon.metrics.rows.service import Service, add_service
from ttmem.daemon.metrics.rows.workloads import add_workloads
from ttmem.snapshot import DeviceUsage, ProcessUsage
from ttmem.snapshot.sights.overview import Overview
from ttmem.snapshot.sights.telemetry import ChipTelemetry

__all__ = ["SUBJECTS", "ChipRows", "Extras", "page_of", "whole_page"]

SUBJECTS = (*of_chips.SUBJECTS, *of_programs.SUBJECTS, *of_happened.SUBJECTS)  # in the order of the catalogue


class Extras(NamedTuple):
    """What a page has beside the figures of chips: what the driver says of them, by their numbers, and what was asked
    for. `processes` None: no series of workloads."""

    telemetry: Mapping[int, ChipTelemetry] = {}
    processes: Iterable[ProcessUsage] | None = None
    workloads_most: int = 20
    has_aliases: bool = False


def page_of(overview: Overview, lifetime: Lifetime, service: Service, extras: Extras) -> Page:
    """Everything, in the order of the catalogue."""
    chips = ChipRows().of(overview.devices, lifetime.chips, extras.telemetry)
    return whole_page(overview, lifetime, service, extras, chips=chips)


def whole_page(
    overview: Overview, lifetime: Lifetime, service: Service, extras: Extras, *, chips: Sequence[Rows]
) -> Page:
    """The same around rows about chips that are there already."""
    about, workloads, aliases = Rows(catalogue.SERVICE), Rows(catalogue.WORKLOADS), Rows(catalogue.ALIASES)
    add_service(about, overview, lifetime, service)
    if extras.processes is not None:
        names = device_labels(usage.device for usage in overview.devices)
        add_workloads(workloads, extras.processes, names, extras.workloads_most)
    if extras.has_aliases:
        listed = _chips(overview.devices, lifetime.chips, extras.telemetry)
        places = [(chip.usage, *_place(chip)) for chip in listed]
        add_aliases(aliases, overview.host.hostname, places)
    return Page(about, *chips, workloads, aliases)


class ChipRows:
    """All rows about chips, which are most of a page, from one page to the next. One thread at a time."""

    def __init__(self) -> None:
        self._kept = tuple(KeptRows(subject) for subject in SUBJECTS)
        self._last: tuple[object, ...] = ()
        self._rows: tuple[Rows, ...] = ()

    def of(
        self,
        devices: Sequence[DeviceUsage],
        happened: Mapping[int, ChipLifetime],
        telemetry: Mapping[int, ChipTelemetry],
    ) -> tuple[Rows, ...]:
        """Those of the last page, with their text, as far as nothing has happened since."""
        if self._last != (told := (devices, happened, telemetry)):
            chips = _chips(devices, happened, telemetry)
            self._last, self._rows = told, tuple([kept.of(chips) for kept in self._kept])
        return self._rows


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
    return of_chips.tray_of(chip.usage.device, chip.labels[0], (known.pci_bus_id or "") if known else "")
