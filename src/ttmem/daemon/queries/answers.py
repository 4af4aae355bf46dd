"""What a daemon answers, by the names of its routes: parameters in, figures out."""

import time
from collections.abc import Callable, Mapping

from ttmem.collector import Collector
from ttmem.collector.collector import MOST_KERNELS
from ttmem.errors import SelectionError
from ttmem.snapshot import TimeNs
from ttmem.snapshot.chip_map import ChipMap
from ttmem.snapshot.dump import BY, Dump
from ttmem.snapshot.history import SPANS_SECONDS, History
from ttmem.snapshot.incidents import IncidentCopy, no_copy_text
from ttmem.snapshot.kernel_table import KernelTable
from ttmem.snapshot.process_detail import ProcessDetail
from ttmem.snapshot.selection import MOST
from ttmem.snapshot.telemetry import Telemetry
from ttmem.snapshot.values import Answer
from ttmem.sources.driver import Driver

__all__ = ["AnswerTo", "Answers", "BadQuery", "number_in", "whole_number_in", "word_in"]

_MOST_NUMBER = 1 << 53  # beyond that JSON readers are no longer exact


class BadQuery(Exception):
    """A parameter that cannot be understood."""


def number_in(parameters: Mapping[str, str], name: str, default: float, *, least: float, most: float) -> float:
    """The number of that name, which must lie within limits."""
    text = parameters.get(name)
    if text is None:
        return default
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not least <= value <= most:
        raise BadQuery(f"{name}: expected a number from {least:g} to {most:g}, found {text!r}")
    return value


def whole_number_in(parameters: Mapping[str, str], name: str, default: int | None = None) -> int:
    """A whole number; one without a default has to be given."""
    text = parameters.get(name)
    if text is None and default is not None:
        return default
    digits = (text or "").removeprefix("-")
    if not digits.isascii() or not digits.isdecimal() or len(digits) > 19 or int(digits) > _MOST_NUMBER:
        raise BadQuery(f"{name}: expected a whole number, found {'nothing' if text is None else repr(text)}")
    return int(text or "")


def word_in(parameters: Mapping[str, str], name: str) -> str:
    """A word, which has to be given."""
    text = parameters.get(name)
    if not text:
        raise BadQuery(f"{name}: expected a word, found nothing")
    return text


_MOST_ROWS = 10_000  # in one list of an answer
_MOST_PID = 1 << 32

Parameters = Mapping[str, str]
AnswerTo = Callable[[Parameters], Answer]


class Answers:
    """Answers from what a collector knows. Any thread may ask."""

    def __init__(self, collector: Collector, driver: Driver) -> None:
        self._collector = collector
        self._driver = driver

    @property
    def routes(self) -> dict[str, AnswerTo]:
        """Every close-up by its name: GET /name?parameters."""
        return {
            "process": self.process,
            "chip": self.chip,
            "kernels": self.kernels,
            "history": self.history,
            "telemetry": self.telemetry,
            "incident": self.incident,
            "dump": self.dump,
        }

    def chip(self, parameters: Parameters) -> ChipMap:
        """One chip by address: ?device=WORD, as `ps -i` names it."""
        self._collector.tick()
        return self._collector.chip(word_in(parameters, "device"))

    def kernels(self, parameters: Parameters) -> KernelTable:
        """The kernels of one chip: ?device=WORD&most=N."""
        most = _shortened(whole_number_in(parameters, "most", MOST_KERNELS)) or _MOST_ROWS  # 0: all
        self._collector.tick()
        return self._collector.kernels(word_in(parameters, "device"), most)

    def history(self, parameters: Parameters) -> History:
        """What was used when: ?seconds=N up to now."""
        seconds = number_in(parameters, "seconds", SPANS_SECONDS[0], least=1, most=SPANS_SECONDS[-1])
        return self._collector.history(int(seconds))

    def telemetry(self, parameters: Parameters) -> Telemetry:
        """What the driver says of its chips."""
        return Telemetry(time_ns=TimeNs(time.time_ns()), chips=self._driver.telemetry())

    def incident(self, parameters: Parameters) -> IncidentCopy:
        """What was alive at an incident: ?pid=N&number=N, `key` if there are several of that pid."""
        pid, number = whole_number_in(parameters, "pid"), whole_number_in(parameters, "number")
        key = whole_number_in(parameters, "key", 0) or None
        self._collector.tick()
        copy = self._collector.incident_copy(pid, number, key=key) if number > 0 and 0 <= pid < _MOST_PID else None
        if copy is None:
            raise SelectionError(no_copy_text(pid, number))
        return copy

    def dump(self, parameters: Parameters) -> Dump:
        """What is alive: ?kernels=1&device=WORD&most=N&by=site."""
        most = int(number_in(parameters, "most", MOST, least=0, most=1_000_000))
        has_kernels = parameters.get("kernels", "") not in ("", "0", "false")
        by = parameters.get("by", "")
        if by not in BY:
            raise BadQuery(f"by: expected {' or '.join(filter(None, BY))}, found {by!r}")
        self._collector.tick()
        return self._collector.dump(kernels=has_kernels, device=parameters.get("device"), most=most, by=by)

    def process(self, parameters: Parameters) -> ProcessDetail:
        """One process close up: ?pid=N, `key` if there are several of that pid, `most` for the length of its lists."""
        pid = whole_number_in(parameters, "pid")
        key = whole_number_in(parameters, "key", 0) or None
        most = _shortened(whole_number_in(parameters, "most", MOST))
        self._collector.tick()
        return self._collector.process(pid, key=key, most=most)


def _shortened(most: int) -> int:
    """How long a requested list may be."""
    return min(_MOST_ROWS, max(0, most))
