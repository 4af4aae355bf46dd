"""The calls of `AllocationClient` as messages on the older design's socket: TTMEM_TRANSPORT=socket.

Each call is one message of 144 bytes, with exactly the fields that the older client filled, so a server of either
design understands it. No call blocks or raises: see `connection` for how they are sent. While the server takes
everything at once, the native core packs and sends it, without the Python of this module.
"""

import os
from collections.abc import Callable, Mapping, Sized
from functools import wraps
from operator import index
from struct import Struct, error
from time import time_ns
from typing import ParamSpec

from ttmem import _native
from ttmem.client.connection import BACKLOG_MESSAGES, Connection
from ttmem.client.notices import warn_once
from ttmem.client.reporter import is_asked_for
from ttmem.wire import DEFAULT_SOCKET, MessageType

__all__ = ["SocketTransport", "socket_path"]

# The head of the message in all its sizes, and the zeros of the longest; `Message.pack` would take ten times as long.
_HEAD = Struct("<B3xiQB3xiQQ104x")
_SIZE_MOST = (1 << 64) - 1
_ALLOC, _FREE = MessageType.ALLOC.value, MessageType.FREE.value
_CB_ALLOC, _CB_FREE = MessageType.CB_ALLOC.value, MessageType.CB_FREE.value
_KERNEL_LOAD, _KERNEL_UNLOAD = MessageType.KERNEL_LOAD.value, MessageType.KERNEL_UNLOAD.value

_FULL = f"{BACKLOG_MESSAGES:,} reports wait for the allocation server: more are counted as lost"
_UNCLEAR = (
    "AllocationClient.{}: expected the integers of its documentation, found something else ({}); such reports are not "
    "counted, see AllocationClient.lost_count()"
)

_count_lost = _native.allocation_client.count_lost

Given = ParamSpec("Given")


def socket_path(environ: Mapping[str, str]) -> str:
    """Where the server is expected."""
    return environ.get("TTMEM_SERVER_SOCKET") or environ.get("TTMEM_SEED_SOCKET") or DEFAULT_SOCKET


def harmless(call: Callable[Given, None], backlog: Sized) -> Callable[Given, None]:
    """Nothing that is reported may harm the host: what cannot be stored or understood is counted, first of all."""

    @wraps(call)
    def counted(*given: Given.args, **named: Given.kwargs) -> None:
        if len(backlog) >= BACKLOG_MESSAGES:
            _count_lost()
            warn_once("backlog", _FULL)
            return
        try:
            call(*given, **named)
        except (TypeError, ValueError, ArithmeticError, error) as fault:  # others are a signal handler's, and not ours
            _count_lost()
            warn_once("report", _UNCLEAR.format(call.__name__, fault))

    return counted


class SocketTransport:
    """The calls, bound to one connection."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._is_on = is_asked_for(environ)
        self._connection = Connection(socket_path(environ))
        self._pid = os.getpid()
        os.register_at_fork(after_in_child=self._begin_in_child)

    def calls(self) -> dict[str, Callable[..., object]]:
        """What becomes the static methods of `AllocationClient`; with tracking off they do nothing at all."""
        backlog = self._connection.backlog
        named = [name for name in dir(self) if name.startswith("report_")]
        at_once = _native.allocation_client.at_once
        reports = {
            name: at_once(name, harmless(getattr(self, name), backlog)) if self._is_on else nothing for name in named
        }
        return {**reports, "is_enabled": self.is_enabled, "lost_count": _native.allocation_client.lost_count}

    def is_enabled(self) -> bool:
        """Whether reports go anywhere: TT_ALLOC_TRACKING_ENABLED=1 or TTMEM=1 when this was loaded."""
        return self._is_on

    def report_allocation(self, device_id: int, size: int, buffer_type: int, buffer_id: int) -> None:
        """A buffer was allocated; `buffer_type` is tt-metal's."""
        self._send(_ALLOC, device_id, size, buffer_type, buffer_id, time_ns())

    def report_deallocation(self, device_id: int, buffer_id: int) -> None:
        """A buffer was freed."""
        self._send(_FREE, device_id, 0, 0, buffer_id, 0)

    def report_cb_allocation(self, device_id: int, size: int, cb_id: int) -> None:
        """A circular buffer was allocated."""
        self._send(_CB_ALLOC, device_id, size, 0, cb_id, time_ns())

    def report_cb_deallocation(self, device_id: int, size: int, cb_id: int) -> None:
        """A circular buffer was freed."""
        self._send(_CB_FREE, device_id, size, 0, cb_id, 0)

    def report_kernel_load(self, device_id: int, size: int, kernel_id: int, kernel_type: int = 0) -> None:
        """A kernel was loaded: `size` is its binary times the cores; 0 application, 1 fabric, 2 dispatch."""
        self._send(_KERNEL_LOAD, device_id, size, kernel_type, kernel_id, time_ns())

    def report_kernel_unload(self, device_id: int, size: int, kernel_id: int) -> None:
        """A kernel was unloaded."""
        self._send(_KERNEL_UNLOAD, device_id, size, 0, kernel_id, 0)

    def _begin_in_child(self) -> None:
        self._pid = os.getpid()

    def _send(self, kind: int, device_id: int, size: int, type: int, id: int, stamp: int) -> None:
        try:
            message = _HEAD.pack(kind, device_id, size, type, self._pid, id, stamp)
        except error:
            message = _HEAD.pack(kind, *_bounded(device_id, size, type), self._pid, index(id) & _SIZE_MOST, stamp)
        self._connection.send(message)


def nothing(*given: object, **named: object) -> None:
    """Tracking is off."""


def _bounded(device_id: int, size: int, type: int) -> tuple[int, int, int]:
    """Numbers that no field can hold, as the nearest that say so: the largest size, an unknown type."""
    device_id, size, type = index(device_id), index(size), index(type)
    if not -(1 << 31) <= device_id < 1 << 31:
        raise ValueError(f"device id {device_id} is wider than 32 bits")
    return device_id, min(max(size, 0), _SIZE_MOST), type if 0 <= type <= 255 else 255
