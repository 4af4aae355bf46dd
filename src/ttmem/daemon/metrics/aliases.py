"""The figures of DRAM once more, under the four names that tt-telemetry has for them, for boards made for it.

As there, sizes are whole MiB. Unlike there, a chip of which nothing is known is left out, not shown as 0, and a remote
chip stands for itself, not with the chip it is reached through.
"""

from collections.abc import Sequence

from ttmem.daemon.metrics import catalogue as metric
from ttmem.daemon.metrics.families import Page
from ttmem.devices import Pool
from ttmem.snapshot import DeviceUsage

__all__ = ["add_aliases"]

_MIB = 1 << 20
_UNIT = "MB"


def add_aliases(page: Page, hostname: str, chips: Sequence[tuple[DeviceUsage, str, str]]) -> None:
    """`chips`: each with its tray and its place there."""
    used_bytes, total_bytes = 0, 0
    for usage, tray, place in chips:
        total, used = usage.device.capacity(Pool.DRAM), _dram_used(usage)
        if total is None or used is None:
            continue
        page.add(metric.TT_DEVICE_USED, (hostname, tray, place, _UNIT), round(used / _MIB))
        page.add(metric.TT_DEVICE_TOTAL, (hostname, tray, place, _UNIT), round(total / _MIB))
        used_bytes, total_bytes = used_bytes + used, total_bytes + total
    if total_bytes:
        page.add(metric.TT_USED, (hostname, _UNIT), round(used_bytes / _MIB))
        page.add(metric.TT_TOTAL, (hostname, _UNIT), round(total_bytes / _MIB))


def _dram_used(usage: DeviceUsage) -> int | None:
    pools = [pool for pool in usage.pools if pool.pool is Pool.DRAM]
    if any(pool.is_read for pool in pools) or usage.launch_count is None:
        return None
    return sum(pool.used_bytes for pool in pools)
