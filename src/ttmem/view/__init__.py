"""How figures are shown: words, units, bars, colours and tables that all faces share."""

from ttmem.view.colours import Colours, Depth, colour_depth
from ttmem.view.page import PageOptions, nothing_to_show, page
from ttmem.view.spans import Line, Role, Span, plain

__all__ = [
    "Colours",
    "Depth",
    "Line",
    "PageOptions",
    "Role",
    "Span",
    "colour_depth",
    "nothing_to_show",
    "page",
    "plain",
]
