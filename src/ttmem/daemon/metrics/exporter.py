"""Makes the page of /metrics when somebody asks for it; nothing is counted or kept for pages nobody asks for."""

import threading
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

from ttmem.collector import Collector
from ttmem.daemon.metrics.families import Page
from ttmem.daemon.metrics.page import ChipRows, Extras, whole_page
from ttmem.daemon.metrics.rows.lifetime import lifetime_from_rows
from ttmem.daemon.metrics.rows.service import Service
from ttmem.daemon.metrics.text import PageText, chosen_format
from ttmem.snapshot.identity import chip_of
from ttmem.snapshot.sights.overview import Overview, overview_of
from ttmem.snapshot.sights.telemetry import ChipTelemetry

__all__ = ["Asked", "Exporter"]

_TELEMETRY_SECONDS = 10.0  # what the driver calls chips hardly ever changes


class Asked(NamedTuple):
    """What a page shall have beside figures of chips. `workloads_most` 0: no series of workloads."""

    workloads_most: int = 0
    has_aliases: bool = False


class Exporter:
    """Answers scrapes. Any thread may ask; pages are made one at a time."""

    def __init__(
        self,
        collector: Collector,
        *,
        asked: Asked,
        service: Callable[[], Service],
        telemetry: Callable[[], tuple[ChipTelemetry, ...]],
    ) -> None:
        self._collector = collector
        self._asked = asked
        self._service = service
        self._telemetry = telemetry
        self._lock = threading.Lock()
        self._text = PageText()
        self._chips: tuple[ChipTelemetry, ...] = ()
        self._chips_until = float("-inf")
        self._has_data = False
        self._chip_rows = ChipRows()

    def page(self, accept: str) -> tuple[bytes, str]:
        """The page and its content type, by what the asker says it takes."""
        content_type = chosen_format(accept)
        with self._lock:
            return self._text.written(self.rows(), content_type), content_type

    def rows(self) -> Page:
        """What a page is made of, now."""
        self._collector.tick()  # also the journal that was made a moment ago
        if self._asked.workloads_most:
            snapshot = self._collector.snapshot()
            overview, processes = overview_of(snapshot), snapshot.live
        else:
            overview, processes = self._collector.overview(), None
        lifetime = lifetime_from_rows(self._collector.ledger.lifetime())
        extras = Extras(self._known_chips(overview), processes, self._asked.workloads_most, self._asked.has_aliases)
        chips = self._chip_rows.of(overview.devices, lifetime.chips, extras.telemetry)
        return whole_page(overview, lifetime, self._service(), extras, chips=chips)

    def is_ready(self) -> bool:
        """Whether there was ever something whole to tell: every journal that was there has been read once."""
        if not self._has_data:
            with self._lock:
                self._collector.tick()
                self._has_data = self._collector.overview().reason != "settling"
        return self._has_data

    def _known_chips(self, overview: Overview) -> Mapping[int, ChipTelemetry]:
        """What the driver says of chips, by their numbers; asked now and then."""
        if time.monotonic() >= self._chips_until:
            self._chips = self._telemetry()
            self._chips_until = time.monotonic() + _TELEMETRY_SECONDS
        if not self._chips:
            return {}
        found = ((usage.device.number, chip_of(usage.device, self._chips)) for usage in overview.devices)
        return {number: chip for number, chip in found if chip is not None}
