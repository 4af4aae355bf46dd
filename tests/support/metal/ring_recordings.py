"""What the stock runtime answered about rings (`tests/data/rings`): the model is held to it without the wheel, too."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ttmem.metal.state.ring import RingRequest
from ttmem.tracking import CoreType

HERE = Path(__file__).parents[2] / "data" / "rings"


@dataclass(frozen=True, slots=True)
class RecordedLaunch:
    """One launch, and where and after which wait it went."""

    sizes: list[int]
    request: RingRequest
    is_in_flight: bool
    expected_count: int
    worker_count: int
    addresses: tuple[int, ...]
    sync_count: int
    is_stalled_first: bool
    is_stalled_before_program: bool


@dataclass(frozen=True, slots=True)
class RecordedAnswer:
    """One question to the prefetcher's cache; `is_hit` None: it could not be held."""

    identity: int
    size_bytes: int
    is_hit: bool | None
    offset_bytes: int | None
    entry_count: int


def ring_places() -> Mapping[CoreType, tuple[int, int]]:
    lanes = _read("kernel_ring")["lanes"]
    return {CoreType[name]: (base, size) for name, (base, size) in lanes.items()}


def launches() -> Iterator[RecordedLaunch]:
    core_types = tuple(ring_places())
    expected_count = 0
    for sizes, in_flight, workers, addresses, sync_count, is_first, is_before in _read("kernel_ring")["steps"]:
        *slots, multicast, unicast = sizes
        request = RingRequest(dict(zip(core_types, slots, strict=True)), bool(multicast), bool(unicast))
        yield RecordedLaunch(
            sizes,
            request,
            bool(in_flight),
            expected_count,
            workers,
            tuple(addresses),
            sync_count,
            bool(is_first),
            bool(is_before),
        )
        expected_count += workers


def cache_runs() -> Iterator[tuple[tuple[int, int, int], list[RecordedAnswer]]]:
    """Per run block bytes, blocks and table size, and the questions with their answers."""
    for run in _read("prefetcher_cache")["runs"]:
        geometry = (run["block_bytes"], run["block_count"], run["table_size"])
        yield geometry, [RecordedAnswer(*step) for step in run["steps"]]


def _read(name: str) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((HERE / f"{name}.json").read_text())
    return read
