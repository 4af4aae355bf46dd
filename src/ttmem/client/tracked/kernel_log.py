"""The allocation server's line for every loaded kernel, with the Python stack below it: TT_METAL_KERNEL_BACKTRACE=1.

    KERNEL_LOAD Backtrace (Device 0, Type: Fabric, Binary Size: 56 KB, Cores: 16, Total L1: 896 KB, ID: 0x...)
      #0 configure_fabric device.py:71

On stderr, on request. It ends by itself after a number of loads: a log that is never turned off fills disks.
"""

import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from types import FrameType

from ttmem.client.notices import has_stderr
from ttmem.tracking import KernelType, TrackedDevice

__all__ = ["KernelLog", "kernel_log"]

SWITCH = "TT_METAL_KERNEL_BACKTRACE"
LOADS_MOST = 1000
FRAMES_MOST = 32
_KIB = 1024.0
_OWN_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_MARK = "\N{LEFT-POINTING MAGNIFYING GLASS}"  # as the allocation server's


def kernel_log(environ: Mapping[str, str]) -> "KernelLog | None":
    """A log if the environment asks for one, and there is a place for it."""
    return KernelLog() if environ.get(SWITCH, "") not in ("", "0") and has_stderr() else None


class KernelLog:
    """Writes to a descriptor, stderr by default."""

    def __init__(self, descriptor: int = 2, loads_most: int = LOADS_MOST) -> None:
        self._descriptor = descriptor
        self._loads_left = loads_most

    def write_load(
        self, device: TrackedDevice, kernel_id: int, kernel_type: int, *, size_bytes: int, cores: int, total_bytes: int
    ) -> None:
        """One line for each chip of the device, then who called."""
        self._loads_left -= 1
        if self._loads_left == -1:
            self._write([f"ttmem: {SWITCH}: that is enough, later kernel loads are not shown"])
        if self._loads_left < 0:
            return
        what = (
            f"Type: {type_word(kernel_type)}, Binary Size: {size_bytes / _KIB:g} KB, Cores: {cores}, "
            f"Total L1: {total_bytes / _KIB:g} KB, ID: 0x{kernel_id:x}"
        )
        heads = [f"{_MARK} KERNEL_LOAD Backtrace (Device {chip.index}, {what})" for chip in device.chips]
        self._write([*heads, *host_frames(sys._getframe(1))])

    def _write(self, lines: list[str]) -> None:
        with suppress(OSError):
            os.write(self._descriptor, "".join(f"{line}\n" for line in lines).encode(errors="replace"))


def type_word(kernel_type: int) -> str:
    """As the allocation server's clients write it."""
    return KernelType(kernel_type).name.capitalize() if kernel_type in set(KernelType) else "Unknown"


def host_frames(frame: FrameType | None) -> list[str]:
    """Who called, innermost first, without our own frames; names and places only, no source is read."""
    lines: list[str] = []
    while frame is not None and len(lines) < FRAMES_MOST:
        code = frame.f_code
        if not code.co_filename.startswith(_OWN_FOLDER):
            lines.append(f"  #{len(lines)} {code.co_name} {code.co_filename}:{frame.f_lineno}")
        frame = frame.f_back
    return lines
