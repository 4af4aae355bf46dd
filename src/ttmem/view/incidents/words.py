"""The words of an incident: what it is called, where it was, who asked for how much, what came after."""

from collections.abc import Sequence

from ttmem.analysis.address_lines import is_of_sub_device
from ttmem.analysis.core_sets import cores_of, cores_text
from ttmem.snapshot.incidents import Frame, Incident, Site
from ttmem.snapshot.values import ChipName
from ttmem.view.table import clean
from ttmem.view.texts import count_text, devices_word, plural, size_text

__all__ = [
    "TITLES",
    "chips_text",
    "headline",
    "incident_title",
    "is_per_core_memory",
    "memory_word",
    "site_text",
    "sized",
]

TITLES = {"out_of_memory": "OUT OF MEMORY", "clash": "CIRCULAR BUFFERS CLASH", "unsafe_replay": "UNSAFE REPLAY"}
_MEMORIES = {"dram": "DRAM", "l1": "L1", "l1_small": "L1_SMALL", "trace": "trace region", "cb": "circular buffers"}
_FRAMES = 2  # of a stack that are shown
_UNKNOWN = "not known"


def incident_title(incident: Incident) -> str:
    """Its kind, in capitals."""
    return TITLES[incident.kind]


def memory_word(memory: str) -> str:
    return _MEMORIES.get(memory, memory)


def is_per_core_memory(incident: Incident) -> bool:
    """Whether people think of this memory core by core."""
    return incident.memory in ("l1", "l1_small", "cb")


def chips_text(incident: Incident, devices: Sequence[ChipName]) -> str:
    """`chip 0`, or `chips 0-7 (one mesh)`."""
    known = {device.uuid or device.name: device for device in devices}
    found = [known[word] for word in incident.device_ids if word in known]
    others = [clean(word) for word in incident.device_ids if word not in known]
    names = ",".join(filter(None, [devices_word(found) if found else "", *others]))
    if len(incident.device_ids) == 1:
        return f"chip {names}"
    return f"chips {names or _UNKNOWN}{' (one mesh)' if incident.is_mesh else ''}"


def headline(incident: Incident, devices: Sequence[ChipName]) -> str:
    """One sentence with all figures: where, how much was asked for, how much there was."""
    where = f"{chips_text(incident, devices)}, {memory_word(incident.memory)}"
    if is_of_sub_device(incident) and incident.cores:
        where = f"{where} of the sub-device{_on_cores(incident.cores)}"
    if incident.kind == "clash":
        return f"{chips_text(incident, devices)}, L1: {_clash(incident)}"
    if incident.kind == "unsafe_replay":
        return f"{where}: {_replay(incident)}"
    if is_per_core_memory(incident) and incident.requested_per_bank_bytes is not None:
        return f"{where}: {_per_core(incident)}"
    return f"{where}: {_in_all(incident)}"


def _per_core(incident: Incident) -> str:
    cores = f" on {plural(incident.bank_count, 'core', 's')}" if incident.bank_count else ""
    free, largest = incident.free_per_bank_bytes, incident.largest_free_per_bank_bytes
    asked = f"asked {size_text(incident.requested_per_bank_bytes)} per core{cores}"
    return f"{asked}, free {sized(free)}, largest block {sized(largest)}{' per core' if largest is not None else ''}"


def _in_all(incident: Incident) -> str:
    each = ""
    if incident.requested_per_bank_bytes is not None and incident.bank_count:
        each = (
            f" ({size_text(incident.requested_per_bank_bytes)} in each of {plural(incident.bank_count, 'bank', 's')})"
        )
    free, largest = incident.free_bytes, incident.largest_free_bytes
    return f"asked {sized(incident.requested_bytes)}{each}, free {sized(free)}, largest block {sized(largest)}"


def _on_cores(text: str) -> str:
    cores = cores_of(text)
    return f" on core {cores_text(cores)}" if cores and len(cores) == 1 else f" on cores {clean(text)}"


def _clash(incident: Incident) -> str:
    end, lowest = incident.cb_end_address, incident.lowest_buffer_address
    cores = _on_cores(incident.cores) if incident.cores else ""
    reach = f"up to {hex(end)}" if end is not None else "more than there is"
    text = f"{_program(incident)} needs circular buffers {reach}{cores}"
    if lowest is None:
        return text
    missing = f": {size_text(end - lowest)} missing" if end is not None and end > lowest else ""
    return f"{text}, but L1 buffers begin at {hex(lowest)}{missing}"


def _replay(incident: Incident) -> str:
    trace = "a trace" if incident.trace is None else f"trace {incident.trace}"
    size = f"a buffer of {size_text(incident.requested_bytes)}" if incident.requested_bytes else "a buffer"
    place = "" if incident.address is None else f" ({hex(incident.address)})"
    times = f" {count_text(incident.repeat_count + 1)} times" if incident.repeat_count else ""
    lies = "may lie" if incident.is_uncertain else "lies"
    where = "it writes"
    if incident.cb_end_address is not None:
        where = f"its programs have circular buffers (up to {hex(incident.cb_end_address)})"
    return f"{trace} was replayed{times} while {size} {lies} where {where}{place}"


def _program(incident: Incident) -> str:
    name = "a program" if incident.program is None else f"program {incident.program}"
    return f"{name} ({clean(incident.operation)})" if incident.operation else name


def sized(size_bytes: int | None) -> str:
    return _UNKNOWN if size_bytes is None else size_text(size_bytes)


def site_text(site: Site | None, frames: int = _FRAMES) -> str:
    """`model.py:118 forward < model.py:201 main`; what else is known of who asked, where there are no lines."""
    if site is None:
        return "line not known"
    if site.frames:
        return clean(" < ".join(map(_frame, site.frames[:frames])))
    if site.text:
        return clean(" < ".join(site.text_lines[:frames]))
    if site.is_other:
        return "a line that found no room"
    return clean(site.operation or site.device_operation or "line not known")


def _frame(frame: Frame) -> str:
    return f"{frame.file.rpartition('/')[2]}:{frame.line} {frame.function}".rstrip()
