"""Which line of Python asked for a buffer. TTMEM_SITES=1, or `record_sites()`; `ttmem run` sets the former.

Stacks are taken by the native core inside the report, whether or not the thread holds the interpreter's lock.
"""

from ttmem import _native

__all__ = ["forget_sites", "record_sites"]


def record_sites() -> None:
    """From now on every reported buffer carries the Python stack of its thread: the 16 innermost frames that are not
    ttmem's, ttnn's, torch's or pytest's."""
    _native.own.record_sites()


def forget_sites() -> None:
    """Stops it; buffers that carry a stack keep it."""
    _native.own.forget_sites()
