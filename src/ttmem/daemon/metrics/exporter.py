"""Makes the page of /metrics when it is asked for; nothing is counted or stored for pages that are not.

`page_of` is a pure function of what is known, so that a page can be compared with one on paper.
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from typing import NamedTuple

from prometheus_client import generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, choose_encoder
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector as MetricsCollector

from ttmem.collector import Collector
from ttmem.daemon.metrics import catalogue
from ttmem.daemon.metrics.aliases import add_aliases
from ttmem.daemon.metrics.chips import ExportedChip, add_chips, device_labels, tray_of
from ttmem.daemon.metrics.families import ChipLifetime, Lifetime, Page, lifetime_from_rows
from ttmem.daemon.metrics.programs import add_programs
from ttmem.daemon.metrics.service import Service, add_happened, add_service
from ttmem.daemon.metrics.workloads import add_workloads
from ttmem.snapshot import DeviceUsage, ProcessUsage
from ttmem.snapshot.identity import chip_of
from ttmem.snapshot.telemetry import ChipTelemetry
from ttmem.snapshot.usage import Snapshot

__all__ = ["Asked", "Exporter", "Extras", "chosen_format", "page_of"]


class Extras(NamedTuple):
    """What a page has beside the figures of chips: what the driver says of them, by their numbers, and what was asked
    for. `processes` None: no series of workloads."""

    telemetry: Mapping[int, ChipTelemetry] = {}
    processes: Iterable[ProcessUsage] | None = None
    workloads_most: int = 20
    has_aliases: bool = False


def page_of(overview: Snapshot, lifetime: Lifetime, service: Service, extras: Extras, *, now_ns: int) -> Page:
    """Everything, in the order of the catalogue."""
    page = Page(catalogue.FAMILIES)
    chips = _chips(overview.devices, lifetime.chips, extras.telemetry)
    add_service(page, overview, lifetime, service, now_ns)
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
) -> list[ExportedChip]:
    names = device_labels(usage.device for usage in devices)
    return [
        ExportedChip(usage, (names[number], usage.device.arch), telemetry.get(number), happened.get(number))
        for usage in devices
        for number in [usage.device.number]
    ]


def _place(chip: ExportedChip) -> tuple[str, str]:
    known = chip.telemetry
    return tray_of(chip.usage.device, chip.labels[0], (known.pci_bus_id or "") if known else "")


Encoder = Callable[[Page], bytes]


class Asked(NamedTuple):
    """What a page shall have beside figures of chips. `workloads_most` 0: no series of workloads."""

    workloads_most: int = 0
    has_aliases: bool = False


def chosen_format(accept: str) -> tuple[Encoder, str]:
    """Who writes the page, and its content type, by what the asker says it takes."""
    try:
        return choose_encoder(accept)
    except (TypeError, ValueError):  # a version that is none
        return generate_latest, CONTENT_TYPE_PLAIN_0_0_4


class Exporter(MetricsCollector):
    """Answers scrapes. Any thread may ask; who asks for a page that is just being made gets that one. Registered with a
    registry of prometheus_client, it puts the same metrics on another program's page."""

    def __init__(self, collector: Collector, *, asked: Asked, service: Service) -> None:
        self._collector = collector
        self._asked = asked
        self.service = service  # replaced as a whole by its owner, read by any thread
        self._lock = threading.Lock()
        self._in_the_making: dict[str, Future[bytes]] = {}  # by content type
        self._has_data = False

    def page(self, accept: str) -> tuple[bytes, str]:
        """The page and its content type."""
        write, content_type = chosen_format(accept)
        with self._lock:
            is_first = content_type not in self._in_the_making
            page = self._in_the_making.setdefault(content_type, Future())
        if is_first:
            try:
                page.set_result(write(self.rows()))
            except BaseException as error:  # noqa: BLE001 all who wait for it get the error, and so does the caller
                page.set_exception(error)
            finally:
                with self._lock:
                    del self._in_the_making[content_type]
        return page.result(), content_type

    def rows(self) -> Page:
        """What a page is made of, now."""
        if not self._collector.is_following:  # one that follows looks for new journals 20 times a second
            self._collector.tick()
        overview = self._collector.snapshot() if self._asked.workloads_most else self._collector.overview()
        processes = overview.live if self._asked.workloads_most else None
        lifetime = lifetime_from_rows(self._collector.ledger.lifetime())
        extras = Extras(self._known_chips(overview), processes, self._asked.workloads_most, self._asked.has_aliases)
        return page_of(overview, lifetime, self.service, extras, now_ns=time.time_ns())

    def collect(self) -> Iterator[Metric]:
        return self.rows().collect()

    def is_ready(self) -> bool:
        """Whether there was ever something whole to report: every journal that was there has been read once."""
        if not self._has_data:
            self._collector.tick()
            self._has_data = self._collector.overview().reason != "settling"
        return self._has_data

    def _known_chips(self, overview: Snapshot) -> Mapping[int, ChipTelemetry]:
        """What the driver says of chips, by their numbers."""
        chips = self._collector.driver_chips
        found = ((usage.device.number, chip_of(usage.device, chips)) for usage in overview.devices if chips)
        return {number: chip for number, chip in found if chip is not None}
