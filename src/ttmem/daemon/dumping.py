"""What is alive now, allocation by allocation, as text for the log.

The messages DUMP_REMAINING and DUMP_KERNELS print what the proof of concept of the allocation server printed, for
scripts that search its log; numbers look as C++ prints them. SIGUSR1 prints the page of `ttmem dump`.
"""

from ttmem.collector import Collector
from ttmem.daemon.log import KERNELS, PAGE
from ttmem.devices import Pool
from ttmem.snapshot.dump import Dump, DumpedAllocation, DumpGroup
from ttmem.snapshot.selection import MOST
from ttmem.view import plain
from ttmem.view.page import PageOptions
from ttmem.view.pages.dump import dump_page

__all__ = ["Dumping"]

_MOST_BUFFERS = 10  # of one type are listed one by one
_MOST_KERNELS = 1000  # of one device
_BUFFER_WORDS = {
    Pool.DRAM.word: "DRAM",
    Pool.L1.word: "L1",
    Pool.HOST.word: "SYSTEM_MEMORY",
    Pool.L1_SMALL.word: "L1_SMALL",
    Pool.TRACE.word: "TRACE",
}
_KIB, _MIB = 1024, 1024 * 1024


class Dumping:
    """Makes dumps from what a collector knows."""

    def __init__(self, collector: Collector) -> None:
        self._collector = collector

    def text(self, what: str) -> str:
        """What goes into the log: the page of `ttmem dump`, or what a message of the protocol asks for."""
        if what == PAGE:
            return "\n" + plain(dump_page(self._dump(False, MOST), PageOptions())) + "\n"
        if what == KERNELS:
            return kernels_text(self._dump(True, _MOST_KERNELS))
        return remaining_text(self._dump(False, MOST))

    def _dump(self, has_kernels: bool, most: int) -> Dump:
        self._collector.tick()
        return self._collector.dump(kernels=has_kernels, most=most)


def remaining_text(dump: Dump) -> str:
    """All buffers that are alive, by device and type; single ones where there are few."""
    devices = [
        (device.device, [group for group in device.groups if not group.is_kernel and group.type in _BUFFER_WORDS])
        for device in dump.devices
    ]
    count = sum(group.count for _, groups in devices for group in groups)
    lines = ["", *_title("REMAINING ALLOCATED BUFFERS"), f"Total tracked allocations: {count}", ""]
    if not count:
        return "\n".join([*lines, "✓ No buffers remaining - perfect cleanup!", ""])
    for device, groups in devices:
        if not groups:
            continue
        lines.append(f"Device {device.index if device.index is not None else -1}:")
        for group in groups:
            size = f"{group.used_bytes / _MIB:g} MB total"
            lines.append(f"  {_BUFFER_WORDS[group.type]}: {group.count} buffers, {size}")
            if group.count <= _MOST_BUFFERS:
                lines += map(_buffer_line, group.allocations)
        lines.append("")
    return "\n".join([*lines, f"Total remaining buffers: {count}", "", ""])


def kernels_text(dump: Dump) -> str:
    """All kernels that are loaded, by device."""
    count = sum(group.count for device in dump.devices for group in device.groups)
    lines = ["", *_title("LOADED KERNELS"), f"Total loaded kernels: {count}", ""]
    for device in dump.devices:
        index = device.device.index if device.device.index is not None else -1
        lines.append(f"Device {index}: {sum(group.count for group in device.groups)} kernels")
        for group in device.groups:
            lines += [_kernel_line(kernel, group, dump.time_ns) for kernel in group.allocations]
            if group.more_count:
                lines.append(f"  ... and {group.more_count} more of type {group.type.capitalize()}")
        lines.append("")
    return "\n".join([*lines, ""])


def _title(words: str) -> tuple[str, str, str]:
    return f"╔{'═' * 62}╗", f"║           {words:<51}║", f"╚{'═' * 62}╝"


def _buffer_line(buffer: DumpedAllocation) -> str:
    place = buffer.id if buffer.address is None else buffer.address
    size = f"{buffer.size_bytes / _KIB:g} KB"
    return f"    - Buffer 0x{place:x}: {size} (PID {buffer.owner.pid}, ref_count={buffer.holder_count})"


def _kernel_line(kernel: DumpedAllocation, group: DumpGroup, now_ns: int) -> str:
    size = (kernel.requested_bytes or kernel.size_bytes) / _KIB  # binary size x cores, where that is known
    age = "" if kernel.time_ns is None else f", Age: {max(0, now_ns - kernel.time_ns) // 1_000_000_000}s"
    whose = f"PID: {kernel.owner.pid}{age}, Type: {group.type.capitalize()}"
    return f"  Kernel ID: 0x{kernel.id:x}, Size: {size:g} KB, {whose}"
