"""Dimensions of models, and kernels: those whose compiled size was measured, and stand-ins for all others."""

import json
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

from ttmem.metal.programs import Processor
from ttmem.metal.programs.binaries import data as measured

__all__ = ["Code", "code_of", "dimensions"]


class Code(NamedTuple):
    """A kernel as it was compiled."""

    processor: Processor
    binaries: tuple[int, ...]  # packed bytes of each
    path: str


@cache
def code_of(kernel: str) -> Code:
    """A kernel by its name; kernels.json has likely sizes for those that nobody measured."""
    known = measured()["kernels"].get(kernel) or _table("kernels")[kernel]
    return Code(Processor[known["processor"]], tuple(known["binaries"]), known["path"])


def dimensions(model: str) -> dict[str, Any]:
    """A model's dimensions, as published."""
    sizes: dict[str, Any] = _table("models")[model]
    return sizes


@cache
def _table(name: str) -> dict[str, Any]:
    rows: dict[str, Any] = json.loads((resources.files(__package__) / f"{name}.json").read_text(encoding="utf-8"))
    return rows
