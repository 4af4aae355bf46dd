"""How figures are shown: words, units, bars, colours and tables that all faces share."""

from ttmem.view.screen import Colours, Depth, colour_depth, depth_for
from ttmem.view.table import Line, Role, Span, plain

__all__ = [
    "Colours",
    "Depth",
    "Line",
    "Role",
    "Span",
    "colour_depth",
    "depth_for",
    "plain",
]
