"""A client's end of the allocation server's socket, for tests that speak in bytes."""

import select
import socket
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType

from tests.support.server.server_bytes import COUNTERS, Message, Type, query, stream, unpacked
from tests.support.server.server_model import Place
from tests.support.timing.waiting import PATIENCE_SECONDS


class Line:
    """One connection, speaking one of the four sizes."""

    def __init__(self, path: Path, message_bytes: int = 144) -> None:
        self.message_bytes = message_bytes
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(PATIENCE_SECONDS)
        try:
            self.socket.connect(str(path))
        except OSError:
            self.socket.close()
            raise

    def __enter__(self) -> "Line":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self.socket.close()

    def say(self, *messages: Message) -> None:
        """All of them in one send."""
        self.socket.sendall(stream(messages, self.message_bytes))

    def say_bytes(self, data: bytes) -> None:
        self.socket.sendall(data)

    def hear(self, count: int | None = None, *, seconds: float = PATIENCE_SECONDS) -> bytes:
        """So many bytes (one message by default), or fewer if the server hangs up or is silent."""
        wanted = self.message_bytes if count is None else count
        deadline = time.monotonic() + seconds
        heard = b""
        while len(heard) < wanted and (left := deadline - time.monotonic()) > 0:
            if not self._is_readable(left):
                break
            part = self._received(wanted - len(heard))
            if not part:
                break
            heard += part
        return heard

    def _is_readable(self, seconds: float) -> bool:
        poll = select.poll()
        poll.register(self.socket, select.POLLIN)
        return bool(poll.poll(seconds * 1000))

    def _received(self, most: int) -> bytes:
        try:
            return self.socket.recv(most)
        except ConnectionResetError:
            return b""

    def is_hung_up(self, *, seconds: float = PATIENCE_SECONDS) -> bool:
        """Whether the server closes within that time; bytes that came before are passed over."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            if self._is_readable(left) and not self._received(1 << 16):
                return True
        return False

    def ask(self, message: Message) -> dict[str, int]:
        """The fields of the answer."""
        self.say(message)
        heard = self.hear()
        assert len(heard) == self.message_bytes, f"{len(heard)} bytes of {self.message_bytes} came back"
        return unpacked(heard)

    def counters(self, device: int = 0) -> dict[str, int]:
        """What a QUERY says, and so: everything said before on this line has been applied."""
        answer = self.ask(query(device))
        assert (answer["type"], answer["device_id"]) == (Type.RESPONSE, device)
        return {name: answer[f"{name}_allocated"] for name in COUNTERS if f"{name}_allocated" in answer}


def asked(path: Path, devices: Iterable[int]) -> Counter[Place]:
    """Bytes by device and pool, as a monitor of the newest protocol would show them."""
    found: Counter[Place] = Counter()
    with Line(path) as line:
        for device in devices:
            for pool, used in line.counters(device).items():
                found[f"server:{device}", pool] = used
    return +found
