"""Buffers of the stock runtime that are allocated by core: the steps that make them, and what is known of them.

A release that has no call for a way to allocate answers `{"lacking": ...}`; see `tests.support.ttnn.driver`.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from tests.support.hooked.looks import Look

KIB = 1024
TENSOR = {"op": "alloc", "type": "L1", "dtype": "uint8", "is_tiled": False, "layout": "HEIGHT_SHARDED"}
Places = dict[int, list[tuple[int, int]]]  # of each size on a core: (address, cores) of its parts


def on_cores(identity: int, kib: int, allocation: str = "PER_CORE", *, first: int = 0, last: int = 3) -> dict[str, Any]:
    """A tensor on one row of cores, so many KiB on each."""
    rows = last - first + 1
    place = {"ranges": [[first, 0, last, 0]], "shard": [1, kib * KIB], "shape": [rows, kib * KIB]}
    return {**TENSOR, **place, "id": identity, "allocation": allocation}


def freed(*identities: int) -> list[dict[str, Any]]:
    return [{"op": "free", "id": identity, "type": "L1"} for identity in identities]


def places_of(look: Look, chip: int) -> Places:
    """As the collector knows them on a chip."""
    found: Places = defaultdict(list)
    for told in look.buffers:
        if told.parts and chip in told.chips:
            found[told.per_bank_bytes] += [(address, cores) for address, cores, _ in told.parts]
    return {size: sorted(parts) for size, parts in found.items()}


def said(addresses: Sequence[int]) -> list[tuple[int, int]]:
    """The runtime's addresses on each core, in the same words."""
    return sorted((address, addresses.count(address)) for address in set(addresses))
