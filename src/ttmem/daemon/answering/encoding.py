"""Documents as JSON, for answers of any length.

The encoder of the standard library is native code that holds the interpreter lock from the first byte to the last: a
large document encoded in one go stops every other thread of the daemon, also if a thread of its own does it. Here each
row is encoded by itself, and others have their turn in between.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["encoded"]

_text = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode


def encoded(document: Mapping[str, Any]) -> bytes:
    """The same bytes as of `json.dumps` without blanks. To be called in a thread: see `connections.in_thread`."""
    pieces: list[str] = []
    _encode(document, pieces.append)
    return "".join(pieces).encode()


def _encode(value: Any, add: Callable[[str], object]) -> None:
    if _is_rows(value):
        before = "["
        for row in value:
            add(before)
            _encode(row, add)
            before = ","
        add("]")
    elif type(value) is dict and any(_is_rows(part) for part in value.values() if type(part) is list):
        before = "{"
        for name, part in value.items():
            add(f"{before}{_text(name)}:")
            _encode(part, add)
            before = ","
        add("}")
    else:
        add(_text(value))


def _is_rows(value: Any) -> bool:
    """Whether it is a list of documents: those may be long, and each row may have such lists again."""
    return type(value) is list and bool(value) and type(value[0]) is dict
