"""An answer over HTTP: read before a deadline, to where it says it ends, and taken apart."""

import socket
import time
from typing import NamedTuple

from ttmem.errors import DaemonGone

__all__ = ["HttpAnswer", "parsed", "received"]

MOST_BYTES = 256 << 20
_LONGEST_LENGTH = 18  # digits that are read


class HttpAnswer(NamedTuple):
    """What came back."""

    status: int
    head: bytes
    body: bytes

    def header(self, name: str) -> str:
        """The value of a header; empty if there is none."""
        return _header(self.head, name.encode()).decode("latin-1")


def received(line: socket.socket, answer: bytearray, deadline: float) -> bytes:
    """All bytes of the answer, before the deadline; those of a first try stay in `answer`."""
    end = _announced_end(answer)
    while end is None or len(answer) < end:
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        line.settimeout(left)
        part = line.recv(1 << 20)
        if not part:
            break
        answer += part
        if end is None:
            end = _announced_end(answer)
        if max(len(answer), end or 0) > MOST_BYTES:
            raise DaemonGone(f"answers with more than {MOST_BYTES >> 20} MiB")
    if end is not None and len(answer) != end:
        raise DaemonGone("broke off in the middle of its answer")
    return bytes(answer)


def _announced_end(answer: bytearray) -> int | None:
    """Where the answer ends, by its own word; None if it does not say, or not yet."""
    head, blank, _ = answer.partition(b"\r\n\r\n")
    length = _header(bytes(head), b"content-length") if blank else b""
    return len(head) + len(blank) + int(length[:_LONGEST_LENGTH]) if length.isdigit() else None


def _header(head: bytes, wanted: bytes) -> bytes:
    for header in head.split(b"\r\n")[1:]:
        name, _, value = header.partition(b":")
        if name.strip().lower() == wanted:
            return value.strip()
    return b""


def parsed(answer: bytes) -> HttpAnswer:
    """Status, head and body."""
    head, _, body = answer.partition(b"\r\n\r\n")
    version, _, rest = head.partition(b" ")
    if not version.startswith(b"HTTP/1.") or not rest[:3].isdigit():
        raise DaemonGone("answers with something that is no HTTP")
    return HttpAnswer(int(rest[:3]), head, body)
