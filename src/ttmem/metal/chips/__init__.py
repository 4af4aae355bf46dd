"""Chips and boards: what silicon there is, what is fused off, and what a runtime leaves of it for buffers.

The figures are data of named builds of the runtime; code only derives what follows from them.
"""

from ttmem.metal.chips.architecture import (
    BUILDS,
    DEFAULT_BUILD,
    Architecture,
    Axis,
    DispatchCores,
    KernelRing,
    UnknownHardware,
    architecture,
)
from ttmem.metal.chips.board import BOARDS, Board, board
from ttmem.metal.chips.chip import Chip

__all__ = [
    "BOARDS",
    "BUILDS",
    "DEFAULT_BUILD",
    "Architecture",
    "Axis",
    "Board",
    "Chip",
    "DispatchCores",
    "KernelRing",
    "UnknownHardware",
    "architecture",
    "board",
]
