"""A snapshot of some devices, users or processes only. Totals of a device stay whole: they are of all processes."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from ttmem.errors import SelectionError
from ttmem.snapshot.usage import DeviceUsage, ProcessUsage, Snapshot
from ttmem.snapshot.values import ChipName, replace

MOST = 50  # single allocations per device and type, unless asked otherwise
_MOST_NAMED = 10  # in one message


class Selection(NamedTuple):
    """What to keep; an empty part keeps all."""

    devices: tuple[str, ...] = ()  # an index such as 0, a unique id such as 0x1a2b, or a name: server:0, unknown:0
    users: tuple[str, ...] = ()  # names or uids
    pids: tuple[int, ...] = ()
    is_with_ended: bool = True


def selected(snapshot: Snapshot, selection: Selection) -> Snapshot:
    """The same instant, less what was not asked for."""
    left_behind = set() if selection.is_with_ended else _left_behind(snapshot)
    shown = [usage.device for usage in snapshot.devices if usage.device.number not in left_behind]
    remaining = {device.number for device in shown}
    if selection.devices:
        wanted = [device_test(word) for word in selection.devices]
        remaining = {device.number for device in shown if any(test(device) for test in wanted)}
        if not remaining:
            raise SelectionError(f"no device {', '.join(selection.devices)} here; {known_devices(shown)}")
    processes = (process for process in snapshot.processes if _is_wanted(process, selection))
    if selection.devices:
        names = {device.uuid or device.name for device in shown if device.number in remaining}
        trimmed = (_on(process, remaining, names) for process in processes)
        processes = (process for process in trimmed if process.devices or process.incidents)
    return replace(
        snapshot,
        devices=tuple(usage for usage in snapshot.devices if usage.device.number in remaining),
        processes=tuple(processes),
    )


def _left_behind(snapshot: Snapshot) -> set[int]:
    """Devices that only processes which have ended ever touched."""
    ended = {held.device.number for process in snapshot.ended for held in process.devices}
    live = {held.device.number for process in snapshot.live for held in process.devices}
    is_idle = {usage.device.number for usage in snapshot.devices if not usage.device.open_count}
    return (ended & is_idle) - live


def is_device_name(word: str) -> bool:
    """Whether it is the name of a device without a unique id. `seed:0` is the older form of `server:0`."""
    return word.startswith(("server:", "unknown:", "seed:"))


def device_test(word: str) -> Callable[[ChipName], bool]:
    """Whether a device is meant by a word: its index (chips and server chips alike), its unique id, or its name."""
    if is_device_name(word):
        name = f"server:{word[5:]}" if word.startswith("seed:") else word
        return lambda device: not device.is_known and device.name == name
    try:
        number = int(word, 0)
    except ValueError:
        raise SelectionError(f"{word!r} is no device: give an index such as 0, or a unique id such as 0x1a2b") from None
    if word.lower().startswith("0x"):
        return lambda device: device.is_known and device.unique_id == number
    return lambda device: device.index == number


def found_device(devices: Iterable[DeviceUsage], word: str) -> DeviceUsage:
    """The first device that is meant by a word; one that is not there is a SelectionError."""
    is_it, listed = device_test(word), tuple(devices)
    for usage in listed:
        if is_it(usage.device):
            return usage
    raise SelectionError(f"no device {word} here; {known_devices(usage.device for usage in listed)}")


def known_devices(devices: Iterable[ChipName]) -> str:
    """Which devices could have been asked for, in a few words."""
    words = list(dict.fromkeys(filter(None, map(_word, devices))))
    if not words:
        return "no device is known now"
    more = f", ... and {len(words) - _MOST_NAMED} more" if len(words) > _MOST_NAMED else ""
    return f"known are {', '.join(words[:_MOST_NAMED])}{more}"


def _word(device: ChipName) -> str:
    """What `device_test` takes for it."""
    return str(device.index) if device.index is not None else device.uuid or device.name


def _is_wanted(process: ProcessUsage, selection: Selection) -> bool:
    if selection.users and process.user not in selection.users and str(process.uid) not in selection.users:
        return False
    if selection.pids and process.pid not in selection.pids:
        return False
    return process.is_live or selection.is_with_ended


def _on(process: ProcessUsage, remaining: set[int], names: set[str]) -> ProcessUsage:
    incidents = tuple(incident for incident in process.incidents if names & {*incident.device_ids})
    return replace(
        process,
        devices=tuple(held for held in process.devices if held.device.number in remaining),
        other_devices=tuple(held for held in process.other_devices if held.device.number in remaining),
        programs=tuple(program for program in process.programs if program.device.number in remaining),
        phases=tuple(phase for phase in process.phases if phase.device.number in remaining),
        out_of_memory=tuple(refused for refused in process.out_of_memory if refused.device.number in remaining),
        clashes=tuple(clash for clash in process.clashes if clash.device.number in remaining),
        incidents=incidents,
        incident_count=process.incident_count - len(process.incidents) + len(incidents),
    )
