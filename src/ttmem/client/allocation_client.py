"""`AllocationClient`: the calls of the older design's client, for programs that were written for it.

By default each call is the native function itself and reports into the journal, so no server has to run. With
TTMEM_TRANSPORT=socket the same calls are messages to the older design's server (or to `ttmem serve`). The environment
is read once, when this module is loaded.
"""

import os
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING

from ttmem import _native
from ttmem.client.notices import warn_once

__all__ = ["AllocationClient"]

# Builtins do not bind `self`: as attributes of a class they are called without a detour (see `reports`).
_JOURNAL: dict[str, Callable[..., object]] = {
    "report_allocation": _native.allocation_client.report_allocation,
    "report_deallocation": _native.allocation_client.report_deallocation,
    "report_cb_allocation": _native.allocation_client.report_cb_allocation,
    "report_cb_deallocation": _native.allocation_client.report_cb_deallocation,
    "report_kernel_load": _native.allocation_client.report_kernel_load,
    "report_kernel_unload": _native.allocation_client.report_kernel_unload,
    "is_enabled": _native.allocation_client.is_enabled,
    "lost_count": _native.allocation_client.lost_count,
}


def calls(environ: Mapping[str, str]) -> Mapping[str, object]:
    """The calls over the transport that the environment names."""
    transport = environ.get("TTMEM_TRANSPORT", "")
    if transport == "socket":
        module = import_module("ttmem.client.socket_transport")  # the journal's users need neither sockets nor threads
        over_socket: Mapping[str, Callable[..., object]] = module.SocketTransport(environ).calls()
        return {name: staticmethod(call) for name, call in over_socket.items()}
    if transport not in ("", "journal"):
        warn_once("transport", f"TTMEM_TRANSPORT={transport}: expected journal or socket; reports go to the journal")
    return _JOURNAL


if TYPE_CHECKING:
    _Calls = _native.allocation_client
else:
    _Calls = type("_Calls", (), dict(calls(os.environ)))


class AllocationClient(_Calls):
    """Reports what this process holds on its devices, by static calls.

        AllocationClient.report_allocation(device_id, size, buffer_type, buffer_id)
        AllocationClient.report_deallocation(device_id, buffer_id)
        AllocationClient.report_cb_allocation(device_id, size, cb_id)
        AllocationClient.report_cb_deallocation(device_id, size, cb_id)
        AllocationClient.report_kernel_load(device_id, size, kernel_id, kernel_type=0)
        AllocationClient.report_kernel_unload(device_id, size, kernel_id)
        AllocationClient.is_enabled()
        AllocationClient.lost_count()

    On with TT_ALLOC_TRACKING_ENABLED=1 or TTMEM=1. No call raises, blocks or returns anything; `lost_count` says how
    many reports of this process could not be understood, or found the backlog of the socket full.
    """

    __slots__ = ()
