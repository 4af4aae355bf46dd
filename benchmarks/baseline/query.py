"""Asks the old design's server for a device's sums, as its monitors do."""

import socket
import struct
from pathlib import Path
from types import TracebackType

_MESSAGE = struct.Struct("<B3xiQB3xiQQ6Q56x")
_QUERY = 3


class ServerQuery:
    """One connection; every question is one 144-byte message each way."""

    def __init__(self, socket_path: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.connect(str(socket_path))

    def __enter__(self) -> "ServerQuery":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()

    def dram_bytes(self) -> int:
        return self._sums()[0]

    def trace_bytes(self) -> int:
        return self._sums()[3]

    def _sums(self) -> tuple[int, ...]:
        self._socket.sendall(_MESSAGE.pack(_QUERY, 0, 0, 0, 0, 0, 0, *(0,) * 6))
        reply = b""
        while len(reply) < _MESSAGE.size:
            part = self._socket.recv(_MESSAGE.size - len(reply))
            if not part:
                raise ConnectionError("the baseline server closed the connection")
            reply += part
        return tuple(_MESSAGE.unpack(reply)[7:])
