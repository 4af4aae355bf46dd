"""What a monitor looks at, by the names of the daemon's routes: parameters in, a document out."""

from collections.abc import Callable, Mapping
from typing import Any

from ttmem.collector import Collector
from ttmem.collector.collector import MOST_KERNELS
from ttmem.daemon.answering.overview_text import OverviewText
from ttmem.daemon.answering.questions import number_in, whole_number_in, word_in
from ttmem.daemon.frames import Encoded
from ttmem.errors import SelectionError
from ttmem.snapshot.incidents import copy_document, no_copy_text
from ttmem.snapshot.selection import MOST
from ttmem.snapshot.sights.documents.chip_map import chip_map_document
from ttmem.snapshot.sights.documents.history import history_document
from ttmem.snapshot.sights.documents.kernel_table import kernel_table_document
from ttmem.snapshot.sights.documents.process_detail import process_document
from ttmem.snapshot.sights.documents.telemetry import telemetry_document
from ttmem.snapshot.sights.history import SPANS_SECONDS
from ttmem.sources.driver import Driver

__all__ = ["Sight", "Sights"]

_MOST_ROWS = 10_000  # in one list of an answer
_MOST_PID = 1 << 32

Document = dict[str, Any]
Parameters = Mapping[str, str]
Sight = Callable[[Parameters], Document]


class Sights:
    """Answers from what a collector knows. Any thread may ask."""

    def __init__(self, collector: Collector, driver: Driver) -> None:
        self._collector = collector
        self._driver = driver
        self._text = OverviewText()

    @property
    def routes(self) -> dict[str, Sight]:
        """Every close-up by its name: GET /name?parameters."""
        return {
            "process": self.process,
            "chip": self.chip,
            "kernels": self.kernels,
            "history": self.history,
            "telemetry": self.telemetry,
            "incident": self.incident,
        }

    def chip(self, parameters: Parameters) -> Document:
        """One chip by address: ?device=WORD, as `ps -i` names it."""
        self._collector.tick()
        return chip_map_document(self._collector.chip(word_in(parameters, "device")))

    def kernels(self, parameters: Parameters) -> Document:
        """The kernels of one chip: ?device=WORD&most=N."""
        most = _shortened(whole_number_in(parameters, "most", MOST_KERNELS)) or _MOST_ROWS  # 0: all
        self._collector.tick()
        return kernel_table_document(self._collector.kernels(word_in(parameters, "device"), most))

    def history(self, parameters: Parameters) -> Document:
        """What was used when: ?seconds=N up to now."""
        seconds = number_in(parameters, "seconds", SPANS_SECONDS[0], least=1, most=SPANS_SECONDS[-1])
        return history_document(self._collector.history(int(seconds)))

    def telemetry(self, parameters: Parameters) -> Document:
        """What the driver tells of its chips."""
        return telemetry_document(self._driver.telemetry())

    def incident(self, parameters: Parameters) -> Document:
        """What was alive at an incident: ?pid=N&number=N, `key` if there are several of that pid."""
        pid, number = whole_number_in(parameters, "pid"), whole_number_in(parameters, "number")
        key = whole_number_in(parameters, "key", 0) or None
        self._collector.tick()
        copy = self._collector.incident_copy(pid, number, key=key) if number > 0 and 0 <= pid < _MOST_PID else None
        if copy is None:
            raise SelectionError(no_copy_text(pid, number))
        return copy_document(copy)

    def overview(self) -> Encoded:
        """Everything at a glance, encoded; made once for all who wait for it, one at a time."""
        self._collector.scan()  # also the journal that was made a moment ago
        return self._text.written(self._collector.overview())

    def process(self, parameters: Parameters) -> Document:
        """One process close up: ?pid=N, `key` if there are several of that pid, `most` for the length of its lists."""
        pid = whole_number_in(parameters, "pid")
        key = whole_number_in(parameters, "key", 0) or None
        most = _shortened(whole_number_in(parameters, "most", MOST))
        self._collector.tick()
        return process_document(self._collector.process(pid, key=key, most=most))


def _shortened(most: int) -> int:
    """How long a list may be that somebody asks for."""
    return min(_MOST_ROWS, max(0, most))
