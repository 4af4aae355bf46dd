"""A reader at a shell: a private directory, home, journals, sockets and ports, in which the blocks of a page are run.

Nothing outlives it, also when a test fails, and nothing that it starts sees the machine's own journals or devices.
"""

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.docs.pages import ROOT, file_block
from tests.support.server.server_serving import short_directory
from tests.support.timing.waiting import PATIENCE_SECONDS

EXAMPLES = ("model.py", "failing.py")  # of the tutorials; other pages use them, too
WHEELS = ROOT / "dist"  # what `./run wheels` made: the package index of these readers has them
READER_PID = "4711"  # on the pages: the process that reported last
_LEFT_OUT = ("TTMEM", "TT_", "XDG_", "LD_PRELOAD", "PYTHONWARNINGS", "COLUMNS", "LINES", "FORCE_COLOR", "PYTEST")


@dataclass(frozen=True)
class Printed:
    """What a command left behind."""

    status: int
    text: str


@dataclass
class Shell:
    """Runs single commands, each in its own bash."""

    place: Path
    environ: dict[str, str]
    running: list["subprocess.Popen[str]"] = field(default_factory=list)
    status: int = 0
    lacking: set[str] = field(default_factory=set)  # programs that pages need and this machine does not have

    @property
    def directory(self) -> Path:
        return self.place / "here"

    @property
    def journals(self) -> Path:
        return self.place / "j"

    def run(self, command: str) -> Printed:
        """A command to its end; one with `&` at its end until it has printed a line."""
        is_background = command.rstrip().endswith("&")
        process = self._started(command.rstrip().removesuffix("&"))
        if is_background:
            assert process.stdout is not None
            return Printed(0, self._public(process.stdout.readline()))
        text, _ = process.communicate()
        self.running.remove(process)
        self.status = process.returncode
        return Printed(self.status, self._public(text))

    def _started(self, command: str) -> "subprocess.Popen[str]":
        if command.startswith("pip install"):
            self._enter_environment()
        process = subprocess.Popen(
            ["bash", "-c", f"(exit {self.status})\n{self._private(command)}"],
            cwd=self.directory,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.running.append(process)
        return process

    def _enter_environment(self) -> None:
        """From the first `pip install` of a page on, its commands are those of an environment of the reader's own."""
        environment = self.place / "env"
        if not environment.exists():
            subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
            self.environ["PATH"] = f"{environment / 'bin'}:{self.environ['PATH']}"

    def _private(self, command: str) -> str:
        """A command with the places, the port and the process that are ours."""
        for public, private in self._places().items():
            command = command.replace(public, private)
        if READER_PID in command:
            command = re.sub(rf"\b{READER_PID}\b", self.newest_pid(), command)
        return command

    def _public(self, text: str) -> str:
        for public, private in reversed(self._places().items()):
            text = text.replace(private, public.replace("$(id -u)", "1000"))
        return text.replace(f"{self.place.name}/here/", "")  # sites keep the last three parts of a path

    def _places(self) -> dict[str, str]:
        return {
            "/dev/shm/ttmem-$(id -u)": str(self.journals),
            "/tmp/tt_allocation_server.sock": self.environ["TTMEM_SEED_SOCKET"],
            "127.0.0.1:8265": f"127.0.0.1:{self.environ['READER_PORT']}",
            "127.0.0.1:9091": f"127.0.0.1:{self.environ['PROMETHEUS_PORT']}",
        }

    def newest_pid(self) -> str:
        """Of the process that began to report last."""
        journals = sorted(self.journals.glob("*.journal"), key=lambda path: path.stat().st_mtime_ns)
        assert journals, "a page names pid 4711 before anything has reported"
        return journals[-1].name.partition("-")[0]

    def end(self) -> None:
        for process in self.running:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
        for process in self.running:
            try:
                process.communicate(timeout=PATIENCE_SECONDS)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()


@contextmanager
def a_shell() -> Iterator[Shell]:
    """In a directory that holds the programs of the tutorials and, linked, what a checkout has to build against."""
    with short_directory() as place:
        shell = Shell(place, _environ(place))
        for name in ("here", "home", "root", "stock", "system"):
            (place / name).mkdir()
        shell.journals.mkdir(mode=0o700)
        _furnish(shell.directory)
        try:
            yield shell
        finally:
            shell.end()


def _environ(place: Path) -> dict[str, str]:
    """What a reader's shell has, with every place a private one."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith(_LEFT_OUT)}
    hook = {name: value for name, value in os.environ.items() if name == "TTMEM_HOOK"}
    path = f"{Path(sys.executable).parent}:{plain.get('PATH', '')}"
    places = {
        "HOME": str(place / "home"),
        "TTMEM_DIR": str(place / "j"),
        "TTMEM_SEED_SOCKET": str(place / "socket"),
        "TTMEM_SYSTEM_DIR": str(place / "system"),
        "TTMEM_STOCK_SHM_DIR": str(place / "stock"),
        "TTMEM_SYSFS_ROOT": str(place / "root"),
        "READER_PORT": str(_free_port()),
        "PROMETHEUS_PORT": str(_free_port()),
        "PIP_FIND_LINKS": f"{WHEELS} {plain.get('PIP_FIND_LINKS', '')}",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "UV_FIND_LINKS": str(WHEELS),
        "UV_TOOL_BIN_DIR": str(place / "home" / "uv"),  # pipx has ~/.local/bin
        "UV_CACHE_DIR": str(place / "home" / "cache"),
    }
    return {**plain, **hook, **places, "PATH": path, "LC_ALL": "C.UTF-8", "TERM": "dumb", "PYTHONUNBUFFERED": "1"}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _furnish(directory: Path) -> None:
    for name in EXAMPLES:
        (directory / name).write_text(file_block(name).text, encoding="utf-8")
    for name in ("CMakeLists.txt", "native", "docs", "examples", "packaging", "pyproject.toml", "README.md", "LICENSE"):
        (directory / name).symlink_to(ROOT / name)
