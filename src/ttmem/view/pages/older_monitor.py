"""The block per device that the older monitor, `tt_smi_umd`, prints: L1 by buffers, circular buffers
and kernels of each type.

    Device 0 (Blackhole):
      L1 Memory:
        Buffers:        0.0B
        CBs:            2.1 MB
        Kernels:        324.0KB
          - Fabric:     112 KB  (2 kernels)
          - Dispatch:   92 KB   (2 kernels)
          - Application: 120 KB (5 kernels)
        Total:          2.4 MB / 306 MB

Its KB and MB are KiB and MiB. Kernels are an inventory there, and the total is the sum of what stands above it.
"""

from collections.abc import Iterator

from ttmem.devices import Kind, Pool
from ttmem.snapshot import DeviceUsage, Snapshot
from ttmem.snapshot.values import Device
from ttmem.view.table import clean
from ttmem.view.texts import UNKNOWN, device_word

__all__ = ["older_monitor"]

NOTHING = "No devices: no program has reported one, and the driver shows none.\n"

_UNITS = ("B", "KB", "MB", "GB", "TB")
_TYPES = {
    Kind.KERNEL_FABRIC: "Fabric",
    Kind.KERNEL_DISPATCH: "Dispatch",
    Kind.KERNEL_APPLICATION: "Application",
    Kind.KERNEL_UNKNOWN: "Unknown",  # only if there are some
}
_VALUE_AT, _COUNT_AT = 20, 28  # columns


def older_monitor(snapshot: Snapshot) -> str:
    """One block per device, a blank line between; one line if there is no device."""
    if not snapshot.devices:
        return NOTHING
    return "\n".join("".join(line + "\n" for line in _block(usage)) for usage in snapshot.devices)


def _block(usage: DeviceUsage) -> Iterator[str]:
    device = usage.device
    name = device_word(device) if device.index is None else str(device.index)
    arch = clean(device.arch or device.board).partition("_")[0].capitalize() or "unknown"
    buffers, circular_buffers, kernels = usage.used_bytes(Pool.L1), _circular_buffers(usage), _kernels(usage)
    known = [size for size in (buffers, circular_buffers, kernels) if size is not None]
    capacity = _l1_bytes(device)
    yield f"Device {name} ({arch}):"
    yield "  L1 Memory:"
    yield f"{'    Buffers:':{_VALUE_AT}}{_tight(buffers)}"
    yield f"{'    CBs:':{_VALUE_AT}}{_spaced(circular_buffers)}"
    yield f"{'    Kernels:':{_VALUE_AT}}{_tight(kernels)}"
    yield from _by_type(usage)
    yield f"{'    Total:':{_VALUE_AT}}{_spaced(sum(known) if len(known) == 3 else None)} / {_spaced(capacity)}"


def _by_type(usage: DeviceUsage) -> Iterator[str]:
    found = {kernel.kind: kernel for kernel in usage.kernels}
    for kind, word in _TYPES.items():
        kernel = found.get(kind)
        if kernel is None and kind is Kind.KERNEL_UNKNOWN:
            continue
        is_told = usage.launch_count is not None
        size = kernel.used_bytes if kernel else 0 if is_told else None
        name = f"      - {word}:".ljust(_VALUE_AT - 1) + " "
        count = f" ({kernel.count if kernel else 0} kernels)" if is_told else ""
        yield (f"{name}{_spaced(size)}".ljust(_COUNT_AT - 1) + count).rstrip()


def _circular_buffers(usage: DeviceUsage) -> int | None:
    footprint = usage.activity.footprint
    return footprint.planned_bytes if footprint else usage.used_bytes(Pool.CB)


def _l1_bytes(device: Device) -> int | None:
    """What buffers, circular buffers and kernels share: all banks, and the kernel ring of every core if it is known."""
    banks, grid = device.capacity(Pool.L1), device.grid
    ring = (device.kernel_ring_bytes or 0) * grid[0] * grid[1] if grid else 0
    return banks + (device.capacity(Pool.L1_SMALL) or 0) + ring if banks and ring else banks


def _kernels(usage: DeviceUsage) -> int | None:
    return None if usage.launch_count is None else sum(kernel.used_bytes or 0 for kernel in usage.kernels)


def _tight(size_bytes: int | None) -> str:
    """324.0KB: always a decimal, no blank."""
    return UNKNOWN if size_bytes is None else "{:.1f}{}".format(*_scaled(size_bytes))


def _spaced(size_bytes: int | None) -> str:
    """2.1 MB, and 306 MB: a decimal only where there is one."""
    if size_bytes is None:
        return UNKNOWN
    amount, unit = _scaled(size_bytes)
    return f"{amount:.1f}".removesuffix(".0") + f" {unit}"


def _scaled(size_bytes: int) -> tuple[float, str]:
    amount = float(size_bytes)
    for unit in _UNITS[:-1]:
        if amount < 1023.95:
            return amount, unit
        amount /= 1024
    return amount, _UNITS[-1]
