"""Real processes for tests: they report on command, can be killed at any instant, and never outlive their test.

with Actor(directory) as actor:               # Python
    actor.do("import ttmem; chip = ttmem.open_device(5)")
with Writer(programs, directory) as writer:   # C++, with threads at full speed and a log of returned calls
    chip = writer.ask("open 5")
    writer.churn(chip)
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import pytest

from tests.support.processes.native_programs import NativePrograms
from tests.support.processes.programs import tracked
from tests.support.processes.writer_log import WriterLog
from tests.support.timing.waiting import wait_until

ACTOR = Path(__file__).parent / "actor.py"
IN_A_CONTAINER = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")


class Spoken:
    """A process one talks to over two pipes, line by line."""

    def __init__(self, pid: int, orders: IO[str], answers: IO[str]) -> None:
        self.pid = pid
        self._orders = orders
        self._answers = answers

    def say(self, line: str) -> None:
        self._orders.write(line + "\n")
        self._orders.flush()

    def hear(self) -> str:
        line = self._answers.readline()
        assert line, f"process {self.pid} ended without an answer"
        return line.rstrip("\n")

    def close(self) -> None:
        close_all(self._orders, self._answers)


class ActorVoice(Spoken):
    """The other end of `actor.py`."""

    def do(self, statements: str) -> None:
        self.say(json.dumps({"do": statements}))
        self.answer()

    def ask(self, expression: str) -> Any:
        self.say(json.dumps({"ask": expression}))
        return self.answer()

    @property
    def journal(self) -> Path:
        """The journal it writes to, if it reports."""
        return Path(self.ask("__import__('ttmem._native')._native.client.journal_path()"))

    def become(self) -> None:
        """Replaces its program by a fresh one, with exec: pid and start time stay."""
        self.say(json.dumps({"do": "become()"}))
        self.answer()

    def answer(self) -> Any:
        answer = json.loads(self.hear())
        assert "error" not in answer, f"in process {self.pid}: {answer['error']}"
        return answer["answer"]


class Started:
    """A child process of the test; killed and waited for when the block is left."""

    def __init__(self, command: Sequence[str], env: dict[str, str]) -> None:
        # No pipe: children of the child would keep it open.
        self._complaints = tempfile.TemporaryFile("w+")  # noqa: SIM115 closed by end()
        self.process = subprocess.Popen(
            command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._complaints, text=True
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._pipes = (self.process.stdin, self.process.stdout)
        self.pid = self.process.pid

    def kill(self) -> None:
        """As kill -9 does; the process is not waited for."""
        os.kill(self.pid, signal.SIGKILL)

    def reap(self) -> None:
        self.process.wait()

    def end(self) -> str:
        """Kills it if it still runs, waits for it, and returns what it said on standard error."""
        if self.process.poll() is None:
            self.process.kill()
        close_all(*self._pipes)
        self.process.wait()
        with self._complaints as complaints:
            complaints.seek(0)
            return complaints.read()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._complaints.closed:
            self.end()


class Actor(Started, ActorVoice):
    """A Python process that reports into a directory and obeys."""

    def __init__(self, directory: Path, *, prefix: Sequence[str] = (), **settings: str) -> None:
        Started.__init__(self, [*prefix, sys.executable, str(ACTOR)], tracked(directory, **settings))
        ActorVoice.__init__(self, self.pid, *self._pipes)
        self._children: list[ActorVoice] = []
        self.answer()
        if prefix == IN_A_CONTAINER:
            self.pid = only_child(self.process.pid)

    def __enter__(self) -> "Actor":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for child in self._children:
            child.close()  # its orders end, and so does it
        Started.__exit__(self, kind, error, trace)
        wait_until(lambda: state_of(self.pid) in ("", "Z"))  # in a container it is not our own child

    def fork(self, directory: Path) -> ActorVoice:
        """A forked child that obeys, too; it ends when this block is left."""
        directory.mkdir()
        for name in ("orders", "answers"):
            os.mkfifo(directory / name)
        child = self.ask(f"fork({str(directory)!r})")
        orders = open(directory / "orders", "w")  # noqa: SIM115 closed with the voice
        voice = ActorVoice(child, orders, open(directory / "answers"))  # noqa: SIM115
        self._children.append(voice)
        voice.answer()
        return voice


class Writer(Started, Spoken):
    """The C++ writer: several threads at full speed, and a log of every call that returned."""

    def __init__(
        self,
        programs: NativePrograms,
        directory: Path,
        threads: int = 2,
        slots: int = 64,
        *,
        prefix: Sequence[str] = (),
        **settings: str,
    ) -> None:
        log = directory / f"writer-{os.urandom(4).hex()}.log"
        command = [*prefix, str(programs.writer), str(log), str(threads), str(slots)]
        Started.__init__(self, command, tracked(directory, **settings))
        Spoken.__init__(self, self.pid, *self._pipes)
        self.threads = threads
        self.ask("path")  # it has begun, so the log is there
        self.log = WriterLog(log, threads, slots)

    def __enter__(self) -> "Writer":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        Started.__exit__(self, kind, error, trace)
        self.log.close()

    def ask(self, order: str) -> int:
        """The number it answers."""
        self.say(order)
        return int(self.hear().split()[-1])

    @property
    def journal(self) -> Path:
        self.say("path")
        return Path(self.hear().split()[0])

    def churn(self, *targets: int, mode: str = "own") -> None:
        """Starts its threads, or lets them go on."""
        self.ask(f"churn {mode} " + " ".join(map(str, targets)))

    def pause(self, count: int | None = None) -> None:
        """Holds all (or that many) threads between two calls."""
        self.ask(f"pause {self.threads if count is None else count}")

    def work(self, calls: int) -> None:
        """Waits until that many more calls have returned."""
        until = self.log.calls() + calls
        wait_until(lambda: self.log.calls() >= until)

    def thread_ids(self) -> list[int]:
        self.say("tids")
        return [int(word) for word in self.hear().split()[:-1]]


class Freezer(Started):
    """Holds one thread wherever it happens to be, until the block is left."""

    def __init__(self, programs: NativePrograms, thread_id: int) -> None:
        super().__init__([str(programs.freezer), str(thread_id)], dict(os.environ))
        said = self._pipes[1].readline()
        if said != "frozen\n":
            complaint = self.end()
            if "not permitted" in complaint:
                pytest.skip("NOT TESTED: stopping a thread is not permitted here")
            raise AssertionError(complaint)

    def __enter__(self) -> "Freezer":
        return self

    def __exit__(self, *_: object) -> None:
        self._pipes[0].close()
        self.process.wait()
        self.end()


def close_all(*pipes: IO[str]) -> None:
    for pipe in pipes:
        with suppress(BrokenPipeError):
            pipe.close()


def only_child(pid: int) -> int:
    """The pid, as seen from here, of a process's only child."""
    return int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])


def state_of(pid: int) -> str:
    """The letter of /proc/PID/stat: R, S, T, Z, ...; empty when there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""
