"""Journals that are not what they should be, and a look at what readers make of them.

A sample is the bytes of a real journal whose process is gone. Tests edit copies of it and put them beside the journal
of a healthy process; whatever the copy says, the healthy process's figures must stay exact.
"""

import fcntl
import os
import struct
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from tests.support.journals.reporters import CHIP_FACTS, Nursery, Reporter
from tests.support.processes.programs import command_of
from tests.support.timing.stopwatch import Stopwatch
from ttmem._native import Ledger, layout, testing
from ttmem.collector import Collector
from ttmem.snapshot import Snapshot
from ttmem.snapshot.codec import decoded, encoded
from ttmem.snapshot.incidents import IncidentCopy
from ttmem.sources import Places
from ttmem.view import plain
from ttmem.view.page import PageOptions
from ttmem.view.pages.ps import page

LAYOUT = layout()
IDENTITY = LAYOUT["Identity"][1]
HEADER = LAYOUT["Header"][1]
RECORD_BYTES = 64
HEALTHY_CHIP, HEALTHY_BYTES = 0xBEEF, 4096
SAMPLE_CHIP = 0xA0
PAGE_BYTES = 4096
LONGEST_LOOK_SECONDS = 10.0  # takes 0.1 s; on a machine whose memory is short, more

Edit = tuple[int, bytes]


@dataclass(frozen=True)
class Sample:
    """A journal's bytes, and how to change them. An edit is an offset and what stands there afterwards."""

    content: bytes = field(repr=False)  # megabytes, nearly all of them zero

    def number(self, name: str) -> int:
        offset, size = IDENTITY[name]
        return int.from_bytes(self.content[offset : offset + size], "little")

    def edited(self, *edits: Edit) -> bytes:
        changed = bytearray(self.content)
        for offset, new in edits:
            changed[offset : offset + len(new)] = new
        return bytes(changed)

    def put(self, path: Path, *edits: Edit) -> None:
        """Writes a file with these bytes changed; what is zero stays a hole, as in a journal."""
        with path.open("wb") as file:
            file.truncate(len(self.content))
            for offset, new in (*self._used_pages, *edits):
                file.seek(offset)
                file.write(new[: max(0, len(self.content) - offset)])

    @cached_property
    def _used_pages(self) -> list[Edit]:
        pages = ((at, self.content[at : at + PAGE_BYTES]) for at in range(0, len(self.content), PAGE_BYTES))
        return [(at, page) for at, page in pages if page.count(0) < len(page)]

    @staticmethod
    def identity(name: str, value: bytes) -> Edit:
        """Sets one field of the identity; shorter values are repeated to its size."""
        offset, size = IDENTITY[name]
        return offset, (value * size)[:size]

    @staticmethod
    def hot_word(name: str, value: int) -> Edit:
        offset, size = HEADER[name]
        return offset, value.to_bytes(8, "little")[:size]

    @property
    def parts(self) -> dict[str, tuple[int, int]]:
        """From where to where every part lies."""
        names = ["targets", "threads", "slab", "index", "ring", "phases", "arena"]
        names += ["incidents", "copies", "stack_nodes", "stack_texts"]
        starts = [self.number(f"{name}_offset") for name in names]
        ends = [*starts[1:], len(self.content)]
        return {"header": (0, 4096), **dict(zip(names, zip(starts, ends, strict=True), strict=True))}

    def slot(self, sequence: int) -> int:
        """Where the ring keeps a record."""
        return self.number("ring_offset") + sequence % self.number("ring_slots") * RECORD_BYTES

    @property
    def head(self) -> int:
        """The next sequence to be given."""
        return int(struct.unpack_from("<Q", self.content, HEADER["next_sequence"][0])[0])


def a_sample(nursery: Nursery, directory: Path) -> Sample:
    """The journal of a process that did a little of everything, on a chip of its own."""
    reporter = nursery.start(directory, TTMEM_TABLE="64", TTMEM_RING="64")
    reporter.do(
        ("open_device", SAMPLE_CHIP, *CHIP_FACTS),
        ("open_device", SAMPLE_CHIP + 1, *CHIP_FACTS),
        ("open_mesh", 7, 1, 2, (1, 2)),
        ("set_label", "sample"),
        ("begin_phase", reporter.call("intern", "warm up")),
        *[("report_buffer_alloc", 1 + n % 3, n, 1000 + n) for n in range(20)],
        *[("report_buffer_free", 1 + n % 3, n) for n in range(0, 20, 3)],
        ("report_cb_alloc", 1, 5, 0, 128, 8),
        ("report_kernel_load", 3, 6, 5, 4096, 64),
        ("report_binary_status", 3, 11, 2, 512),
        ("report_launch", 3, 11),
        ("report_out_of_memory", 1, 2, 1 << 20, 10, 5),
        ("end_phase", 1),
    )
    reporter.kill()
    return Sample(Path(reporter.journal).read_bytes())


@dataclass
class Look:
    """What a reader said after one look at a directory."""

    damaged: Counter[str] = field(default_factory=Counter)
    refused: dict[str, str] = field(default_factory=dict)
    foreign: list[str] = field(default_factory=list)
    findings: list[tuple[str, str]] = field(default_factory=list)  # name, path
    healthy: tuple[int, int, bool] = (0, 0, False)  # used by the process, by all on its chip; complete
    states: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0


