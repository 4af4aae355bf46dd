"""What is shown as text, the same on every face: sizes, shares and times as people read them (exact bytes are in JSON
only), sentences for what does not add up and for why figures are not complete, what an allocation is and who asked."""

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import pairwise
from typing import TYPE_CHECKING

from ttmem.devices import BufferLayout
from ttmem.snapshot import Finding
from ttmem.snapshot.values import EMBEDDED, ChipName
from ttmem.view.table import clean

if TYPE_CHECKING:
    from ttmem.snapshot.dump import DumpedAllocation

__all__ = ["bins", "highest", "sparkline"]

UNKNOWN = "[N/A]"
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_SIZE = r"(?i)\s*(\d+(?:\.\d*)?|\.\d+)\s*(?:([kmgtpe])i?)?b?\s*"


def size_text(size_bytes: int | None) -> str:
    """Three significant digits and a unit, at most 8 characters: 9.21 GiB, 64.0 KiB, 512 B."""
    if size_bytes is None:
        return UNKNOWN
    unit = min(len(_UNITS) - 1, (size_bytes.bit_length() - 1) // 10 if size_bytes > 0 else 0)
    amount = size_bytes / (1 << 10 * unit)
    if amount >= 1023.5 and unit < len(_UNITS) - 1:
        amount, unit = amount / 1024, unit + 1
    if unit == 0 or amount >= 99.95:
        return f"{amount:.0f} {_UNITS[unit]}"
    return f"{amount:.1f} {_UNITS[unit]}" if amount >= 9.995 else f"{amount:.2f} {_UNITS[unit]}"


def signed_text(size_bytes: int | None) -> str:
    """A size that may be below 0: -4.00 KiB."""
    return f"-{size_text(-size_bytes)}" if size_bytes is not None and size_bytes < 0 else size_text(size_bytes)


def tight_size_text(size_bytes: int | None) -> str:
    """The same in at most 5 characters, where there is no room for more: 9.21G, 64.0K, 512B."""
    return size_text(size_bytes).replace(" ", "").removesuffix("iB")


def packed_text(sizes_bytes: Sequence[int]) -> str:
    """What a kernel's binaries take, one for each processor: 1252+860+1428; empty if they are not known."""
    return "+".join(map(str, sizes_bytes))


def size_of_text(text: str) -> int | None:
    """Bytes of a size as people type it: 4GiB, 1.5g, 200 KiB, 512; units are 1024-based. None if it is no size."""
    found = re.fullmatch(_SIZE, text)
    if not found:
        return None
    amount, unit = found.groups()
    return round(float(amount) * (1 << 10 * ("kmgtpe".index(unit.lower()) + 1 if unit else 0)))


def share_text(fraction: float | None) -> str:
    """A percentage that says 100 only when it is full, and 0 only when it is empty."""
    if fraction is None:
        return UNKNOWN
    if 0 < fraction < 0.01:
        return "<1%"
    return f"{int(fraction * 100 + 1e-9)}%"


def count_text(count: int | None) -> str:
    return UNKNOWN if count is None else f"{count:,}"


def tight_count_text(count: int | None, digits: int = 4) -> str:
    """With so many digits at most 5 characters: 1,204 or 12.0k; with one less 4: 1.2k; exact counts are in JSON."""
    if count is None:
        return UNKNOWN
    if count < 10**digits:
        return f"{count:,}"
    amount, unit = float(count), 0
    while amount >= 999.5:
        amount, unit = amount / 1000, unit + 1
    return f"{amount:.1f}"[:digits].rstrip(".") + " kMGTPE"[unit]


def clock_text(time_ns: int | None) -> str:
    """Hours, minutes and seconds in local time."""
    if time_ns is None:
        return UNKNOWN
    return datetime.fromtimestamp(time_ns / 1e9).strftime("%H:%M:%S")


def age_text(age_ns: int | None) -> str:
    """How long ago, in one or two whole units: 0.25 s, 12 s, 4 min, 3 h 10 min, 12 d 4 h."""
    if age_ns is None:
        return UNKNOWN
    seconds = max(0, age_ns) / 1e9
    if seconds < 60:
        return f"{seconds:.2f} s" if seconds < 9.995 else f"{int(seconds)} s"
    minutes = int(seconds // 60)
    if minutes < 60:
        return f"{minutes} min"
    hours = minutes // 60
    if hours < 24:
        return f"{hours} h {minutes % 60} min"
    return f"{hours // 24} d {hours % 24} h"


def whole_age_text(age_ns: int) -> str:
    """An age in whole units: `2 s`, not `2.31 s`."""
    return age_text(age_ns) if age_ns >= 60 * 10**9 else f"{max(0, age_ns) // 10**9} s"


def ranges_text(numbers: list[int]) -> str:
    """Whole numbers as short ranges: 0-3,7."""
    parts: list[list[int]] = []
    for number in sorted(numbers):
        if parts and number == parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in parts)


_LIST_MOST = 16  # of device numbers, before a list is shortened


def device_word(device: ChipName) -> str:
    """The shortest name of a device: its index, or what is known instead."""
    if device.index is not None and not device.is_server_chip:
        return str(device.index)
    return clean(device.name) or (device.uuid or "?")


def devices_word(devices: Iterable[ChipName], most: int = _LIST_MOST) -> str:
    """The shortest name of several devices: 0-3,server:0-1,unknown:9; cut beyond so many columns."""
    indexes: dict[bool, list[int]] = {False: [], True: []}
    others = []
    for device in devices:
        if device.index is None:
            others.append(device_word(device))
        else:
            indexes[device.is_server_chip].append(device.index)
    server_chips = f"server:{ranges_text(indexes[True])}" if indexes[True] else ""
    return _shortened(",".join(filter(None, [ranges_text(indexes[False]), server_chips, *others])), most)


def _shortened(ranges: str, most: int) -> str:
    """A long list by its beginning: 1-2,4,7-8,..."""
    if len(ranges) <= most:
        return ranges
    return ranges[: ranges.rindex(",", 0, most - 3) + 1] + "..." if "," in ranges[: most - 3] else ranges


def pid_text(pid: int, *, is_visible: bool = True) -> str:
    """A pid as people read it: with a mark if it is another namespace's, and none if no process is known."""
    return f"{pid or ''}{'' if is_visible and pid else '?'}"


def plural(count: int, word: str, ending: str) -> str:
    """A count with its word."""
    return f"{count:,} {word}{'' if count == 1 else ending}"


_PACKAGES = "/site-packages/"

FINDINGS = {
    "unknown_free": "free of something that was never allocated",
    "double_free": "free of something already freed",
    "wrong_target_free": "free on another device than the allocation",
    "replaced": "allocation of an id that was still alive (its free was lost)",
    "clamped": "size beyond what any device has, cut",
    "shrunk_kernel": "kernel loaded again with a smaller size",
    "lock_lost": "process alive but its lock on the journal is gone (it closed all its descriptors)",
    "overlap": "address that two meshes over one chip both hold: they overwrite each other",
    "counter_mismatch": "counter that differs from the list of what is alive",
    "unsized_free": "free without a size while the table was full: counters are no longer exact",
    "names_lost": "name that found no room",
    "stacks_lost": "stack that found no room",
    "phases_lost": "phase that found no room",
    "targets_lost": "device or mesh beyond the 255 a process may open",
    "unknown_device": "buffer whose device is not known: it is missing from all figures",
    "undivided_l1": "device on which L1_SMALL and L1 cannot be distinguished: its bytes are counted as L1",
    "unjudged": "allocation, free or trace that was not compared: unsafe replays may be missing",
    "impossible_record": "record that no writer could have left (a damaged journal)",
    "free_size": "free that names another size than was allocated",
    "unknown_type": "buffer of an unknown type (counted in pool unknown)",
    "devices_lost": "device id beyond the 65,535 a process may name (kept under unknown)",
    "two_sources": "reports by journal and by socket: the journal's figures count, the socket's are shown apart",
    "runtime_misses": "the runtime's counter misses allocations of other threads: what was counted is shown",
    "runtime_exceeds": "the runtime's counter says more than was counted, which is shown",
    "region_ignored": "file of the runtime's counters ignored",
    "daemon_ignored": "daemon ignored",
    "socket_blocked": "socket of the daemon that something of another user, or a full disk, keeps it from",
    "directory_ignored": "directory ignored",
    "file_ignored": "file ignored",
    "damaged": "file that is no sound journal",
    "contradicted": "description of a chip that another opener, or the driver, contradicts",
    "over_capacity": "more in use than the chip has",
    "file_removed": "journal removed while its process lives: read through the descriptor of the process",
    "unread_part": "part of the recording that cannot be read",
    "unverified": "journal of which no process is confirmed as the writer: listed under no pid, counted nowhere",
}

REASONS = {
    "outrun": "reports faster than they can be followed: totals are the process's own counters, the list lags",
    "targets_lost": "opened more than the 255 chips and meshes a journal has room for: what it holds on the others is "
    "counted under no chip",
    "table_full": "holds more than its table has room for: totals are right, the list is cut (raise TTMEM_TABLE)",
    "damaged": "its journal is damaged: last figures that were read",
    "unknown_device": "has buffers whose device is not known: they are missing",
    "restored": "known from a daemon's checkpoint: what it did while no daemon ran is missing",
    "uncounted": "attached to the device, but the runtime's counters say nothing of it: what it holds is unknown",
    "read": "does not report: the runtime's counters have its sums, not its allocations",
    "unplaced": "some did not say where they lie: what is free between them is not known",
    "undivided": "this release of ttnn does not separate L1_SMALL from L1: l1 is both together, l1_small is unknown",
    "settling": "is being read for the first time",
    "contradicted": "openers, or the driver, say different things of it: which are true is not known",
    "over_capacity": "more is reported than it has: what is free is not known",
    "unverified": "the kernel confirms no process as the writer of its journal: its figures are counted nowhere",
    "unknown": "cannot be followed",
}


def finding_text(finding: Finding) -> str:
    """One line for one finding, without the process it belongs to."""
    if finding.text:
        return finding.text
    words = FINDINGS.get(finding.name, finding.name.replace("_", " "))
    return words if finding.count == 1 else f"{finding.count:,} x {words}"


def reason_text(reason: str) -> str:
    return REASONS.get(reason, reason)


def label_text(label: str) -> str:
    """A label; of one that is a command, the program and its script without their directories."""
    words = label.split(" ")
    for at in (0, 1) if words[0].rpartition("/")[2].startswith("python") else (0,):
        if at < len(words) and words[at].startswith("/"):
            words[at] = words[at].rpartition("/")[2] or words[at]
    return " ".join(words)


def looked_text(source: str, places: Sequence[str]) -> str:
    """Where was looked for journals, and by whom if not by this viewer."""
    where = f"looked in {', '.join(map(clean, places))}"
    return where if source == EMBEDDED else f"{clean(source)} {where}"


def process_text(pid: int, label: str) -> str:
    """What a line about a process begins with."""
    return f"pid {pid} {label}" if pid else f"unverified {label}"


def what_text(one: "DumpedAllocation") -> str:
    """What an allocation is: `1x1x32x14336 bfloat16, width sharded`; its kind where no tensor is known."""
    what = one.tensor.removesuffix(" tile") or one.kind.word.replace("_", " ")  # tiles are the rule
    return f"{what}, {one.layout.word.replace('_', ' ')}" if one.layout is not BufferLayout.UNKNOWN else what


def stack_text(stack: tuple[str, ...], most: int) -> str:
    """The innermost frames of the program itself, without directories: not of packages that it calls."""
    frames = [frame for frame in stack if _PACKAGES not in frame] or list(stack)
    places = (frame.partition(" ") for frame in frames[:most])
    return " < ".join(f"{place.rpartition('/')[2]}{blank}{function}" for place, blank, function in places)


def name_text(name: str, word: str) -> str:
    """A name in one line; of files their last part, as everywhere on screen. JSON has all of it."""
    lines = name.split("\n")
    if word == "site":
        lines = [line.partition(" ")[0].rpartition("/")[2] + "".join(line.partition(" ")[1:]) for line in lines]
    return clean(" < ".join(lines))


def no_lines_text(reason: str) -> str:
    """Stands where lines would, if Python stacks cannot be read."""
    return f"no lines: {reason}, see ttmem doctor"


_STEPS = "▁▂▃▄▅▆▇█"
_ASCII_STEPS = "_.-=+*%#"

Sample = int | float | None


def sparkline(samples: Sequence[Sample], width: int, is_ascii: bool = False, *, top: float | None = None) -> str:
    """Exactly `width` characters; `top` is what fills one (a capacity), or else the highest sample does."""
    steps = _ASCII_STEPS if is_ascii else _STEPS
    heights = bins(samples, width)
    full = max([top or 0, *(height or 0 for height in heights)])
    return "".join(" " if height is None else steps[_step(height, full, len(steps))] for height in heights)


def bins(samples: Sequence[Sample], width: int) -> list[Sample]:
    """The samples in exactly `width` bins, each as high as its highest: no spike is lost; too few stand right."""
    if width <= 0:
        return []
    if len(samples) <= width:
        return [None] * (width - len(samples)) + list(samples)
    edges = [at * len(samples) // width for at in range(width + 1)]
    return [highest(samples[begin:end]) for begin, end in pairwise(edges)]


def highest(samples: Sequence[Sample]) -> Sample:
    """The highest of those that are known; None if none is."""
    return max((sample for sample in samples if sample is not None), default=None)


def _step(height: float, full: float, count: int) -> int:
    """Which of so many steps: the lowest for nothing, the highest only when full, one above the lowest for whatever is
    there."""
    if height <= 0 or full <= 0:
        return 0
    return min(count - 1, max(1, int(height / full * (count - 1) + 1e-9)))
