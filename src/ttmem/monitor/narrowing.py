"""Some devices, users or processes only, as the flags -i, -u and -p say. Sums stay whole: they are everybody's."""

from collections.abc import Callable, Sequence

from ttmem.errors import SelectionError
from ttmem.figures.source import FigureSource
from ttmem.monitor.steadiness import Steadiness
from ttmem.snapshot import Selection
from ttmem.snapshot.device import Device
from ttmem.snapshot.selection import device_test, known_devices
from ttmem.snapshot.telemetry import ChipTelemetry
from ttmem.snapshot.usage import ProcessUsage, Snapshot
from ttmem.snapshot.values import replace

__all__ = ["NarrowLooking", "WordsOf", "narrowed"]


def narrowed(overview: Snapshot, selection: Selection) -> Snapshot:
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
        processes = (row for row in processes if kept & set(row.chips))
    return replace(overview, devices=devices, processes=tuple(processes))


def _is_wanted(row: ProcessUsage, selection: Selection) -> bool:
    if selection.users and row.user not in selection.users and str(row.uid) not in selection.users:
        return False
    return not selection.pids or row.pid in selection.pids


Telemetry = Callable[[], Sequence[ChipTelemetry]]
WordsOf = Callable[[Telemetry, Sequence[Device]], tuple[str, ...]]


class NarrowLooking(FigureSource):
    """Looks as others do, and tells a part of it."""

    selection = Selection()
    steadiness: Steadiness | None = None
    words_of: WordsOf | None = None  # what chips that were asked for are called, by the driver and those that are known
    _known: tuple[Device, ...] | None = None  # to which the selection belongs

    def overview(self) -> Snapshot:
        overview = super().overview()
        if self.steadiness is not None:
            self.steadiness.check(overview, is_by_daemon=not self.is_collecting)
        known = tuple(usage.device for usage in overview.devices)
        if self.words_of is not None and known != self._known:
            self.selection = self.selection._replace(devices=self.words_of(self.telemetry, known))
            self._known = known
        return narrowed(overview, self.selection)
