"""Kernels whose compiled sizes are known: those of the stock runtime, compiled for Wormhole, and its system kernels.

binary_sizes.json holds packed bytes (text and initialised data). A kernel without a measured size has a stand-in.
"""

import json
from functools import cache
from importlib import resources
from typing import Any

from ttmem.metal.programs.core_ranges import CoreRanges
from ttmem.metal.programs.kernels import Kernel, Processor
from ttmem.tracking import CoreType

__all__ = ["data", "stock_kernel"]


@cache  # a file of the package, read once
def data() -> dict[str, Any]:
    """The table beside this module."""
    text = (resources.files(__package__) / "binary_sizes.json").read_text(encoding="utf-8")
    table: dict[str, Any] = json.loads(text)
    return table


def stock_kernel(
    name: str,
    cores: CoreRanges,
    *,
    core_type: CoreType = CoreType.TENSIX,
    runtime_arg_count: int = 0,
    common_arg_count: int = 0,
) -> Kernel:
    """A kernel of the stock runtime; on ethernet cores, as built for them."""
    known = data()["kernels"][name]
    is_tensix = core_type is CoreType.TENSIX
    return Kernel(
        name=name,
        cores=cores,
        binaries=tuple(known["binaries" if is_tensix else "ethernet_binaries"]),
        processor=Processor[known["processor"]] if is_tensix else Processor.ERISC,
        core_type=core_type,
        source_path=known["path"],
        runtime_arg_count=runtime_arg_count,
        common_arg_count=common_arg_count,
    )
