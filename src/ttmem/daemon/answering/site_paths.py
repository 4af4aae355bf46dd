"""What a port tells of the lines of Python that asked for memory: names of files, without their directories.

Every user of the machine may ask a port; how somebody has arranged his files is no business of theirs.
"""

import hashlib
import re
from typing import Any

import msgspec

from ttmem.daemon.frames import Encoded
from ttmem.snapshot import Snapshot
from ttmem.snapshot.codec import encoded

__all__ = ["encoded_for", "encoded_frame", "without_directories"]

_DIRECTORIES = re.compile(r"[^\s:,;<>()\"']*/")
_HAS_SITES = (b'"frames":', b'"stack":')  # as every site has


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


def encoded_for(figures: object, *, is_public: bool) -> bytes:
    """Figures as they are sent to the Unix socket, or to ports."""
    body = encoded(figures)
    if not is_public or not any(word in body for word in _HAS_SITES):
        return body
    return msgspec.json.encode(without_directories(msgspec.json.decode(body)))


def encoded_frame(snapshot: Snapshot) -> Encoded:
    """A snapshot as it is sent, to the Unix socket and to ports, with a tag that names all but the moment."""
    body, public = (encoded_for(snapshot, is_public=is_public) for is_public in (False, True))
    lasting = body.replace(b'"time_ns":"%d"' % snapshot.time_ns, b"", 1)  # which comes first
    tag = f'"{hashlib.blake2b(lasting, digest_size=16).hexdigest()}"'
    return Encoded(body, tag, snapshot.time_ns, None if public == body else public)
