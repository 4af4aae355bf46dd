"""What a chip is called in labels: the same in every series and from page to page, and never the same as another."""

from collections import Counter
from collections.abc import Iterable

from ttmem.devices import Device

__all__ = ["cut", "device_labels"]


def device_labels(devices: Iterable[Device]) -> dict[int, str]:
    """The label of every device, by its number: its index as the runtime counts, or what it is known by instead. Two
    chips that different processes call by the same index are told apart by their unique ids."""
    listed = list(devices)
    words = {device.number: _word(device) for device in listed}
    often = Counter(words.values())
    return {
        device.number: words[device.number] if often[words[device.number]] == 1 else _own_word(device)
        for device in listed
    }


def _word(device: Device) -> str:
    if device.index is not None and not device.is_seed:
        return str(device.index)
    return device.name or _own_word(device)


def _own_word(device: Device) -> str:
    return device.uuid or f"{device.name or 'unknown'}#{device.number}"


def cut(text: str, most_bytes: int) -> str:
    """A label of no more than so many bytes, without characters that a page cannot have."""
    return text.encode(errors="replace")[:most_bytes].decode(errors="ignore").replace("\0", "")
