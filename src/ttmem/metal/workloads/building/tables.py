"""Dimensions of models, and sizes of kernels: measured ones, and likely ones for kernels that were not compiled."""

import json
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

from ttmem.metal.chips.numbers import rounded_up
from ttmem.metal.programs import Processor
from ttmem.metal.programs.binaries import data as measured
from ttmem.metal.workloads.building.steps import Operation

__all__ = ["Code", "code_bytes", "code_of", "dimensions", "payload_bytes"]


class Code(NamedTuple):
    """A kernel as it was compiled."""

    processor: Processor
    binaries: tuple[int, ...]  # packed bytes of each
    path: str


@cache  # a file of the package, read once
def code_of(kernel: str) -> Code:
    """A kernel by its name; kernels.json has likely sizes for those that were not measured."""
    known = measured()["kernels"].get(kernel) or _table("kernels")[kernel]
    return Code(Processor[known["processor"]], tuple(known["binaries"]), known["path"])


def dimensions(model: str) -> dict[str, Any]:
    """A model's dimensions, as published."""
    sizes: dict[str, Any] = _table("models")[model]
    return sizes


@cache  # a file of the package, read once
def _table(name: str) -> dict[str, Any]:
    rows: dict[str, Any] = json.loads((resources.files(__package__) / f"{name}.json").read_text(encoding="utf-8"))
    return rows


def payload_bytes(operation: Operation, *, page_bytes: int) -> int:
    """Its binaries in DRAM: each of them begins a page."""
    return sum(rounded_up(size, page_bytes) for name in _all(operation) for size in code_of(name).binaries)


def code_bytes(operation: Operation, *, alignment: int) -> int:
    """What all cores together receive: each binary rounded up, on every core that runs it."""

    def size(name: str) -> int:
        return sum(rounded_up(one, alignment) for one in code_of(name).binaries) if name else 0

    everywhere = sum(map(size, operation.kernels)) * operation.core_count
    return everywhere + size(operation.lead) + size(operation.follow) * (operation.core_count - 1)


def _all(operation: Operation) -> tuple[str, ...]:
    follow = operation.follow if operation.core_count > 1 else ""
    return tuple(filter(None, (*operation.kernels, operation.lead, follow)))
