"""The last overview of a daemon. The next one keeps every chip and process whose bytes are the same.

DESIGN 12, "monitor <= 1.5 % of a core": screens skip what is the same object. Without this the overviews are equal.
"""

import msgspec

from ttmem.snapshot import DeviceUsage, ProcessUsage, Snapshot, TimeNs, replace
from ttmem.snapshot.codec import decoded, decoded_row
from ttmem.snapshot.values import decode_hook

__all__ = ["LastOverview"]


class _Rows(Snapshot, frozen=True, kw_only=True):
    """A snapshot whose chips and processes are not decoded yet."""

    devices: tuple[msgspec.Raw, ...]  # type: ignore[assignment]
    processes: tuple[msgspec.Raw, ...]  # type: ignore[assignment]

    def __post_init__(self) -> None:
        """What follows from chips and processes is worked out when they are decoded."""


class LastOverview:
    """One overview, and the tag that names it. Replaced as one: any thread may ask."""

    def __init__(self) -> None:
        self._last: tuple[str, Snapshot] | None = None
        self._devices: dict[bytes, DeviceUsage] = {}
        self._processes: dict[bytes, ProcessUsage] = {}

    @property
    def headers(self) -> dict[str, str]:
        """What to say when asking for the next."""
        return {"If-None-Match": self._last[0]} if self._last else {}

    def decoded(self, body: bytes, tag: str) -> Snapshot:
        """An overview that came with a tag; empty for none."""
        rows = decoded(body, _Rows)
        devices = {(raw := bytes(row)): self._devices.get(raw) or decoded_row(raw, DeviceUsage) for row in rows.devices}
        processes = {
            (raw := bytes(row)): self._processes.get(raw) or decoded_row(raw, ProcessUsage) for row in rows.processes
        }
        others = {name: getattr(rows, name) for name in _OTHERS}
        overview = Snapshot(
            **others,
            devices=tuple(devices[bytes(row)] for row in rows.devices),
            processes=tuple(processes[bytes(row)] for row in rows.processes),
        )
        self._devices, self._processes = devices, processes
        self._last = (tag, overview) if tag else None
        return overview

    def again(self, tag: str, time_ns: str) -> Snapshot | None:
        """The same at another moment; None if it is another one than this."""
        if self._last is None or self._last[0] != tag:
            return None
        try:
            return replace(self._last[1], time_ns=decode_hook(TimeNs, time_ns))
        except ValueError:
            return None


_OTHERS = ("time_ns", "source", "places", "host", "foreign", "findings")
