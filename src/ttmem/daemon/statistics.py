"""The block of figures that the older allocation server printed every ten seconds, with what it left out: circular
buffers and kernels by type. Numbers look as C++ prints them, so that scripts written for the older log read ours."""

import time
from collections.abc import Callable

from ttmem.devices import Kind, Pool
from ttmem.snapshot import DeviceUsage, Snapshot

__all__ = ["Statistics", "statistics_text"]

_EVERY_SECONDS = 10.0
_POOLS = (
    ("DRAM", Pool.DRAM),
    ("L1", Pool.L1),
    ("L1_SMALL", Pool.L1_SMALL),
    ("TRACE", Pool.TRACE),
    ("CB", Pool.CB),
)
_KERNELS = (
    ("Application", Kind.KERNEL_APPLICATION),
    ("Fabric", Kind.KERNEL_FABRIC),
    ("Dispatch", Kind.KERNEL_DISPATCH),
    ("Unknown", Kind.KERNEL_UNKNOWN),
)


class Statistics:
    """Says the figures every ten seconds, if they changed, and at the end."""

    def __init__(self, snapshot: Callable[[], Snapshot], *, clock: Callable[[], float] = time.monotonic) -> None:
        self._snapshot = snapshot
        self._clock = clock
        self._due = clock() + _EVERY_SECONDS
        self._said = ""

    def regular_text(self) -> str:
        """Mostly empty."""
        now = self._clock()
        if now < self._due:
            return ""
        self._due = now + _EVERY_SECONDS
        text = statistics_text(self._snapshot())
        if text == self._said:
            return ""
        self._said = text
        return text

    def last_text(self) -> str:
        """The figures as they are when all is over."""
        return statistics_text(self._snapshot())


def statistics_text(snapshot: Snapshot) -> str:
    """The whole block; ends with an empty line."""
    lines = ["", "Current Statistics:"]
    for usage in filter(_holds_something, snapshot.devices):
        lines += _device_lines(usage)
    lines += [f"  Active allocations: {sum(process.live_count or 0 for process in snapshot.live)}", ""]
    return "\n".join(lines) + "\n"


def _holds_something(usage: DeviceUsage) -> bool:
    reported = (pool for pool in usage.pools if not pool.is_read)
    return any(pool.used_bytes or pool.count for pool in reported) or any(kind.count for kind in usage.kinds)


def _device_lines(usage: DeviceUsage) -> list[str]:
    pools = {pool.pool: pool for pool in usage.pools if not pool.is_read}
    device = usage.device
    name = f"Device {device.index}" if device.index is not None else f"Device {device.name or device.uuid}"
    buffer_count = sum(pools[pool].count or 0 for _, pool in _POOLS[:4] if pool in pools)
    lines = [f"  {name}:", f"    Buffers: {buffer_count}"]
    total = 0
    for word, pool in _POOLS:
        used = pools[pool].used_bytes if pool in pools else 0
        total += used
        lines.append(f"    {word}: {_amount(used)}")
    kernels = {kernel.kind: kernel for kernel in usage.kernels}
    used = sum(kernel.used_bytes or 0 for kernel in usage.kernels)
    total += used
    lines.append(f"    Kernels: {_amount(used)}")
    for word, kind in _KERNELS:
        if kind in kernels:
            lines.append(f"      {word}: {_amount(kernels[kind].used_bytes or 0)}, {kernels[kind].count} loaded")
    lines.append(f"    Total: {_amount(total)}")
    return lines


def _amount(size_bytes: int) -> str:
    return f"{size_bytes} bytes ({size_bytes / 1024:g} KB)"
