"""Opt-in: which line of Python asked for a buffer. TTMEM_SITES=1, or `record_sites()`.

Stacks are taken by the native core inside the report, if the allocating thread holds the interpreter lock then.
"""

import atexit

from ttmem import _native

__all__ = ["forget_sites", "record_sites"]


def record_sites() -> None:
    """From now on every reported buffer carries the Python stack of its thread, the 16 innermost frames."""
    _native.own.record_sites()
    # An interpreter that is being taken down is not asked any more.
    atexit.unregister(_native.own.forget_sites)
    atexit.register(_native.own.forget_sites)


def forget_sites() -> None:
    """Stops it; buffers that carry a stack keep it."""
    _native.own.forget_sites()
