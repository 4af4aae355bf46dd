"""Some devices, users or processes only, as the flags -i, -u and -p say. Sums stay whole: they are everybody's."""

from collections.abc import Callable, Sequence

from ttmem.daemon.asking.looking import Looking
from ttmem.devices import Device
from ttmem.errors import SelectionError
from ttmem.monitor.steadiness import Steadiness
from ttmem.snapshot import Selection
from ttmem.snapshot.selection import device_test, known_devices
from ttmem.snapshot.sights.overview import Overview, ProcessRow
from ttmem.snapshot.sights.telemetry import ChipTelemetry

__all__ = ["NarrowLooking", "WordsOf", "narrowed"]


def narrowed(overview: Overview, selection: Selection) -> Overview:
    """The same instant, less what was not asked for; SelectionError if no such device is there."""
    devices = overview.devices
    if selection.devices:
        tests = [device_test(word) for word in selection.devices]
        devices = tuple(usage for usage in devices if any(test(usage.device) for test in tests))
        if not devices:
            known = known_devices(usage.device for usage in overview.devices)
            raise SelectionError(f"no device {', '.join(selection.devices)} here; {known}")
    kept = {usage.device.number for usage in devices}
    processes = (row for row in overview.processes if _is_wanted(row, selection))
    if selection.devices:
        processes = (row for row in processes if kept & set(row.devices))
    return overview._replace(devices=devices, processes=tuple(processes))


def _is_wanted(row: ProcessRow, selection: Selection) -> bool:
    if selection.users and row.user not in selection.users and str(row.uid) not in selection.users:
        return False
    return not selection.pids or row.pid in selection.pids


Telemetry = Callable[[], Sequence[ChipTelemetry]]
WordsOf = Callable[[Telemetry, Sequence[Device]], tuple[str, ...]]


class NarrowLooking(Looking):
    """Looks as others do, and tells a part of it."""

    selection = Selection()
    steadiness: Steadiness | None = None
    words_of: WordsOf | None = None  # what chips that were asked for are called, by the driver and those that are known
    _known: tuple[Device, ...] | None = None  # to which the selection belongs

    def overview(self) -> Overview:
        overview = super().overview()
        if self.steadiness is not None:
            self.steadiness.check(overview, is_by_daemon=not self.is_collecting)
        known = tuple(usage.device for usage in overview.devices)
        if self.words_of is not None and known != self._known:
            self.selection = self.selection._replace(devices=self.words_of(self.telemetry, known))
            self._known = known
        return narrowed(overview, self.selection)
