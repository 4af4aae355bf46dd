"""How figures are shown: words, units, bars, colours and tables that all faces share."""

from ttmem.view.colours import Colours, Depth, colour_depth
from ttmem.view.dump_page import dump_page
from ttmem.view.page import PageOptions, nothing_to_show, page
from ttmem.view.picture import picture
from ttmem.view.spans import Line, Role, Span, plain
from ttmem.view.summary import summary

__all__ = [
    "Colours",
    "Depth",
    "Line",
    "PageOptions",
    "Role",
    "Span",
    "colour_depth",
    "dump_page",
    "nothing_to_show",
    "page",
    "picture",
    "plain",
    "summary",
]
