"""Sites of a journal that are nodes of its tree of stacks, as texts.

The tree is read once, as far as it was written then; a node that leads nowhere ends its path.
"""

import os
from typing import BinaryIO

from ttmem.events import STACK_SITE, STRUCTS
from ttmem.events.parts import PartReader, text_of

__all__ = ["StackTexts"]

_NODE_BYTES = STRUCTS["StackNode"].size_bytes
_FRAME = 1  # the kind of a node that is a line of a program
_PATH_MOST = 64
_KIND_SHIFT, _LINE_MASK = 28, (1 << 28) - 1


class StackTexts:
    """The frames of a journal's stacks."""

    def __init__(self, file: BinaryIO, header: PartReader, identity: PartReader) -> None:
        node_count = min(header.integer("stack_nodes_used"), identity.integer("stack_nodes"))
        text_bytes = min(header.integer("stack_texts_used"), identity.integer("stack_text_bytes"))
        self._nodes = os.pread(file.fileno(), node_count * _NODE_BYTES, identity.integer("stack_nodes_offset"))
        self._texts = os.pread(file.fileno(), text_bytes, identity.integer("stack_texts_offset"))

    def text(self, site: int) -> str:
        """ "file:line function", the innermost first, a new line between them; "other" where there was no room."""
        number = site & ~STACK_SITE
        if not number:
            return "other"
        lines: list[str] = []
        while number and (number + 1) * _NODE_BYTES <= len(self._nodes) and len(lines) < _PATH_MOST:
            node = PartReader("StackNode", self._nodes, number * _NODE_BYTES)
            kind_and_line, parent = node.integer("kind_and_line"), node.integer("parent")
            if kind_and_line >> _KIND_SHIFT == _FRAME:
                place = f"{self._name(node.integer('file'))}:{kind_and_line & _LINE_MASK}"
                lines.append(f"{place} {self._name(node.integer('name'))}")
            number = parent if parent < number else 0  # a parent is older than its child
        return "\n".join(lines)

    def _name(self, text_id: int) -> str:
        at = text_id * 8
        length = int.from_bytes(self._texts[at : at + 4], "little")
        return text_of(self._texts[at + 8 : at + 8 + length])
