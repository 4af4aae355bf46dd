"""An overview as text, again and again: mostly little has changed since the last one, and that is encoded once.

The tag of a text names everything in it but the moment: whoever has the last one needs no more than that.
"""

import json
import time
from collections.abc import Hashable, Iterable
from typing import Any

from ttmem.daemon.answering.site_paths import with_public_body
from ttmem.daemon.frames import Encoded
from ttmem.snapshot.sights.documents.overview import device_document, overview_document, process_row_document
from ttmem.snapshot.sights.overview import Overview

__all__ = ["OverviewText"]

_OF_THE_MOMENT = ("time", "time_ns")


class OverviewText:
    """Encodes overviews, one at a time."""

    def __init__(self) -> None:
        self._devices: dict[Hashable, tuple[object, str]] = {}
        self._processes: dict[Hashable, tuple[object, str]] = {}
        self._last: list[str] = []
        self._number = 0
        self._name = f"{time.time_ns():x}"  # another daemon's first answer is not ours

    def written(self, overview: Overview) -> Encoded:
        """The text of `overview_document`."""
        devices = ((usage.device.number, usage) for usage in overview.devices)
        self._devices = _texts(devices, self._devices, device_document)
        self._processes = _texts(((row.key, row) for row in overview.processes), self._processes, process_row_document)
        head = overview_document(overview._replace(devices=(), processes=()))
        moment = [f"{_text(name)}:{_text(head.pop(name))}" for name in _OF_THE_MOMENT]
        del head["device_info"], head["processes"]
        lasting = [
            *(f"{_text(name)}:{_text(value)}" for name, value in head.items()),
            _listed("device_info", self._devices),
            _listed("processes", self._processes),
        ]
        if lasting != self._last:
            self._last = lasting
            self._number += 1
        body = "{" + ",".join([*moment, *lasting]) + "}"
        return with_public_body(body.encode(), f'"{self._name}-{self._number}"', overview.time_ns)


def _texts(
    rows: Iterable[tuple[Hashable, Any]], before: dict[Hashable, tuple[object, str]], document: Any
) -> dict[Hashable, tuple[object, str]]:
    """Every row with its text; one that is the very same as before has the same."""
    found: dict[Hashable, tuple[object, str]] = {}
    for name, row in rows:
        known = before.get(name)
        found[name] = known if known is not None and known[0] is row else (row, _text(document(row)))
    return found


def _listed(name: str, rows: dict[Hashable, tuple[object, str]]) -> str:
    return f'"{name}":[{",".join([text for _, text in rows.values()])}]'


_text = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode
