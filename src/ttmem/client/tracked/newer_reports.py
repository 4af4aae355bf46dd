"""The newest reports of the native core, for as long as a build without them may be installed."""

from collections.abc import Callable

from ttmem import _native

__all__ = ["HAS_NEWER_REPORTS", "report_cache", "report_ring"]

HAS_NEWER_REPORTS = hasattr(_native.client, "report_ring")


def _nothing(*given: object) -> None:
    """An older core has no place for it."""


report_ring: Callable[..., None] = getattr(_native.client, "report_ring", _nothing)
report_cache: Callable[..., None] = getattr(_native.client, "report_cache", _nothing)