class NativeReader:
    """The ledger alone, attached to every file there is."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.ledger = Ledger()
        self._attached: set[str] = set()
        self._refused: dict[str, str] = {}

    def look(self) -> Look:
        watch = Stopwatch()
        for path in sorted(self.directory.glob("*.journal")):
            if str(path) not in self._attached:
                self._attached.add(str(path))
                facts = os.lstat(path)
                key, error = self.ledger.attach(str(path), facts.st_dev, facts.st_ino)
                assert bool(key) != bool(error)
                if error:
                    self._refused[str(path)] = error
        for _ in range(3):
            self.ledger.drain()
        rows = testing.flat_rows(self.ledger)
        for row in rows["processes"]:
            self.ledger.allocations(row["key"])
            for incident in row["incidents"]:
                self.ledger.incident(row["pid"], row["key"], incident["number"])
        look = Look(Counter(path for path, _ in rows["damaged"]), dict(self._refused))
        look.states = {row["path"]: row["reason"] or row["state"] for row in rows["processes"]}
        numbers = {row["unique_id"]: row["number"] for row in rows["devices"]}
        device = numbers.get(HEALTHY_CHIP, -1)
        [healthy] = [row for row in rows["processes"] if row["label"] == "healthy"]
        own = sum(row[3] for row in rows["process_pools"] if row[:2] == (healthy["key"], device))
        look.healthy = (own, sum(row[2] for row in rows["device_pools"] if row[0] == device), healthy["complete"])
        look.seconds = watch.seconds
        return look

    def close(self) -> None:
        """Nothing to end."""


class CollectorReader:
    """The collector as faces use it; everything it says is also rendered."""

    def __init__(self, directory: Path) -> None:
        self.collector = Collector(Places(uid=os.geteuid(), directory=str(directory)))

    def look(self) -> Look:
        watch = Stopwatch()
        for _ in range(3):
            self.collector.tick()
        snapshot = self.collector.snapshot()
        again = decoded(encoded(snapshot), Snapshot)  # figures beyond 2^53 are cut, and what follows from them
        assert [process.key for process in again.processes] == [process.key for process in snapshot.processes]
        for process, incident in snapshot.incidents:
            copy = self.collector.incident_copy(process.pid, incident.number, key=process.key)
            assert copy is None or len(decoded(encoded(copy), IncidentCopy).entries) == len(copy.entries)
        for options in (PageOptions(is_with_ended=True), PageOptions(width=80, is_ascii=True, is_with_ended=True)):
            text = plain(page(snapshot, options))
            assert not [sign for sign in text if ord(sign) < 32 and sign != "\n"]
        look = Look(Counter(finding.path for finding in snapshot.damaged))
        look.refused = {finding.path: finding.text for finding in snapshot.damaged}
        look.foreign = [row.path for row in snapshot.foreign]
        look.findings = [(finding.name, finding.path) for finding in snapshot.findings]
        look.states = {process.path: process.reason or process.state for process in snapshot.processes}
        [healthy] = [process for process in snapshot.processes if process.label == "healthy"]
        own = sum(usage.used_bytes for held in healthy.devices for usage in held.pools)
        [device] = [usage for usage in snapshot.devices if usage.device.unique_id == HEALTHY_CHIP]
        look.healthy = (own, sum(usage.used_bytes for usage in device.pools), not healthy.reason)
        look.seconds = watch.seconds
        return look

    def close(self) -> None:
        self.collector.stop()


AnyReader = NativeReader | CollectorReader
READERS: dict[str, type[NativeReader] | type[CollectorReader]] = {"ledger": NativeReader, "collector": CollectorReader}


def a_healthy_process(nursery: Nursery, directory: Path) -> Reporter:
    reporter = nursery.start(directory, TTMEM_TABLE="64", TTMEM_RING="64")
    reporter.call("set_label", "healthy")
    chip = reporter.open_device(HEALTHY_CHIP)
    reporter.call("report_buffer_alloc", chip, 1, HEALTHY_BYTES)
    return reporter


def assert_unharmed(look: Look) -> None:
    """The healthy process beside the bad file has its exact figures, and nobody had to wait."""
    assert look.healthy == (HEALTHY_BYTES, HEALTHY_BYTES, True)
    assert look.seconds < LONGEST_LOOK_SECONDS


class Vandal:
    """A process that holds journals' locks, so that they count as alive, and scribbles on them while they are read."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def _do(self, line: str) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        assert self._process.stdout.readline() == "done\n"

    def release(self) -> None:
        """Lets go of all: a file that was removed meanwhile would be found by its descriptor."""
        self._do("release()")

    def hold(self, path: Path) -> None:
        self._do(f"hold({str(path)!r})")

    def start_scribbling(self, path: Path, *, seed: int, zones: list[tuple[int, int]]) -> None:
        self._do(f"start({str(path)!r}, {seed}, {zones})")

    def stop_scribbling(self) -> None:
        self._do("stopping.set()")


@contextmanager
def a_vandal() -> Iterator[Vandal]:
    process = subprocess.Popen(command_of("processes.vandal"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield Vandal(process)
    finally:
        process.kill()
        process.communicate()


def is_locked(path: Path) -> bool:
    """Whether somebody else holds a lock on the file."""
    with path.open("rb") as file:
        asked = struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        kind, *_ = struct.unpack("hhqqi", fcntl.fcntl(file, fcntl.F_GETLK, asked)[: struct.calcsize("hhqqi")])
    return bool(kind != fcntl.F_UNLCK)
