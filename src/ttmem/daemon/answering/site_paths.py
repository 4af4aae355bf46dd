"""What a port tells of the lines of Python that asked for memory: names of files, without their directories.

Every user of the machine may ask a port; how somebody has arranged his files is no business of theirs.
"""

import json
import re
from typing import Any

from ttmem.daemon.frames import Encoded

__all__ = ["with_public_body", "without_directories"]

_DIRECTORIES = re.compile(r"[^\s:,;<>()\"']*/")
_HAS_SITES = b'"frames":'  # as every site of an incident has


def without_directories(value: Any) -> Any:
    """A document whose sites (`stack`, `file`, and the text of a `site`) name files alone."""
    if isinstance(value, list | tuple):
        return [without_directories(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    return {key: _hidden(key, inner) for key, inner in value.items()}


def _hidden(key: str, value: Any) -> Any:
    if key == "stack" and isinstance(value, list | tuple):
        return [_DIRECTORIES.sub("", line) if isinstance(line, str) else line for line in value]
    if key == "file" and isinstance(value, str):
        return value.rpartition("/")[2]
    if key in ("site", "other_site") and isinstance(value, dict) and isinstance(value.get("text"), str):
        value = {**value, "text": _DIRECTORIES.sub("", value["text"])}
    return without_directories(value)


def with_public_body(body: bytes, tag: str = "", time_ns: int = 0) -> Encoded:
    """A document as it is sent, to the Unix socket and to ports."""
    if _HAS_SITES not in body:
        return Encoded(body, tag, time_ns)
    public = json.dumps(without_directories(json.loads(body)), separators=(",", ":"))
    return Encoded(body, tag, time_ns, public.encode())
