"""What a chip is called in labels: the same in every series and from page to page, and never the same as another."""

from collections.abc import Iterable

from ttmem.devices import Device

__all__ = ["cut", "device_labels"]


def device_labels(devices: Iterable[Device]) -> dict[int, str]:
    """The label of every device, by its number: its index as the runtime counts, or what it is known by instead. Of two
    chips that different processes call by the same index, the one known first keeps it; the other has its unique id."""
    labels: dict[int, str] = {}
    taken: set[str] = set()
    for device in sorted(devices, key=lambda device: device.number):
        word = _word(device)
        label = _own_word(device) if word in taken else word
        taken.add(label)
        labels[device.number] = label
    return labels


def _word(device: Device) -> str:
    if device.index is not None and not device.is_seed:
        return str(device.index)
    return device.name or _own_word(device)


def _own_word(device: Device) -> str:
    return device.uuid or f"{device.name or 'unknown'}#{device.number}"


def cut(text: str, most_bytes: int) -> str:
    """A label of no more than so many bytes, without characters that a page cannot have."""
    return text.encode(errors="replace")[:most_bytes].decode(errors="ignore").replace("\0", "")
