"""Real processes that report to the allocation server, met at pipes: the C++ client of these tests.

with a_client(programs, path) as client:
    client.report(Type.ALLOC, device=0, size=4096, id=7)
    client.kill()
"""

import fcntl
import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.support.server.server_bytes import COUNTERS, Type, unpacked

SOURCES = Path(__file__).parents[2] / "server_protocol" / "client"


class Refused(AssertionError):
    """The client could not do what it was told."""


class ServerClient:
    """One running `server_client`."""

    def __init__(self, program: Path, socket_path: Path, *, is_on: bool = True, message_bytes: int = 144) -> None:
        environment = {**os.environ, "TT_ALLOC_TRACKING_ENABLED": "1" if is_on else "0"}
        self.process = subprocess.Popen(
            [str(program), str(socket_path)],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.pid = self.process.pid
        self.message_bytes = message_bytes
        self.state = self._heard()
        if message_bytes != 144:
            self.tell(f"size {message_bytes}")

    def begin(self, order: str) -> None:
        """Gives an order and does not wait for the answer."""
        assert self.process.stdin is not None
        self.process.stdin.write(order + "\n")
        self.process.stdin.flush()

    def finish(self) -> str:
        return self._heard()

    def tell(self, order: str) -> str:
        """Gives an order; what came back after `ok`."""
        self.begin(order)
        return self._heard()

    def _heard(self) -> str:
        assert self.process.stdout is not None
        answer = self.process.stdout.readline()
        if not answer.startswith("ok"):
            raise Refused(f"{answer!r}, status {self.process.poll()}")
        return answer[2:].strip()

    def report(self, type: Type, *, device: int = 0, size: int = 0, kind: int = 0, id: int = 0) -> None:
        self.tell(order(type, device, size, kind, id))

    def counters(self, device: int = 0) -> dict[str, int]:
        """What a QUERY on its own connection says."""
        fields = unpacked(bytes.fromhex(self.tell(f"ask {int(Type.QUERY)} {device}")))
        return {name: fields[f"{name}_allocated"] for name in COUNTERS if f"{name}_allocated" in fields}

    def settle(self) -> None:
        """All it said before has been applied."""
        self.counters()

    def child(self, order: str, *, stays: bool = True, is_fresh: bool = False) -> int:
        """A forked child does the order, on this connection or on one of its own; its pid."""
        verb = "fresh" if is_fresh else "fork"
        return int(self.tell(f"{verb} {'stay' if stays else 'exit'} {order}").split()[0])

    def kill(self) -> None:
        """As kill -9 does; not waited for, so that it stays as a zombie."""
        os.kill(self.pid, signal.SIGKILL)
        os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)

    def end(self) -> str:
        """Kills it if it still runs; what it said on standard error."""
        if self.process.poll() is None:
            self.process.kill()
        with suppress(BrokenPipeError):
            return self.process.communicate()[1]
        return ""


def order(type: Type, device: int = 0, size: int = 0, kind: int = 0, id: int = 0) -> str:
    return f"report {int(type)} {device} {size} {kind} {id}"


@contextmanager
def a_client(program: Path, path: Path, *, is_on: bool = True, message_bytes: int = 144) -> Iterator[ServerClient]:
    client = ServerClient(program, path, is_on=is_on, message_bytes=message_bytes)
    try:
        yield client
    finally:
        client.end()


def compiler() -> list[str] | None:
    """The system's C++ compiler, if there is one."""
    command = shlex.split(os.environ.get("CXX", "c++"))
    return command if shutil.which(command[0]) else None


def compiled(directory: Path) -> Path | None:
    """The compiled client; None without a compiler. Parallel workers share the directory, hence the lock."""
    command = compiler()
    if command is None:
        return None
    directory.mkdir(mode=0o755, exist_ok=True)
    made = directory / "server_client"
    with open(directory / "users", "a") as users:
        fcntl.flock(users, fcntl.LOCK_EX)
        users.write(f"{os.getpid()}\n")
        if not made.exists():
            source = str(SOURCES / "server_client.cpp")
            options = ["-std=c++20", "-O2", "-Wall", "-Wextra", "-Werror", "-o", str(made)]
            subprocess.run([*command, *options, source], check=True)
    return made


def remove(directory: Path) -> None:
    """Removes the directory when its last user leaves."""
    with open(directory / "users", "r+") as users:
        fcntl.flock(users, fcntl.LOCK_EX)
        others = [line for line in users if line.strip() != str(os.getpid())]
        if not others:
            shutil.rmtree(directory)
            return
        users.seek(0)
        users.truncate()
        users.writelines(others)
